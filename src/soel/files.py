"""Files that are whole or absent: written beside their place, synced, renamed, and the folder synced."""

from __future__ import annotations

import errno
import glob
import io
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from filelock import BaseFileLock, FileLock, Timeout

from soel.errors import DiskFullError, LockedError, NoPermissionError, ReadOnlyError, StorageError


def write_whole(path: Path, content: bytes, *, private: bool = False, lasting: bool = True) -> None:
    """Write a file: a reader finds the old one or the new one, and after the call it is on disk.

    private: for this account alone, from before the first byte. lasting: False for what nobody misses after the
    machine stopped; it is then not waited for.
    """
    with _draft(path, lasting) as draft, create(draft, private) as file:
        file.write(content)
        if lasting:
            sync(file)


@contextmanager
def replacing(path: Path, *, private: bool = False, make_parent: bool = True) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all of it is on disk, and leaves no trace otherwise.

    make_parent: whether its folder is made, too; where somebody typed the path, that may hide a mistake.
    """
    with _draft(path, make_parent=make_parent) as draft, create(draft, private) as file:
        yield file
        sync(file)


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
        rename(source, target)
        sync_folder(target.parent)
        if source.parent != target.parent:
            sync_folder(source.parent)


def parse_json(text: str | bytes) -> Any:
    """What JSON means; where it is nested too deeply, that is a `ValueError` like all else that is wrong with it."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _sync(path: Path) -> None:
    how = "rb" if os.name == "posix" else "rb+"  # elsewhere only a file that may be written can be synced
    with path.open(how) as file:
        sync(file)


@contextmanager
def _draft(path: Path, lasting: bool = True, make_parent: bool = True) -> Iterator[Path]:
    """A name beside `path` for a draft; what the block wrote there takes the path's place."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    with explaining(path):
        if make_parent:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield draft
            rename(draft, path)
        except BaseException:
            with suppress(OSError):  # why it failed matters more than a draft that stays
                draft.unlink()
            raise
        if lasting:
            sync_folder(path.parent)


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
        make_folder(scratch / "whole", private)
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
                make_folder(scratch, private=True)
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
        rename(folder, old)
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
            make_folder(folder, private=True)
        if not _is_own(folder):
            raise NoPermissionError(f"{folder} is a link, or belongs to another account; remove it, or work elsewhere.")
        if os.name == "posix":
            folder.chmod(PRIVATE_FOLDER)


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
            with explaining(Path(place) / name):
                _sync(Path(place) / name)
        sync_folder(Path(place))


LOOKS, PAUSE = 5, 0.01  # how often a look whether a lock is held is repeated, and the seconds in between


def take_lock(path: Path, patience: float = 0.0) -> BaseFileLock | None:
    """The lock on a file, until it is released or this process ends; None where another keeps it for so many seconds.

    A negative patience waits for as long as it takes.
    """
    lock = FileLock(path, thread_local=False, is_singleton=False)
    with explaining(path):
        try:
            lock.acquire(timeout=patience, poll_interval=PAUSE)
        except Timeout:
            return None
    return lock


@contextmanager
def hold_lock(path: Path, patience: float = 0.0, message: str = "") -> Iterator[None]:
    """Hold the lock on a file for a block. message: what is said where another process keeps it."""
    lock = take_lock(path, patience)
    if lock is None:
        raise LockedError(message or f"{path.parent} is in use by another process; wait for it, then try again.")
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock. Where nothing can be written nobody does."""
    if not path.exists():
        return False
    for look in range(LOOKS):  # another one who is only looking is gone by the next look
        if look:
            time.sleep(PAUSE)
        try:
            lock = take_lock(path)
        except OSError:
            return False
        if lock is not None:
            lock.release()
            return False
    return True
