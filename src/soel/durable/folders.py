"""Folders that are whole or absent, private ones, and what is ours to delete: what carries our mark."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from soel.durable import disk
from soel.durable.disk_errors import explaining
from soel.durable.files import move, sync_file
from soel.durable.locks import hold_lock, take_lock
from soel.errors import LockedError, NoPermissionError

MARK = ".made-by-soel"  # a file of this name says: soel made this folder for work in between, and may remove it


@contextmanager
def building(folder: Path, *, private: bool = False) -> Iterator[Path]:
    """A new folder to fill, that takes the place of `folder` when all in it is on disk; nothing is left otherwise.

    It grows inside a marked and locked folder beside its place, so that what a killed process leaves can be told from
    what somebody else keeps there; the next attempt removes it. A folder that is there already gives way whole.
    """
    with explaining(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    with _scratch_beside(folder) as scratch, explaining(folder):
        disk.make_folder(scratch / "whole", private)
        yield scratch / "whole"
        _sync_all(scratch / "whole")
        _exchange(scratch / "whole", folder, scratch / "old")


@contextmanager
def _scratch_beside(folder: Path) -> Iterator[Path]:
    """A folder of our own beside `folder`, marked and locked, and removed at the end."""
    lock = None
    while lock is None:
        scratch = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
        try:
            with explaining(folder):
                disk.make_folder(scratch, private=True)
            lock = take_lock(scratch / MARK)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        if lock is not None and not (scratch / MARK).exists():  # taken for a leftover before the lock was ours
            lock.release()
            lock = None
    try:
        yield scratch
    finally:
        lock.release()
        shutil.rmtree(scratch, ignore_errors=True)


def _exchange(new: Path, folder: Path, old: Path) -> None:
    """Put the new folder in place; one that is there is kept as `old`, and put back where that fails."""
    if folder.exists():
        disk.rename(folder, old)
    try:
        move(new, folder)
    except BaseException:
        if old.exists() and not folder.exists():
            old.replace(folder)
        raise


def finish_exchange(folder: Path) -> None:
    """Put the new folder in place where a process was killed after it had moved the old one away."""
    for scratch in folder.parent.glob(f".{glob.escape(folder.name)}-" + "[0-9a-f]" * 8):
        if is_marked(scratch) and (scratch / "old").exists() and not folder.exists():
            with suppress(LockedError, FileNotFoundError), hold_lock(scratch / MARK):
                move(scratch / "whole", folder)


def private_folder(folder: Path) -> None:
    """Make a folder for this account alone, or see that it is one; a foreign one is refused."""
    with explaining(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            disk.make_folder(folder, private=True)
        if not _is_own(folder):
            raise NoPermissionError(f"{folder} is a link, or belongs to another account; remove it, or work elsewhere.")
        if os.name == "posix":
            folder.chmod(disk.PRIVATE_FOLDER)


def mark(folder: Path) -> None:
    """Say that a folder is ours and may be removed by `remove_marked`."""
    with explaining(folder):
        (folder / MARK).touch()


def is_marked(folder: Path) -> bool:
    """Whether a folder is this account's own and carries our mark."""
    return _is_own(folder) and (folder / MARK).is_file()


def remove_marked(folder: Path) -> None:
    """Remove a folder that carries our mark; any other is left alone, whatever its name."""
    if is_marked(folder):
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left of attempts to build `folder`; what another one is building now stays.

    A folder that was all but in its place is put there.
    """
    finish_exchange(folder)
    _remove_abandoned(folder.parent, glob.escape(folder.name))


def remove_all_leftovers(place: Path) -> None:
    """Remove what killed processes left of attempts to build any folder in `place`."""
    _remove_abandoned(place, "*")


def _remove_abandoned(place: Path, name: str) -> None:
    for scratch in place.glob(f".{name}-" + "[0-9a-f]" * 8):
        if is_marked(scratch):
            with suppress(LockedError), hold_lock(scratch / MARK):
                shutil.rmtree(scratch, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    real = folder.is_dir() and not folder.is_symlink()
    return real and (not hasattr(os, "getuid") or found.st_uid == os.getuid())


def _sync_all(folder: Path) -> None:
    """Wait for every file below, and for the names of all of them."""
    for place, _, names in os.walk(folder):
        for name in names:
            sync_file(Path(place) / name)
        disk.sync_folder(Path(place))
