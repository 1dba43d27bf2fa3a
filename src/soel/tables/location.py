"""Where files lie: on this machine, or behind an fsspec address such as s3://bucket/folder."""

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

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine."""
        return not is_address(self.root)

    def files(self, suffix: str) -> list[str]:
        """All files below with this suffix, sorted; hidden ones, and those that begin with '_', are left out."""
        if self.is_local:
            here = Path(self.root)
            found = [path.relative_to(here).as_posix() for path in here.rglob(f"*{suffix}") if path.is_file()]
        else:
            system, root = self._opened
            found = [str(path)[len(root) :].strip("/") for path in system.find(root) if str(path).endswith(suffix)]
        return sorted(name for name in found if not any(step.startswith((".", "_")) for step in name.split("/")))

    def size(self, name: str) -> int:
        """Bytes of a file."""
        if self.is_local:
            return Path(self.root, name).stat().st_size
        system, root = self._opened
        return int(system.size(f"{root}/{name}"))

    def open(self, name: str) -> BinaryIO:
        """A file to read."""
        if self.is_local:
            return Path(self.root, name).open("rb")
        system, root = self._opened
        file: BinaryIO = system.open(f"{root}/{name}", "rb")
        return file

    def for_arrow(self, name: str) -> Any:
        """What Arrow can open: the path of a file on this machine, which Arrow then reads without Python."""
        return str(Path(self.root, name)) if self.is_local else self.open(name)

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        system, root = _open_address(self.root)
        return system, root.rstrip("/")


def is_address(data: str | Path) -> bool:
    """Whether this is an address with a scheme rather than a path."""
    return "://" in str(data)


def hide_password(data: str | Path) -> str:
    """A path or an address as it may be shown."""
    return _PASSWORD.sub(r"\1***\2", str(data)) if is_address(data) else str(data)


def find_place(data: str | Path) -> tuple[Location, str]:
    """Where data lie: a folder and the empty name, or the folder of a file and the file's name."""
    address = str(data).rstrip("/")
    if is_address(data):
        system, inside = _open_address(address)
        exists, is_folder = system.exists(inside), system.isdir(inside)
        folder, _, name = address.rpartition("/")
    else:
        path = Path(data).absolute()
        address, folder, name = str(path), str(path.parent), path.name
        exists, is_folder = path.exists(), path.is_dir()
    if not exists:
        raise DataError(f"{data} does not exist. Give the path or the address of a table.")
    return (Location(address), "") if is_folder else (Location(folder), name)


def fingerprint_of(place: Location, files: list[str]) -> str:
    """A digest of the files' names, sizes, first and last MiB: cheap, and a file written anew gets another one."""
    digest = hashlib.sha256()
    for name in files:
        try:
            size = place.size(name)
            with place.open(name) as file:
                first = hashlib.sha256(file.read(_EDGE_BYTES)).digest()
                file.seek(max(0, size - _EDGE_BYTES))
                last = hashlib.sha256(file.read(_EDGE_BYTES)).digest()
        except OSError as error:
            raise DataError(f"{name} cannot be read: {error.strerror or error}. Bring it back.") from error
        digest.update(f"{name}\n{size}\n".encode() + first + last)
    return digest.hexdigest()


def _open_address(address: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the path in it."""
    try:
        system, path = import_module("fsspec.core").url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DataError(f"{address} cannot be opened: {error}. Check its scheme, or install what it needs.") from error
    return system, str(path)
