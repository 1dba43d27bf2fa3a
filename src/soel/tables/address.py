"""Where files lie: on this machine, or behind an fsspec address such as s3://bucket/folder."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from soel.errors import DataError

_PASSWORD = re.compile(r"(://[^/@:]*:).*(@)|(?<=password=)[^&]*")
_EDGE_BYTES = 1 << 20  # a Parquet footer, which holds statistics of every column, lies within the last of them


class Place(Protocol):
    """A folder, here or elsewhere; files are named relative to it."""

    def files(self, suffix: str) -> list[str]:
        """All files below with this suffix, sorted; hidden ones, and those that begin with '_', are left out."""

    def size(self, name: str) -> int:
        """Bytes of a file."""

    def open(self, name: str) -> BinaryIO:
        """A file to read."""

    def for_arrow(self, name: str) -> Any:
        """What Arrow can open."""


@dataclass(frozen=True)
class LocalPlace:
    """A folder on this machine."""

    root: Path

    def files(self, suffix: str) -> list[str]:
        """All files below with this suffix, sorted."""
        found = (path.relative_to(self.root) for path in self.root.rglob(f"*{suffix}") if path.is_file())
        return sorted(path.as_posix() for path in found if _is_shown(path.as_posix()))

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return (self.root / name).stat().st_size

    def open(self, name: str) -> BinaryIO:
        """A file to read."""
        return (self.root / name).open("rb")

    def for_arrow(self, name: str) -> Any:
        """Its path: Arrow then reads without Python."""
        return str(self.root / name)


@dataclass(frozen=True)
class RemotePlace:
    """A folder behind an address."""

    address: str

    def files(self, suffix: str) -> list[str]:
        """All files below with this suffix, sorted."""
        found = (str(path)[len(self._root) :].strip("/") for path in self._system.find(self._root))
        return sorted(name for name in found if name.endswith(suffix) and _is_shown(name))

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return int(self._system.size(f"{self._root}/{name}"))

    def open(self, name: str) -> BinaryIO:
        """A file to read."""
        file: BinaryIO = self._system.open(f"{self._root}/{name}", "rb")
        return file

    def for_arrow(self, name: str) -> Any:
        """An open file."""
        return self.open(name)

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        system, root = open_address(self.address)
        return system, str(root).rstrip("/")

    @property
    def _system(self) -> Any:
        return self._opened[0]

    @property
    def _root(self) -> str:
        return self._opened[1]


def is_address(data: str | Path) -> bool:
    """Whether this is an address with a scheme rather than a path."""
    return "://" in str(data)


def hide_password(data: str | Path) -> str:
    """A path or an address as it may be shown."""
    return _PASSWORD.sub(r"\1***\2", str(data)) if is_address(data) else str(data)


def open_address(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path in it."""
    try:
        system, path = import_module("fsspec.core").url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DataError(f"{address} cannot be opened: {error}. Check its scheme, or install what it needs.") from error
    return system, str(path)


def find_place(data: str | Path) -> tuple[Place, str]:
    """Where data lie: a folder and the empty name, or the folder of a file and the file's name."""
    if not is_address(data):
        path = Path(data).absolute()
        if not path.exists():
            raise DataError(f"{data} does not exist. Give the path or the address of a table.")
        return (LocalPlace(path), "") if path.is_dir() else (LocalPlace(path.parent), path.name)
    address = str(data).rstrip("/")
    system, inside = open_address(address)
    if not system.exists(inside):
        raise DataError(f"{address} does not exist. Give the path or the address of a table.")
    if system.isdir(inside):
        return RemotePlace(address), ""
    folder, _, name = address.rpartition("/")
    return RemotePlace(folder), name


def fingerprint_of(place: Place, files: list[str]) -> str:
    """A digest of the files' names, sizes, first and last MiB: cheap, and a file written anew gets another one."""
    digest = hashlib.sha256()
    for name in files:
        try:
            digest.update(_edges(place, name))
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror or error}. Bring it back.") from error
    return digest.hexdigest()


def _edges(place: Place, name: str) -> bytes:
    size = place.size(name)
    with place.open(name) as file:
        first = hashlib.sha256(file.read(_EDGE_BYTES)).digest()
        file.seek(max(0, size - _EDGE_BYTES))
        return f"{name}\n{size}\n".encode() + first + hashlib.sha256(file.read(_EDGE_BYTES)).digest()


def _is_shown(name: str) -> bool:
    return not any(step.startswith((".", "_")) for step in name.split("/"))
