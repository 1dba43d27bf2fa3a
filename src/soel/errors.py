"""What can go wrong, as one tree.

::

    SoelError
    ├── DataError            the data cannot be used as it is (also a ValueError)
    │   ├── EmptyTableError  a table without rows: a header alone
    │   ├── LabelError       labels with unknown codes, or for other rows
    │   └── SchemaError      other columns than those the detector was fitted on
    ├── ConfigError          an unknown part, or a setting out of range (also a ValueError)
    │   └── MissingPackageError  a package of an extra is needed and not installed
    ├── ModelFileError       a model folder that is incomplete, foreign or unsafe
    ├── StorageError         a file or folder cannot be read or written (also an OSError)
    │   ├── DiskFullError    there is no room left
    │   ├── ReadOnlyError    the disk cannot be written to
    │   ├── NoPermissionError the account may not
    │   └── LockedError      another process holds it now
    └── SessionError         the labelling session cannot do what was asked
        ├── UnknownItemError an item id that the session does not know
        ├── DamagedError     a file or an event is not what it was
        └── ClusterLostError the head of a Ray cluster is gone, and Ray with it: this process should end

Every message says what was wrong, what was given and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from soel.text import name_options


class SoelError(Exception):
    """Base of everything that soel raises on purpose. Its options are named as arguments of Python."""

    @property
    def message(self) -> str:
        """What is said, with options as `soel.text.name_options` takes them."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return name_options(self.message)


class DataError(SoelError, ValueError):
    """The data cannot be used as it is."""


class EmptyTableError(DataError):
    """A table without rows: a header alone."""


class LabelError(DataError):
    """Labels with unknown codes, or for other rows."""


class SchemaError(DataError):
    """Other columns than those the detector was fitted on."""


class ConfigError(SoelError, ValueError):
    """An unknown part, or a setting out of range."""


class MissingPackageError(ConfigError):
    """A package of an extra is needed and not installed."""


class ModelFileError(SoelError):
    """A model folder that is incomplete, foreign or unsafe."""


class StorageError(SoelError, OSError):
    """A file or folder cannot be read or written. strerror: why, in a few words; filename: which."""


class DiskFullError(StorageError):
    """There is no room left."""


class ReadOnlyError(StorageError):
    """The disk cannot be written to."""


class NoPermissionError(StorageError):
    """The account may not."""


class LockedError(StorageError):
    """Another process holds it now."""


class DataWarning(UserWarning):
    """Data that were read in one of several possible ways, or whose last digits are lost."""


class SessionError(SoelError):
    """The labelling session cannot do what was asked."""


class DamagedError(SessionError):
    """A file or an event is not what it was."""


class UnknownItemError(SessionError):
    """An item id that the session does not know."""


class ClusterLostError(SessionError):
    """The head of a Ray cluster is gone, and Ray with it: this process should end."""


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in errors about its content; errors about another file pass."""
    try:
        yield
    except SoelError as error:
        is_elsewhere = isinstance(error, StorageError) and error.filename is not None
        if error.args and name not in str(error) and not is_elsewhere:
            error.args = (f"{name}: {error.args[0]}", *error.args[1:])
        raise
