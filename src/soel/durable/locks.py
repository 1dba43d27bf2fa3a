"""One process at a time: locks that end with the process that holds them, however it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from soel.durable.disk_errors import explaining
from soel.errors import LockedError

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
