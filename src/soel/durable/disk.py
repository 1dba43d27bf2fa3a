"""The few steps that everything lasting is made of, each on its own so that a test can let any of them fail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any, BinaryIO

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def create(path: Path, private: bool = False) -> BinaryIO:
    """A new, empty file to write. private: for this account alone, before a byte is written."""
    mode = PRIVATE_FILE if private else 0o666  # less the umask
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, mode), "wb")


def sync(file: IO[Any]) -> None:
    """Wait until what was written to an open file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def rename(source: Path, target: Path) -> None:
    """Give a file or folder its name; a file, or an empty folder, of that name gives way."""
    source.replace(target)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last, where the system lets a folder be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path, private: bool = False) -> None:
    """Make a folder that is not there yet. private: for this account alone, whatever the umask."""
    folder.mkdir(mode=PRIVATE_FOLDER if private else 0o777)
