"""Arrays from .npy and .npz files, without ever running what a file says or believing what it claims to hold."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.faults import reason
from soel.tables.options import DEFAULT, ReadOptions

Arrays = Mapping[str, NDArray[Any]]


def read_npy(path: Path, wanted: Collection[str] = (), options: ReadOptions = DEFAULT) -> tuple[NDArray[Any], Arrays]:
    """The array of a .npy file; nothing stands beside it. What it claims is compared with the size of the file."""
    try:
        with path.open("rb") as file:
            shape, _, dtype = _header(file)
            _check_size(path.name, shape, dtype, path.stat().st_size - file.tell())
        return np.load(path, mmap_mode="r", allow_pickle=False), {}
    except DataError:
        raise
    except Exception as error:  # a damaged header raises errors of many kinds, down to the tokenizer's
        raise _unreadable(path, error) from error


def read_npz(path: Path, wanted: Collection[str] = (), options: ReadOptions = DEFAULT) -> tuple[NDArray[Any], Arrays]:
    """The array X of a .npz file, or its only array, and the arrays of the same length that are wanted.

    An array that is not wanted is not unpacked; one that would be larger than the limit is refused before it is.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            features = _features(path, names)
            shapes = {name: _check_member(path, archive, name, options) for name in {features, *wanted} & set(names)}
        with np.load(path, allow_pickle=False) as arrays:
            matrix = np.asarray(arrays[features])
            beside = {name: np.asarray(arrays[name]) for name in wanted if shapes.get(name) == matrix.shape[:1]}
    except DataError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from error
    return matrix, beside


def beside_names(path: Path) -> list[str]:
    """The names of the arrays of a .npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error


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
        raise DataError(
            f"{name} cannot be read as an array of numbers: it holds Python objects (allow_pickle=False). Save a plain "
            "2D array with np.save or np.savez."
        )
    if not dtype.itemsize or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > n_bytes:
        raise DataError(
            f"{name} cannot be read as an array of numbers: it claims the shape {shape} of {dtype} and has "
            f"{n_bytes:,} bytes. "
            "Save it again with np.save or np.savez."
        )


def _features(path: Path, names: list[str]) -> str:
    if "X" in names:
        return "X"
    if len(names) == 1:
        return names[0]
    listed = ", ".join(names) or "none"
    raise DataError(f"{path.name} has no array called X (its arrays: {listed}). Save the features as X.")


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(
        f"{path.name} cannot be read as an array of numbers: {reason(error)}. Save a plain 2D array with np.save or "
        "np.savez."
    )
