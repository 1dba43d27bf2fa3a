"""What a column of a frame is, and the few things that hold for every column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.validation import is_missing

# (N,) of float64 with NaN for missing, of datetime64[us] with NaT, or of objects: str, or None for missing
Column = NDArray[Any]
LARGEST = float(np.finfo(np.float32).max)


class CellError(DataError, TypeError):
    """A cell that is neither a number nor text."""


def check_finite(name: str, values: Column) -> Column:
    """The values, if all can be computed with; NaN is allowed."""
    with np.errstate(invalid="ignore"):
        too_large = np.abs(values) > LARGEST
    if too_large.any():
        row = int(np.argmax(too_large))
        raise DataError(
            f"Column {name!r} holds infinity or a value too large for float32 in row {row} ({values[row]}; "
            f"{int(too_large.sum())} in all). Correct it, or use NaN for a missing value."
        )
    return values


def cell_text(cell: Any) -> str:
    """A cell as text: 2.0 is '2'."""
    return f"{cell:.15g}" if isinstance(cell, float | np.floating) else str(cell).strip()


def readable_time(value: np.datetime64) -> str:
    """A time as a person writes it: to the second, without a midnight and without the first day of all."""
    text = str(value.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00").removeprefix("1970-01-01T").replace("T", " ")


def as_categories(column: Column) -> Column:
    """The same column as categories: 2.0 is '2', NaN is missing."""
    if column.dtype == object:
        return column
    missing = np.isnat(column) if column.dtype.kind == "M" else np.isnan(column)
    texts = np.empty(len(column), object)
    texts[:] = [
        None if gone or is_missing(cell) else cell_text(cell)
        for cell, gone in zip(column.tolist(), missing, strict=True)
    ]
    return texts
