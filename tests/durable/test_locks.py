"""One process at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from soel.errors import LockedError, StorageError
from soel.files import hold_lock, is_locked, take_lock

HOLD = """
import sys
from pathlib import Path
from soel.files import take_lock
lock = take_lock(Path(sys.argv[1]))
print("held" if lock else "busy", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    words = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_held_by_one(path: Path, holder: subprocess.Popen[str]) -> None:
    assert is_locked(path)
    assert take_lock(path) is None
    with pytest.raises(LockedError, match="in use by another process"), hold_lock(path):
        pass
    with pytest.raises(LockedError, match="wait for me"), hold_lock(path, message="wait for me"):
        pass
    assert holder.poll() is None


def test_a_killed_process_holds_nothing(path: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    assert not is_locked(path)
    with hold_lock(path):
        assert is_locked(path)
    assert not is_locked(path)


def test_patience_waits(path: Path) -> None:
    seen, held = [], threading.Event()

    def hold() -> None:
        with hold_lock(path):
            held.set()
            time.sleep(0.2)
            seen.append("let go")

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with hold_lock(path, patience=-1):
        seen.append("taken")
    thread.join()
    assert seen == ["let go", "taken"]


def test_those_who_look_do_not_take_one_another_for_a_holder(path: Path) -> None:
    path.touch()
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: seen.extend(is_locked(path) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80
    assert not any(seen)


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "no" / "lock")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file/lock cannot be written: "):
        take_lock(tmp_path / "file" / "lock")
