"""A one-line progress bar for people at a terminal; silent for everybody else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds before a bar appears
WIDTH = 30


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields `progress(done, total)`; the bar goes to standard error and is wiped at the end."""
    started, shown = time.monotonic(), False

    def progress(done: int, total: int) -> None:
        nonlocal shown
        elapsed = time.monotonic() - started
        if elapsed < PATIENCE or not sys.stderr.isatty():
            return
        shown = True
        filled = WIDTH * done // max(total, 1)
        left = elapsed / max(done, 1) * (total - done)
        sys.stderr.write(f"\r{what} [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}, {left:.0f} s left ")
        sys.stderr.flush()

    try:
        yield progress
    finally:
        if shown:
            sys.stderr.write("\r" + " " * (len(what) + WIDTH + 40) + "\r")
            sys.stderr.flush()
