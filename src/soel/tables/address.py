"""Where data lie: on this machine, or behind an fsspec address."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from soel.errors import DataError

_PASSWORD = re.compile(r"(://[^/@:]*:).*(@)|(?<=password=)[^&]*")
_EDGE_BYTES = 1 << 20  # a Parquet footer, which holds statistics of every column, lies within the last of them


@dataclass(frozen=True)
class Location:
    """A folder on this machine or behind an address; its files are named relative to it.

    It can be sent to another process.
    """

    root: str

    def files(self, suffix: str) -> list[str]:
        """All files below with this suffix, sorted; hidden ones, and those that begin with '_', are left out."""
        system, root = self._opened
        found = [str(path)[len(root) :].strip("/") for path in system.find(root) if str(path).endswith(suffix)]
        return sorted(name for name in found if not any(step.startswith((".", "_")) for step in name.split("/")))

    def size(self, name: str) -> int:
        system, root = self._opened
        return int(system.size(f"{root}/{name}"))

    def open(self, name: str) -> BinaryIO:
        system, root = self._opened
        file: BinaryIO = system.open(f"{root}/{name}", "rb")
        return file

    def for_arrow(self, name: str) -> Any:
        """What Arrow can open: the path of a file on this machine, which Arrow then reads without Python."""
        return self.open(name) if is_address(self.root) else str(Path(self.root, name))

    def fingerprint(self, files: list[str]) -> str:
        """A digest of the files' names, sizes, first and last MiB: cheap, and a file written anew gets another one."""
        digest = hashlib.sha256()
        for name in files:
            try:
                size = self.size(name)
                with self.open(name) as file:
                    first = hashlib.sha256(file.read(_EDGE_BYTES)).digest()
                    file.seek(max(0, size - _EDGE_BYTES))
                    last = hashlib.sha256(file.read(_EDGE_BYTES)).digest()
            except OSError as error:
                raise DataError(f"{name} cannot be read: {error.strerror or error}. Bring it back.") from error
            digest.update(f"{name}\n{size}\n".encode() + first + last)
        return digest.hexdigest()

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        system, root = _file_system(self.root)
        return system, root.rstrip("/")


def is_address(data: str | Path) -> bool:
    """Whether this is an address with a scheme rather than a path."""
    return "://" in str(data)


def hide_password(data: str | Path) -> str:
    """A path or an address as it may be shown."""
    return _PASSWORD.sub(r"\1***\2", str(data)) if is_address(data) else str(data)


def locate(data: str | Path) -> tuple[Location, str]:
    """Where data lie: a folder and the empty name, or the folder of a file and the file's name."""
    address = str(data).rstrip("/") if is_address(data) else Path(data).absolute().as_posix()
    system, inside = _file_system(address)
    if not system.exists(inside):
        raise DataError(f"{data} does not exist. Give the path or the address of a table.")
    folder, _, name = address.rpartition("/")
    return (Location(address), "") if system.isdir(inside) else (Location(folder), name)


def _file_system(address: str) -> tuple[Any, str]:
    """The file system of an address or path, and the path in it."""
    if not is_address(address):
        return LocalFiles(), address
    try:
        system, path = import_module("fsspec.core").url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DataError(f"{address} cannot be opened: {error}. Check its scheme, or install what it needs.") from error
    return system, str(path)


class LocalFiles:
    """What a file system of fsspec does, for paths of this machine: these need no fsspec."""

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def isdir(self, path: str) -> bool:
        return Path(path).is_dir()

    def size(self, path: str) -> int:
        return Path(path).stat().st_size

    def open(self, path: str, mode: str) -> Any:
        return Path(path).open(mode)

    def find(self, path: str) -> list[str]:
        """All files below a folder; links to folders are followed once each."""
        return [file.as_posix() for file in Path(path).rglob("*") if file.is_file()]
