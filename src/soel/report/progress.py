"""A one-line bar on the terminal for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 30


class Bar:
    """Called with (done, total). Silent for the first second, and always when nobody is watching."""

    def __init__(self, what: str, stream: TextIO, patience: float = 1.0) -> None:
        self._what, self._stream, self._patience = what, stream, patience
        self._started, self._drawn, self._last = time.monotonic(), False, -1
        self._first: tuple[float, int] | None = None
        self._done = 0

    def __call__(self, done: int, total: int) -> None:
        """Draw the bar where it moved. A count that falls back is the beginning of another step."""
        self._first = None if done < self._done else self._first
        self._done = done
        filled = WIDTH * done // max(1, total)
        if not self._stream.isatty() or time.monotonic() - self._started < self._patience or filled == self._last:
            return
        self._last, self._drawn = filled, True
        bar = "#" * filled + "." * (WIDTH - filled)
        self._stream.write(f"\r{self._what} [{bar}] {done}/{total}{self._pace(done, total)}")
        self._stream.flush()

    def _pace(self, done: int, total: int) -> str:
        """How fast it goes and how long it still takes; what an earlier run did is not counted."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, done)
            return ""
        since, already = self._first
        rate = (done - already) / max(now - since, 1e-9)
        return f", {rate:.1f}/s, {(total - done) / rate:.0f} s left\033[K" if rate > 0 else ""

    def close(self) -> None:
        """Clear the line, so that the answer starts at its beginning."""
        if self._drawn:
            self._stream.write("\r\033[K")
            self._stream.flush()


@contextmanager
def progress_bar(what: str) -> Iterator[Bar]:
    """A bar on standard error for the length of a step."""
    bar = Bar(what, sys.stderr)
    try:
        yield bar
    finally:
        bar.close()
