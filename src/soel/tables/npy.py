"""Arrays from .npy and .npz files, without ever running what a file says or believing what it claims to hold."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.limits import reason
from soel.tables.location import BLOCK_ROWS, PART_ROWS, DataPart, Location
from soel.tables.read_options import DEFAULT, ReadOptions

Arrays = Mapping[str, NDArray[Any]]
_ADVICE = "Save a plain 2D array with np.save or np.savez."


@dataclass(frozen=True)
class NpyFile:
    """An array (n_rows, d) in a file as a format of parts, each a range of rows that is read where it lies.

    offset: where its values begin. by_column: whether columns lie one by one.
    """

    place: Location
    file: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    by_column: bool
    offset: int
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of an array have no names: x0, x1, ..."""
        return tuple(f"x{position}" for position in range(self.shape[1]))

    @property
    def parts(self) -> tuple[DataPart, ...]:
        n_rows, starts = self.shape[0], range(0, self.shape[0], PART_ROWS)
        spans = [(start, min(start + PART_ROWS, n_rows)) for start in starts]
        return tuple(
            DataPart(at, self.file, start, stop - start, start, stop) for at, (start, stop) in enumerate(spans)
        )

    def batches(self, part: DataPart) -> Iterator[NDArray[Any]]:
        for start in range(part.start, part.stop, BLOCK_ROWS):
            yield self.read(start, min(start + BLOCK_ROWS, part.stop))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Some consecutive rows (stop - start, d)."""
        (n_rows, width), n = self.shape, stop - start
        with self.place.open(self.file) as file:
            if self.by_column and width:
                return np.stack([self._values(file, at * n_rows + start, n) for at in range(width)], axis=1)
            return self._values(file, start * width, n * width).reshape(n, width)

    def _values(self, file: BinaryIO, first: int, count: int) -> NDArray[Any]:
        file.seek(self.offset + first * self.dtype.itemsize)
        content = file.read(count * self.dtype.itemsize)
        if len(content) < count * self.dtype.itemsize:
            raise DataError(f"{self.file} ends before its last row: it was cut off. Write it again.")
        return np.frombuffer(content, self.dtype)


def open_npy(place: Location, name: str) -> NpyFile:
    """Look at the header of the file. What it claims is compared with the size of the file."""
    try:
        with place.open(name) as file:
            shape, by_column, dtype = _header(file)
            offset = file.tell()
        _check_size(name, shape, dtype, place.size(name) - offset)
    except DataError:
        raise
    except Exception as error:  # a damaged header raises errors of many kinds, down to the tokenizer's
        raise _unreadable(name, error) from error
    if len(shape) != 2:
        raise DataError(f"{name} holds an array of shape {shape} and type {dtype}. {_ADVICE}")
    return NpyFile(place, name, shape, dtype, by_column, offset)


def read_npy(path: Path, wanted: Collection[str] = (), options: ReadOptions = DEFAULT) -> tuple[NDArray[Any], Arrays]:
    """The array of a .npy file; nothing stands beside it."""
    file = open_npy(Location(str(path.absolute().parent)), path.name)
    return file.read(0, file.shape[0]), {}


def read_npz(path: Path, wanted: Collection[str] = (), options: ReadOptions = DEFAULT) -> tuple[NDArray[Any], Arrays]:
    """The array X of a .npz file, or its only array, and the arrays of the same length that are wanted.

    An array that is not wanted is not unpacked; one that would be larger than the limit is refused before it is.
    """
    try:
        names = beside_names(path)
        features = "X" if "X" in names or len(names) != 1 else names[0]
        if features not in names:
            listed = ", ".join(names) or "none"
            raise DataError(f"{path.name} has no array called X (its arrays: {listed}). Save the features as X.")
        with zipfile.ZipFile(path) as archive:
            shapes = {name: _check_member(path, archive, name, options) for name in {features, *wanted} & set(names)}
        with np.load(path, allow_pickle=False) as arrays:
            matrix = np.asarray(arrays[features])
            beside = {name: np.asarray(arrays[name]) for name in wanted if shapes.get(name) == matrix.shape[:1]}
    except DataError:
        raise
    except Exception as error:
        raise _unreadable(path.name, error) from error
    return matrix, beside


def beside_names(path: Path) -> list[str]:
    """The names of the arrays of a .npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise _unreadable(path.name, error) from error


def _check_member(path: Path, archive: zipfile.ZipFile, name: str, options: ReadOptions) -> tuple[int, ...]:
    """The shape of an array in an archive, once its size is known to be honest and within the limit."""
    member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
    size = archive.getinfo(member).file_size
    with archive.open(member) as file:
        shape, _, dtype = _header(file)
        _check_size(path.name, shape, dtype, size - file.tell())
    size = max(size, 8 * prod(shape))  # as float64
    if size > options.max_unpacked:
        raise DataError(
            f"{path.name} has an array {name!r} of {size:,} bytes when it is unpacked. Save it as .npy, or raise the "
            "limit with <<max-unpacked>>."
        )
    return shape


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


def _check_size(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int) -> None:
    if dtype.hasobject:
        raise _unreadable(name, ValueError("it holds Python objects (allow_pickle=False)"))
    if not dtype.itemsize or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > n_bytes:
        raise _unreadable(name, ValueError(f"it claims the shape {shape} of {dtype} and has {n_bytes:,} bytes"))


def _unreadable(name: str, error: Exception) -> DataError:
    return DataError(f"{name} cannot be read as an array of numbers: {reason(error)}. {_ADVICE}")
