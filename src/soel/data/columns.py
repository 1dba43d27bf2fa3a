"""One column of mixed cells, read as numbers or as categories.

A cell that is None, NaN, NA or blank text is missing. Text that spells numbers throughout is a numeric
column; to keep such codes as categories, name the column in `categorical` or give it a categorical type.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError, SchemaError
from soel.validation import is_missing, is_number

Column = NDArray[Any]  # (N,) of float64 with NaN for missing, or of objects: str, or None for missing
LARGEST = float(np.finfo(np.float32).max)
DATES_ADVICE = "Turn it into numbers that mean something (an age in days, the hour of the day) or leave the column out."


class CellError(DataError, TypeError):
    """A cell that is neither a number nor text."""


def read_cells(name: str, cells: Sequence[Any]) -> Column:
    """A column from Python objects: numbers if all cells say numbers, categories if most do not."""
    distinct = _distinct(name, cells)
    numbers = {cell: _number(name, cell) for cell in distinct}
    words = {cell for cell, number in numbers.items() if number is None}
    if not words:
        return check_finite(name, np.fromiter((numbers[cell] for cell in cells), np.float64, len(cells)))
    _check_not_mostly_numbers(name, cells, words, numbers)
    return read_categories(name, cells)


def read_categories(name: str, cells: Sequence[Any]) -> Column:
    """A column of categories whatever the cells look like."""
    texts = {cell: _text(cell) for cell in _distinct(name, cells)}
    column = np.empty(len(cells), object)
    column[:] = [texts[cell] for cell in cells]
    return column


def as_categories(column: Column) -> Column:
    """The same column as categories: 2.0 is '2', NaN is missing."""
    return column if column.dtype == object else read_categories("", column.tolist())


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


def _distinct(name: str, cells: Sequence[Any]) -> set[Any]:
    try:
        return set(cells)
    except TypeError:
        raise _not_a_cell(name, next(cell for cell in cells if not _can_be_told(cell))) from None


def _can_be_told(cell: Any) -> bool:
    try:
        hash(cell)
    except TypeError:
        return False
    return True


def _number(name: str, cell: Any) -> float | None:
    """What a cell says as a number: NaN for missing, None for text that is no number."""
    if is_missing(cell):
        return float("nan")
    if is_number(cell):
        return float(cell)
    if isinstance(cell, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64):
        raise SchemaError(f"Column {name!r} holds dates or times such as {cell}. {DATES_ADVICE}")
    if not isinstance(cell, str):
        raise _not_a_cell(name, cell)
    try:
        return float(cell) if cell.strip() else float("nan")
    except ValueError:
        return None


def _text(cell: Any) -> str | None:
    if is_missing(cell):
        return None
    text = f"{cell:.15g}" if isinstance(cell, float | np.floating) else str(cell).strip()
    return text or None


def _check_not_mostly_numbers(
    name: str, cells: Sequence[Any], words: set[Any], numbers: dict[Any, float | None]
) -> None:
    n_words = sum(cell in words for cell in cells)
    n_numbers = sum(numbers[cell] == numbers[cell] for cell in cells) - n_words
    if n_numbers <= n_words:
        return
    row = next(row for row, cell in enumerate(cells) if cell in words)
    raise DataError(
        f"Column {name!r} is mostly numbers, but {n_words} cells are not, such as {cells[row]!r} in row "
        f"{row}. Correct them, leave them empty where the value is missing, or make the column categorical."
    )


def _not_a_cell(name: str, cell: Any) -> DataError:
    if isinstance(cell, complex | np.complexfloating):
        return DataError(f"Complex data not supported: column {name!r} holds {cell}. Give real numbers.")
    return CellError(
        f"Column {name!r} holds a {type(cell).__name__}: each cell of the argument must be a string or a "
        "number. Split such cells into columns, or leave the column out."
    )
