"""Files that are whole or absent: written beside their place, synced, renamed, and the folder synced."""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from soel.durable import disk
from soel.durable.disk_errors import explaining


def write_whole(path: Path, content: bytes, *, private: bool = False, lasting: bool = True) -> None:
    """Write a file: a reader finds the old one or the new one, and after the call it is on disk.

    private: for this account alone, from before the first byte. lasting: False for what nobody misses after the
    machine stopped; it is then not waited for.
    """
    with _draft(path, lasting) as draft, disk.create(draft, private) as file:
        file.write(content)
        if lasting:
            disk.sync(file)


@contextmanager
def replacing(path: Path, *, private: bool = False, make_parent: bool = True) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all of it is on disk, and leaves no trace otherwise.

    make_parent: whether its folder is made, too; where somebody typed the path, that may hide a mistake.
    """
    with _draft(path, make_parent=make_parent) as draft, disk.create(draft, private) as file:
        yield file
        disk.sync(file)


@contextmanager
def replacing_text(path: Path, *, make_parent: bool = True) -> Iterator[TextIO]:
    """The same for UTF-8 text; line ends are written as they are given."""
    with replacing(path, make_parent=make_parent) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield text
        text.flush()


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """The same for what writes by name: a path beside `path` that takes its place."""
    with _draft(path) as draft:
        yield draft
        _sync(draft)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file of any size, whole or not at all, and wait until it is on disk."""
    with source.open("rb") as given, replacing(target) as file:
        shutil.copyfileobj(given, file, 1 << 20)


def move(source: Path, target: Path) -> None:
    """Give a file or folder, which must be on disk by now, its lasting name."""
    with explaining(target):
        disk.rename(source, target)
        disk.sync_folder(target.parent)
        if source.parent != target.parent:
            disk.sync_folder(source.parent)


def sync_file(path: Path) -> None:
    """Wait until a file that somebody else wrote is on disk."""
    with explaining(path):
        _sync(path)


def _sync(path: Path) -> None:
    how = "rb" if os.name == "posix" else "rb+"  # elsewhere only a file that may be written can be synced
    with path.open(how) as file:
        disk.sync(file)


@contextmanager
def _draft(path: Path, lasting: bool = True, make_parent: bool = True) -> Iterator[Path]:
    """A name beside `path` for a draft; what the block wrote there takes the path's place."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    with explaining(path):
        if make_parent:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            disk.rename(draft, path)
        except BaseException:
            with suppress(OSError):  # why it failed matters more than a draft that stays
                draft.unlink()
            raise
        if lasting:
            disk.sync_folder(path.parent)
