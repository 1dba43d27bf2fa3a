"""One column as it lies in its source, whatever the source: numbers, times, or text still to be read."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from soel.checks import is_missing, is_number
from soel.errors import DataError
from soel.tables.arrow import pa, pc
from soel.tables.column import CellError, Values, cell_text

Type = Literal["number", "flag", "time", "clock", "duration", "text", "category"]
TIME = "datetime64[us]"
MUCH = 1 << 18
EXACT = 2**53  # whole numbers up to here are exact as floats


@dataclass(frozen=True)
class RawColumn:
    """Cells of one type. values (N,): float64 with NaN, datetime64[us] with NaT, or Arrow strings with null.

    whole: whether they came as whole numbers. lost: whether some of those were too large to be kept exactly.
    """

    type: Type
    values: Any
    whole: bool = False
    lost: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_empty(self) -> bool:
        """Whether there is no value in a column that is not text."""
        values = self.values
        return bool((np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)).all())

    def take(self, rows: NDArray[Any]) -> RawColumn:
        """Some of the rows."""
        values = self.values[rows] if isinstance(self.values, np.ndarray) else self.values.take(pa.array(rows))
        return RawColumn(self.type, values, self.whole, self.lost)


def as_objects(cells: RawColumn) -> Values:
    """Cells as text: 2.0 is '2', blank and NaN are missing."""
    if cells.type in ("text", "category"):
        texts = pc.utf8_trim_whitespace(cells.values)
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
        return np.asarray(texts.to_numpy(zero_copy_only=False), object)
    if cells.type in ("time", "clock"):
        texts = np.datetime_as_string(cells.values, unit="s").astype(object)
        texts[np.isnat(cells.values)] = None
        return np.asarray(texts)
    column = np.empty(len(cells), object)
    column[:] = [None if value != value else f"{value:.15g}" for value in cells.values.tolist()]
    return column


def give_back(n_cells: int, at: int = 0) -> None:
    """Hand what Arrow keeps for later use back to the machine, where that is much.

    n_cells: of a column. at: its number: of columns that are short, every so many are waited for.
    """
    if (at + 1) * n_cells // MUCH > at * n_cells // MUCH:
        pa.default_memory_pool().release_unused()


def cells_from_arrow(name: str, column: Any) -> RawColumn:
    """A column of an Arrow table."""
    kinds = pa.types
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunk, or of more than fit into one
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if kinds.is_dictionary(kind):
        return _category(name, column.cast(kind.value_type))
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return RawColumn("text", column)
    if kinds.is_null(kind):
        return RawColumn("text", column.cast(pa.string()))
    if kinds.is_boolean(kind):
        return RawColumn("flag", _floats(column.cast(pa.int8()).cast(pa.float64())))
    if kinds.is_integer(kind):
        return _from_integers(column)
    if kinds.is_floating(kind) or kinds.is_decimal(kind):
        return RawColumn("number", _floats(column.cast(pa.float64(), safe=False)))
    if kinds.is_timestamp(kind) or kinds.is_date(kind):
        return RawColumn("time", _times(column.cast(pa.timestamp("us"), safe=False)))
    if kinds.is_time(kind):
        clock = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return RawColumn("clock", _times(clock.cast(pa.timestamp("us"))))
    if kinds.is_duration(kind):
        micros = column.cast(pa.duration("us"), safe=False).cast(pa.int64()).cast(pa.float64(), safe=False)
        return RawColumn("duration", _floats(micros) / 1e6)
    if str(kind) in ("string_view", "binary_view"):
        return RawColumn("text", column.cast(pa.string()))
    return cells_from_objects(name, column.to_pylist())


def cells_from_series(name: str, series: nw.Series[Any]) -> RawColumn:
    """A column of a frame of any library."""
    dtype = series.dtype
    if isinstance(dtype, nw.Categorical | nw.Enum):
        return _category(name, series.to_list())
    if dtype == nw.Boolean:
        return RawColumn("flag", np.asarray(series.cast(nw.Float64).to_numpy(), np.float64))
    if dtype.is_numeric() and dtype not in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128):  # exact as floats
        return RawColumn("number", np.asarray(series.cast(nw.Float64).to_numpy(), np.float64), dtype.is_integer())
    if dtype.is_integer() or isinstance(dtype, nw.String) or dtype.is_temporal():
        try:
            return cells_from_arrow(name, series.to_arrow())
        except (ImportError, ValueError, TypeError):
            pass
    return cells_from_objects(name, series.to_list())


def cells_from_array(name: str, column: NDArray[Any]) -> RawColumn:
    """A column of a plain array; a mask says what is missing."""
    if column.dtype.kind == "M":
        return RawColumn("time", column.astype(TIME))
    if column.dtype.kind == "m":
        seconds = column.astype("timedelta64[us]").astype(np.float64) / 1e6
        return RawColumn("duration", np.where(np.isnat(column), np.nan, seconds))
    if column.dtype.kind in "iu" and column.dtype.itemsize == 8:
        lost = bool(((column > EXACT) | (column < -EXACT)).any()) if len(column) else False
        return RawColumn("number", column.astype(np.float64), True, lost)
    if column.dtype.kind in "buif":
        return RawColumn("number", column.astype(np.float64), column.dtype.kind in "iu")
    return cells_from_objects(name, column.tolist())


def cells_from_objects(name: str, cells: Sequence[Any]) -> RawColumn:
    """A column of Python objects: all numbers, all times, or else text."""
    present = [cell for cell in cells if not is_missing(cell)]
    types = set(map(type, present))
    if all(issubclass(each, str) for each in types):
        return RawColumn(
            "text", pa.array([cell if isinstance(cell, str) else None for cell in cells], _text_type(present))
        )
    odd = next((cell for cell in present if not _is_cell(cell)), None)
    if odd is not None:
        raise _not_a_cell(name, odd)
    if types <= {bool, np.bool_}:
        return RawColumn("flag", np.array([np.nan if is_missing(cell) else float(cell) for cell in cells]))
    if all(is_number(cell) for cell in present):
        whole = all(issubclass(each, int | np.integer) for each in types)
        lost = whole and any(abs(int(cell)) > EXACT for cell in present)
        return RawColumn(
            "number", np.array([np.nan if is_missing(cell) else float(cell) for cell in cells]), whole, lost
        )
    if all(isinstance(cell, datetime.date | np.datetime64) for cell in present):
        return RawColumn("time", np.array([_moment(cell) for cell in cells], TIME))
    if all(isinstance(cell, datetime.timedelta | np.timedelta64) for cell in present):
        return RawColumn("duration", np.array([np.nan if is_missing(cell) else _seconds(cell) for cell in cells]))
    texts = [None if is_missing(cell) else cell_text(cell) for cell in cells]
    return RawColumn("text", pa.array(texts, pa.string()))


def _text_type(texts: Sequence[str]) -> Any:
    return pa.large_string() if sum(map(len, texts)) > 1 << 29 else pa.string()


def _category(name: str, cells: Any) -> RawColumn:
    objects = cells if isinstance(cells, list) else cells.to_pylist()
    odd = next((cell for cell in objects if not is_missing(cell) and not _is_cell(cell)), None)
    if odd is not None:
        raise _not_a_cell(name, odd)
    return RawColumn(
        "category", pa.array([None if is_missing(cell) else cell_text(cell) for cell in objects], pa.string())
    )


def _from_integers(column: Any) -> RawColumn:
    ends = pc.min_max(column)
    low, high = ends["min"].as_py() or 0, ends["max"].as_py() or 0
    lost = max(abs(low), abs(high)) > EXACT
    return RawColumn("number", _floats(column.cast(pa.float64(), safe=False)), True, lost)


def _floats(column: Any) -> NDArray[np.float64]:
    return np.array(column.to_numpy(zero_copy_only=False), np.float64)


def _times(column: Any) -> NDArray[np.datetime64]:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(TIME)


def _is_cell(cell: Any) -> bool:
    plain = (str, datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return isinstance(cell, plain) or is_number(cell)


def _moment(cell: Any) -> np.datetime64:
    if is_missing(cell):
        return np.datetime64("NaT", "us")
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _seconds(cell: Any) -> float:
    return cell.total_seconds() if isinstance(cell, datetime.timedelta) else float(cell / np.timedelta64(1, "s"))


def _not_a_cell(name: str, cell: Any) -> DataError:
    if isinstance(cell, complex | np.complexfloating):
        return DataError(f"Complex data not supported: column {name!r} holds {cell}. Give real numbers.")
    return CellError(
        f"Column {name!r} holds a {type(cell).__name__}: each cell of the argument must be a string or a "
        "number. Split such cells into columns, or leave the column out (<<ignore>>)."
    )
