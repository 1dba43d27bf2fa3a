"""Arrays from .npy and .npz files, without ever running what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError

Arrays = Mapping[str, NDArray[Any]]


def read_npy(path: Path) -> tuple[NDArray[Any], Arrays]:
    """The array of a .npy file; nothing stands beside it."""
    try:
        # Mapped, so that a header that claims more than the file holds is refused before memory is taken.
        return np.load(path, mmap_mode="r", allow_pickle=False), {}
    except Exception as error:  # a damaged header raises errors of many kinds, down to the tokenizer's
        raise _unreadable(path, error) from error


def read_npz(path: Path) -> tuple[NDArray[Any], Arrays]:
    """The array X of a .npz file, or its only array, and the one-dimensional arrays of the same length."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            name = _features(path, archive.files)
            matrix = np.asarray(archive[name])
            others = {other: np.asarray(archive[other]) for other in archive.files if other != name}
    except DataError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from error
    return matrix, {other: array for other, array in others.items() if array.shape == matrix.shape[:1]}


def _features(path: Path, names: list[str]) -> str:
    if "X" in names:
        return "X"
    if len(names) == 1:
        return names[0]
    listed = ", ".join(names) or "none"
    raise DataError(f"{path.name} has no array called X (its arrays: {listed}). Save the features as X.")


def _unreadable(path: Path, error: Exception) -> DataError:
    reason = (str(error) or type(error).__name__).splitlines()[0][:200]
    return DataError(
        f"{path.name} cannot be read as an array of numbers: {reason}. Save a plain 2D array with np.save or np.savez."
    )
