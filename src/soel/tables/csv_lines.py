"""The lines of a CSV file, found without parsing it: quotation marks are counted, nothing else is looked at."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

RUN_BYTES = 1 << 25  # a run ends with the first line after so many
SCAN_BYTES = 1 << 22
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


@dataclass(frozen=True)
class Run:
    """Whole lines from byte `start` to `stop`, `n_rows` of them with text."""

    start: int
    stop: int
    n_rows: int


class CountedLines(io.RawIOBase):
    """The bytes of a file, in which blank lines are counted as they are read."""

    def __init__(self, file: BinaryIO | io.RawIOBase) -> None:
        self.n_blank, self._file, self._quoted, self._last = 0, file, False, b"\r\n"

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        chunk = self._file.read(size) or b""
        text = self._last + chunk
        if b"\n\n" in text or b"\n\r\n" in text:
            ends, quoted = _line_ends(chunk, self._quoted)
            values = np.frombuffer(text, np.uint8)
            before, further = values[ends + len(self._last) - 1], values[ends + len(self._last) - 2]
            self.n_blank += int(((before == _NEWLINE) | ((before == _RETURN) & (further == _NEWLINE))).sum())
            self._quoted = quoted
        else:
            self._quoted ^= bool(chunk.count(_QUOTE) & 1)
        self._last = text[-2:]
        return chunk


def find_runs(file: BinaryIO, begin: int, stop: int) -> Iterator[Run]:
    """The lines of a file, which stands at byte `begin`, up to byte `stop`, as runs: one pass over its bytes."""
    at = line = start = begin  # the bytes read, the beginnings of the open line and of the run
    n_rows, quoted, last = 0, False, b"\n"
    while chunk := file.read(min(SCAN_BYTES, stop - at)):
        ends, quoted = _line_ends(chunk, quoted)
        if len(ends):
            n_rows += _n_filled(last + chunk, ends + 1, line - at + 1)
            line = at + int(ends[-1]) + 1
        at, last = at + len(chunk), chunk[-1:]
        if n_rows and line - start >= RUN_BYTES:
            yield Run(start, line, n_rows)
            start, n_rows = line, 0
    if n_rows or at > line:
        yield Run(start, at, n_rows + (at > line))


def _line_ends(chunk: bytes, quoted: bool) -> tuple[np.ndarray, bool]:
    """Where lines end, and whether the chunk ends inside quotation marks."""
    values = np.frombuffer(chunk, np.uint8)
    ends = values == _NEWLINE
    if not quoted and _QUOTE not in chunk:
        return np.flatnonzero(ends), False
    inside = (np.cumsum(values == _QUOTE, dtype=np.uint8) + np.uint8(quoted)) & np.uint8(1)
    return np.flatnonzero(ends & (inside == 0)), bool(inside[-1])


def _n_filled(chunk: bytes, ends: np.ndarray, start: int) -> int:
    """How many lines hold anything. start: where the first of them begins, negative if in an earlier chunk."""
    starts = np.concatenate([[start], ends[:-1] + 1])
    lengths = ends - starts
    short = starts[lengths == 1]  # none of these can begin before this chunk and its one byte in front
    n_bare = int((np.frombuffer(chunk, np.uint8)[short] == _RETURN).sum())
    return len(ends) - int((lengths == 0).sum()) - n_bare
