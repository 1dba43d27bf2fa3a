"""Files that every machine of the cluster sees: below a shared path, or behind an fsspec address."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from soel.errors import DataError, SessionError
from soel.files import write_whole


@dataclass(frozen=True)
class Storage:
    """A folder of files that are whole or absent. root: a path from the root, or an address such as s3://bucket/x."""

    root: str

    def write(self, name: str, content: bytes) -> None:
        """Write a file, durably; a reader finds all of it or nothing."""
        try:
            if self._is_path:
                write_whole(Path(self.root) / name, content)
            else:
                self._system.pipe_file(self._inside(name), content)  # an object appears when it is complete
        except OSError as error:
            raise SessionError(
                f"{self.where(name)} cannot be written: {error.strerror or error}. Make room, then run the same "
                "command again: what is finished is kept."
            ) from error

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self.open(name) as file:
            return file.read()

    def open(self, name: str) -> BinaryIO:
        """A file to read."""
        try:
            file: BinaryIO = (
                (Path(self.root) / name).open("rb") if self._is_path else self._system.open(self._inside(name), "rb")
            )
        except OSError as error:
            raise DataError(
                f"{self.where(name)} cannot be read: {error.strerror or error}. Every machine of the cluster must "
                "reach it under this name."
            ) from error
        return file

    def has(self, name: str) -> bool:
        """Whether the file is there."""
        return (Path(self.root) / name).is_file() if self._is_path else bool(self._system.exists(self._inside(name)))

    def within(self, name: str) -> Storage:
        """A folder in this one."""
        return Storage(self.where(name))

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies there."""
        if self._is_path:
            place = Path(self.root)
            return not place.exists() or (place.is_dir() and not any(place.iterdir()))
        inside = self._inside("")
        return not self._system.exists(inside) or not self._system.ls(inside)

    def clear(self, is_ours: bool) -> None:
        """Remove the folder and all that is in it. is_ours: whether soel made it; another is refused, if not empty."""
        if self.is_empty:
            return
        if not is_ours:
            raise SessionError(
                f"{self.root} holds files that soel did not put there, and is left as it is. "
                "Remove them, or name another place with <<shared>>."
            )
        if self._is_path:
            self._remove()
        else:
            self._system.rm(self._inside(""), recursive=True)

    def _remove(self) -> None:
        try:
            shutil.rmtree(self.root)
        except FileNotFoundError:
            return
        except OSError as error:  # what is left would be taken for ours
            raise SessionError(
                f"{self.root} cannot be removed: {error.strerror or error}. Remove it by hand."
            ) from error

    def where(self, name: str) -> str:
        """The file's full name, for people and for others who read it."""
        return f"{self.root.rstrip('/')}/{name}"

    @property
    def _is_path(self) -> bool:
        return "://" not in self.root

    @property
    def _system(self) -> Any:
        return import_module("fsspec.core").url_to_fs(self.root)[0]

    def _inside(self, name: str) -> str:
        return str(import_module("fsspec.core").url_to_fs(self.where(name).rstrip("/"))[1])
