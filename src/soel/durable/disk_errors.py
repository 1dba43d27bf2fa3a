"""What the operating system says, as a sentence that names the file and the remedy."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from soel.errors import DiskFullError, NoPermissionError, ReadOnlyError, StorageError

_NO_ROOM = re.compile(r"Not enough free space|requested and \d+ written")
_FREE = "Free some space and try again; nothing that was there changed."
_ALLOW = "Change the permissions, or choose another place."
_KINDS: dict[int, tuple[type[StorageError], str, str]] = {
    errno.ENOSPC: (DiskFullError, "the disk is full", _FREE),
    errno.EDQUOT: (DiskFullError, "the quota is used up", _FREE),
    errno.EROFS: (ReadOnlyError, "the disk is read-only", "Make it writable, or work on a copy elsewhere."),
    errno.EACCES: (NoPermissionError, "this account may not", _ALLOW),
    errno.EPERM: (NoPermissionError, "this account may not", _ALLOW),
    errno.EIO: (StorageError, "the disk reports an error", "Copy what is there to another disk before anything else."),
}


def explain(error: OSError, path: Path, act: str = "written") -> StorageError:
    """The error about a file as one of ours. act: what could not be done to it."""
    if isinstance(error, StorageError):
        return error
    words = error.strerror or str(error) or type(error).__name__
    kind, why, remedy = _KINDS.get(_number(error), (StorageError, words, "Check the path and the disk."))
    ours = kind(f"{path} cannot be {act}: {why}. {remedy}")
    ours.errno, ours.strerror, ours.filename = _number(error) or None, why, str(path)
    return ours


@contextmanager
def explaining(path: Path, act: str = "written") -> Iterator[None]:
    """Errors of this file, or without a file's name, are explained as errors of `path`; those of other files pass."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or not _is_about(error, path):
            raise
        raise explain(error, path, act) from error


def _is_about(error: OSError, path: Path) -> bool:
    """Whether an error is about the path or its draft; writing and syncing fail without a name."""
    if error.filename is None:
        return _number(error) in _KINDS or error.errno == errno.EFBIG
    named = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    draft = str(path.with_name(f".{path.name}"))
    return any(name in (str(path), str(path.parent)) or name.startswith(draft) for name in named)


def _number(error: OSError) -> int:
    """The error's number; numpy gives none where there is no room for an array, and says so in words."""
    if error.errno is None and _NO_ROOM.search(str(error)):
        return errno.ENOSPC
    return error.errno or 0
