"""Disks that are small, full or read-only, for tests: mounted in memory where the system allows it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A file system of its own with little room."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        """Leave no byte free."""
        with (self.path / "ballast").open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(b"\0" * size):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        """Make room again."""
        (self.path / "ballast").unlink()

    def make_read_only(self) -> None:
        """Let nothing be written any more."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True, capture_output=True)

    def make_writable(self) -> None:
        """Let it be written to again."""
        subprocess.run(["mount", "-o", "remount,rw", str(self.path)], check=True, capture_output=True)


@contextmanager
def small_disk(path: Path, megabytes: int = 8) -> Iterator[SmallDisk]:
    """A small disk mounted at a new folder; the test is left out where that is not allowed."""
    path.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"a disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
