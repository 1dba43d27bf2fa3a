"""A .npy file: a part is a range of rows, read where it lies in the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.address import Place
from soel.tables.batches import BLOCK_ROWS, PART_ROWS, Part
from soel.tables.faults import reason


@dataclass(frozen=True)
class NpyParts:
    """An array (n_rows, d) in a file. offset: where its values begin. by_column: whether columns lie one by one."""

    place: Place
    file: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    by_column: bool
    offset: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of an array have no names: x0, x1, ..."""
        return tuple(f"x{position}" for position in range(self.shape[1]))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Ranges of rows."""
        n_rows, starts = self.shape[0], range(0, self.shape[0], PART_ROWS)
        stops = [min(start + PART_ROWS, n_rows) for start in starts]
        spans = enumerate(zip(starts, stops, strict=True))
        return tuple(Part(number, self.file, start, stop - start, start, stop) for number, (start, stop) in spans)

    def batches(self, part: Part) -> Iterator[NDArray[Any]]:
        """The rows of a part as arrays (n, d)."""
        with self.place.open(self.file) as file:
            for start in range(part.start, part.stop, BLOCK_ROWS):
                yield self._read(file, start, min(start + BLOCK_ROWS, part.stop))

    def _read(self, file: BinaryIO, start: int, stop: int) -> NDArray[Any]:
        n_rows, width = self.shape
        if not self.by_column:
            return self._values(file, start * width, (stop - start) * width).reshape(-1, width)
        return np.stack([self._values(file, at * n_rows + start, stop - start) for at in range(width)], axis=1)

    def _values(self, file: BinaryIO, first: int, count: int) -> NDArray[Any]:
        file.seek(self.offset + first * self.dtype.itemsize)
        content = file.read(count * self.dtype.itemsize)
        if len(content) < count * self.dtype.itemsize:
            raise DataError(f"{self.file} ends before its last row: it was cut off. Write it again.")
        return np.frombuffer(content, self.dtype)


def open_npy(place: Place, name: str) -> NpyParts:
    """Look at the header of the file."""
    try:
        with place.open(name) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_column, dtype = read(file)
            offset = file.tell()
    except Exception as error:  # a damaged header raises errors of many kinds, down to the tokenizer's
        raise DataError(
            f"{name} cannot be read as an array of numbers: {reason(error)}. Save a plain 2D array."
        ) from error
    if len(shape) != 2 or dtype.kind not in "buif":
        raise DataError(f"{name} holds an array of shape {shape} and type {dtype}. Save a 2D array of real numbers.")
    if min(shape) < 0 or prod(shape) * dtype.itemsize > place.size(name) - offset:
        raise DataError(
            f"{name} ends before its last row: it claims the shape {shape} and has {place.size(name):,} bytes. It was "
            "cut off; write it again."
        )
    return NpyParts(place, name, shape, dtype, by_column, offset)
