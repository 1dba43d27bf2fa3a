"""One column: how it is read (plain data that is stored and shown), and what holds for the values of any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.checks import is_missing
from soel.errors import DataError

# (N,) of float64 with NaN for missing, of datetime64[us] with NaT, or of objects: str, or None for missing
Values = NDArray[Any]
BOUNDS = ("<", ">", "≤", "≥", "<=", ">=", "~")  # what a laboratory writes before the limit of its instrument
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Form:
    """How the text of a cell is turned into its value. What a kind does not need keeps its default.

    decimal, thousands: the signs in numbers; thousands may be several.
    units: what may stand around a number, such as a currency, a percent sign or one unit of measurement.
    words: the words of a flag, 1 for yes and 0 for no.
    layout: the name of a layout of times or durations (see `kinds.time_text`).
    order: of day, month and year, such as 'dmy'.
    missing: numbers that stand for a missing value, such as -999 (see `kinds.number`).
    """

    decimal: str = "."
    thousands: str = ""
    units: tuple[str, ...] = ()
    words: Mapping[str, int] = field(default_factory=dict)
    layout: str = ""
    order: str = ""
    missing: tuple[float, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether numbers are as a computer writes them."""
        return self.decimal == "." and not self.thousands and not self.units

    @property
    def unit(self) -> str:
        """What stands behind the numbers, where it is one throughout."""
        return self.units[0] if len(self.units) == 1 and self.units[0] not in BOUNDS else ""


PLAIN = Form()


@dataclass(frozen=True)
class Seen:
    """What the pool holds in a column.

    n_missing, n_distinct: counts.
    examples: a few cells as they are written.
    oddities: what looks odd, in words.
    bars: rows in equal steps from `low` to `high`, or with each of the most frequent values.
    low, high: the ends as people read them.
    """

    n_missing: int = 0
    n_distinct: int = 0
    examples: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()
    bars: tuple[int, ...] = ()
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Column:
    """How one column is read.

    kind: the name of a kind (see `kinds.KINDS`).
    doubt: why another reading is possible, empty where this one is sure.
    """

    name: str
    kind: str
    form: Form = PLAIN
    doubt: str = ""
    seen: Seen = field(default_factory=Seen)

    @property
    def is_sure(self) -> bool:
        """Whether there is no other sensible reading."""
        return not self.doubt

    def to_json(self) -> dict[str, Any]:
        form = {key: value for key, value in asdict(self.form).items() if value != getattr(PLAIN, key)}
        return asdict(self) | {"form": form}


class CellError(DataError, TypeError):
    """A cell that is neither a number nor text."""


def check_finite(name: str, values: Values) -> Values:
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
    """A time as a person writes it: to the second, without a midnight and without 1 January 1970."""
    text = str(value.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00").removeprefix("1970-01-01T").replace("T", " ")


def as_objects(cells: Sequence[Any]) -> NDArray[np.object_]:
    """Python objects as an array (N,) of them, whatever they are."""
    column = np.empty(len(cells), object)
    column[:] = cells
    return column


def as_seconds(values: Values) -> Values:
    """Times (N,) as seconds since 1970, NaN for missing."""
    return np.where(np.isnat(values), np.nan, values.astype("datetime64[us]").astype(np.int64) / 1e6)


def as_categories(values: Values) -> Values:
    """The same column as categories: 2.0 is '2', NaN is missing."""
    if values.dtype == object:
        return values
    return as_objects([None if is_missing(cell) else cell_text(cell) for cell in values.tolist()])
