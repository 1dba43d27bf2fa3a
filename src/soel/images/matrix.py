"""A matrix on disk that grows row by row and survives a kill: resumed where it stopped, mapped when complete."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from soel.durable import explaining, move, write_whole
from soel.durable.disk import sync
from soel.errors import DataError
from soel.types import Floats

SYNC_SECONDS = 5.0


class GrowingMatrix:
    """Rows (N, d), written in order into `folder`. Only rows on disk count as done.

    faults: rows that have no features, and why. Their place is filled with zeros. form: of a number, in numpy's words.
    """

    def __init__(self, folder: Path, n_rows: int, form: str = "<f4") -> None:
        self.folder, self.n_rows, self.form = folder, n_rows, np.dtype(form)
        folder.mkdir(parents=True, exist_ok=True)
        self._state = folder / "progress.json"
        self._partial = folder / "features.partial"
        self.done, self.width, self.faults = self._resume()
        self._file: BinaryIO | None = None
        self._synced = time.monotonic()

    @property
    def path(self) -> Path:
        """The complete matrix."""
        return self.folder / "features.npy"

    def append(self, rows: Floats, faults: Mapping[int, str]) -> None:
        """Add the next rows. They are safe at the latest a few seconds later."""
        with explaining(self._partial):
            self._append(rows, faults)

    def _append(self, rows: Floats, faults: Mapping[int, str]) -> None:
        if self._file is None:
            self._open(rows.shape[1])
        if rows.shape[1] != self.width:
            raise DataError(f"The extractor gave {rows.shape[1]} features, before it gave {self.width}.")
        assert self._file is not None
        self._file.write(np.ascontiguousarray(rows, self.form).tobytes())
        self.done += len(rows)
        self.faults |= faults
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self._sync(self._file)

    def finish(self) -> Floats:
        """The complete matrix, mapped from disk."""
        self.close()
        if not self.path.exists():
            move(self._partial, self.path)
        return np.load(self.path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the file; what is not complete can be gone on with."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with explaining(self._partial), file:
            self._sync(file)

    def __enter__(self) -> GrowingMatrix:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _resume(self) -> tuple[int, int, dict[int, str]]:
        """What an earlier run left. A record that does not fit starts afresh."""
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
            if not isinstance(state, dict) or not isinstance(state.get("faults"), dict):
                return 0, 0, {}
            done, width, n_rows = int(state["done"]), int(state["width"]), int(state["n_rows"])
            faults = {int(row): str(why) for row, why in state["faults"].items()}
            file = self.path if self.path.exists() else self._partial
            fits = n_rows == self.n_rows and file.stat().st_size >= self._end(done, width)
        except (OSError, ValueError, KeyError, TypeError):
            return 0, 0, {}
        return (done, width, faults) if fits and 0 <= done <= n_rows else (0, 0, {})

    def _open(self, width: int) -> None:
        header = self._header(width)
        if self.done and width != self.width:
            self.done, self.faults = 0, {}
        self.width = width
        file: BinaryIO = self._partial.open("r+b" if self.done else "w+b")
        if not self.done:
            self.path.unlink(missing_ok=True)
            file.write(header)
        file.seek(self._end(self.done, width))
        file.truncate()
        self._file = file

    def _sync(self, file: BinaryIO) -> None:
        """First the rows, then the record that they are there."""
        sync(file)
        state = {"done": self.done, "width": self.width, "n_rows": self.n_rows, "faults": self.faults}
        write_whole(self._state, json.dumps(state).encode())
        self._synced = time.monotonic()

    def _end(self, n_rows: int, width: int) -> int:
        """Where so many rows end in the file."""
        return len(self._header(width)) + n_rows * width * self.form.itemsize

    def _header(self, width: int) -> bytes:
        buffer = io.BytesIO()
        shape = {"descr": self.form.str, "fortran_order": False, "shape": (self.n_rows, width)}
        np.lib.format.write_array_header_1_0(buffer, shape)
        return buffer.getvalue()
