"""Columns as they lie in their source, whatever the source: numbers, times, or text still to be read."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from soel.checks import is_missing, is_number
from soel.errors import DataError, EmptyTableError, SchemaError
from soel.tables.arrow import give_back, nulls_where, pa, pc
from soel.tables.column import CellError, Values, as_objects, cell_text

Type = Literal["number", "flag", "time", "clock", "duration", "text", "category"]
TIME = "datetime64[us]"
EXACT = 2**53  # whole numbers up to here are exact as floats


@dataclass(frozen=True)
class Layout:
    """What was found out about a file. format: its kind in a word. encoding, separator: of text."""

    format: str = ""
    encoding: str = ""
    separator: str = ""
    notes: tuple[str, ...] = ()


UNKNOWN = Layout()


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
    def is_text(self) -> bool:
        return self.type in ("text", "category")

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value; of numbers and times."""
        return bool((np.isnat(self.values) if self.values.dtype.kind == "M" else np.isnan(self.values)).all())

    def take(self, rows: NDArray[Any]) -> RawColumn:
        values = self.values[rows] if isinstance(self.values, np.ndarray) else self.values.take(pa.array(rows))
        return replace(self, values=values)

    def as_words(self) -> Values:
        """Cells as text (N,): 2.0 is '2', blank and NaN are None."""
        if self.is_text:
            texts = pc.utf8_trim_whitespace(self.values)
            texts = nulls_where(pc.equal(texts, ""), texts)
            return np.asarray(texts.to_numpy(zero_copy_only=False), object)
        if self.type in ("time", "clock"):
            texts = np.datetime_as_string(self.values, unit="s").astype(object)
            texts[np.isnat(self.values)] = None
            return np.asarray(texts)
        return as_objects([None if value != value else cell_text(value) for value in self.values.tolist()])


@dataclass(frozen=True)
class RawTable:
    """Columns in order. named: whether they have names of their own."""

    cells: Mapping[str, RawColumn]
    named: bool
    layout: Layout = UNKNOWN

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def without(self, names: Collection[str]) -> RawTable:
        kept = {name: column for name, column in self.cells.items() if name not in names}
        check_shape(self.n_rows, len(kept))
        return RawTable(kept, self.named, self.layout)


def raw_from(X: Any) -> RawTable:
    """The columns of X as they are: an array, rows, or a frame of any library."""
    if hasattr(X, "tocsr"):
        raise DataError("Sparse matrices are not supported, and X is one. Convert it with X.toarray().")
    try:
        native = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise SchemaError(f"Columns of X share a name ({error}). Give each column its own.") from error
    if isinstance(native, nw.LazyFrame):
        raise DataError("X is a lazy frame, which holds no rows yet. Call collect() on it first.")
    if isinstance(native, nw.DataFrame):
        names, named = _names(native.columns)
        check_shape(*native.shape)
        series: Any = native.iter_columns()
        return RawTable({name: _from_series(name, part) for name, part in zip(names, series, strict=True)}, named)
    matrix = as_matrix(X)
    return RawTable({f"x{at}": from_array(f"x{at}", matrix[:, at]) for at in range(matrix.shape[1])}, named=False)


def raw_from_arrow(table: Any, layout: Layout = UNKNOWN) -> RawTable:
    """The columns of an Arrow table, which is let go column by column where nobody else holds it."""
    check_shape(*table.shape)
    names, columns = table.column_names, table.columns[::-1]
    del table
    cells = {}
    for at, name in enumerate(names):
        cells[name] = from_arrow(name, columns.pop())
        give_back(len(cells[name]), at)
    return RawTable(cells, True, layout)


def as_matrix(X: Any) -> NDArray[Any]:
    """X as an array (N, d) with rows and columns."""
    try:
        matrix = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if matrix.dtype.kind in "US" and not isinstance(X, np.ndarray):
            matrix = np.array(X, dtype=object)  # a list of mixed rows keeps its numbers as numbers
    except ValueError as error:
        raise DataError(f"X cannot be read as rows of equal length: {error}. Give a 2D array.") from error
    if matrix.ndim != 2:
        given = "scalar" if matrix.ndim == 0 else f"{matrix.ndim}D"
        raise DataError(
            f"Expected 2D array, got {given} array instead (shape={matrix.shape}). Reshape your data: one "
            "row per item, X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single item."
        )
    if matrix.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers. Give real numbers.")
    check_shape(*matrix.shape)
    return matrix


def check_shape(n_rows: int, n_columns: int) -> None:
    """Refuse a table without rows or columns."""
    shape = f"(shape=({n_rows}, {n_columns}))"
    if not n_rows:
        raise EmptyTableError(f"Found 0 sample(s) {shape} while a minimum of 1 is required. Give rows.")
    if not n_columns:
        raise DataError(f"Found 0 feature(s) {shape} while a minimum of 1 is required. Give columns.")


def from_arrow(name: str, column: Any) -> RawColumn:
    """A column of an Arrow table."""
    if isinstance(column, pa.ChunkedArray):
        if column.nbytes >= 1 << 31 and pa.types.is_string(column.type):
            column = column.cast(pa.large_string())
        column = column.combine_chunks()
    kinds, kind = pa.types, column.type
    if kinds.is_dictionary(kind):
        return _from_categories(name, column.cast(kind.value_type).to_pylist())
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return RawColumn("text", column)
    if kinds.is_null(kind) or str(kind) in ("string_view", "binary_view"):
        return RawColumn("text", column.cast(pa.string()))
    if kinds.is_boolean(kind):
        return RawColumn("flag", _floats(column.cast(pa.int8())))
    if kinds.is_integer(kind):
        ends = pc.min_max(column).as_py().values()
        return RawColumn("number", _floats(column), True, max(abs(end or 0) for end in ends) > EXACT)
    if kinds.is_floating(kind) or kinds.is_decimal(kind):
        return RawColumn("number", _floats(column))
    if kinds.is_timestamp(kind) or kinds.is_date(kind):
        return RawColumn("time", _times(column.cast(pa.timestamp("us"), safe=False)))
    if kinds.is_time(kind):
        clock = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        return RawColumn("clock", _times(clock.cast(pa.timestamp("us"))))
    if kinds.is_duration(kind):
        return RawColumn("duration", _floats(column.cast(pa.duration("us"), safe=False).cast(pa.int64())) / 1e6)
    return from_objects(name, column.to_pylist())


def from_array(name: str, column: NDArray[Any]) -> RawColumn:
    """A column of a plain array; a mask says what is missing."""
    if isinstance(column, np.ma.MaskedArray):
        return from_objects(name, [None if cell is np.ma.masked else cell for cell in column.tolist()])
    if column.dtype.kind == "M":
        return RawColumn("time", column.astype(TIME))
    if column.dtype.kind == "m":
        return from_arrow(name, pa.array(column.astype("timedelta64[us]")))
    if column.dtype.kind not in "buif":
        return from_objects(name, column.tolist())
    whole = column.dtype.kind in "iu"
    lost = whole and column.dtype.itemsize == 8 and bool(((column > EXACT) | (column < -EXACT)).any())
    return RawColumn("number", column.astype(np.float64), whole, lost)


def from_objects(name: str, objects: Sequence[Any]) -> RawColumn:
    """A column of Python objects: of one type as Arrow finds it, all numbers, or else text."""
    cells = _plain_cells(name, objects)
    try:
        column = pa.array(cells)
    except (ValueError, TypeError, OverflowError):  # of several types
        present = [cell for cell in cells if cell is not None]
        if all(map(is_number, present)):
            whole = all(isinstance(cell, int | np.integer) for cell in present)
            lost = whole and any(abs(int(cell)) > EXACT for cell in present)
            numbers = [np.nan if cell is None else float(cell) for cell in cells]
            return RawColumn("number", np.array(numbers, np.float64), whole, lost)
        if all(isinstance(cell, datetime.date | np.datetime64) for cell in present):
            column = pa.array([_in_utc(cell) for cell in cells], pa.timestamp("us"))
        else:
            column = _as_text(cells)
    return from_arrow(name, column)


def _from_series(name: str, series: nw.Series[Any]) -> RawColumn:
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        return _from_categories(name, series.to_list())
    try:
        return from_arrow(name, series.to_arrow())
    except (ImportError, ValueError, TypeError, OverflowError, NotImplementedError):
        return from_objects(name, series.to_list())


def _from_categories(name: str, objects: Sequence[Any]) -> RawColumn:
    return RawColumn("category", _as_text(_plain_cells(name, objects)))


def _plain_cells(name: str, objects: Sequence[Any]) -> list[Any]:
    """The cells with None for what is missing; cells that hold several values are refused."""
    plain = (str, datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    cells = [None if is_missing(cell) else cell for cell in objects]
    for cell in cells:
        if isinstance(cell, complex | np.complexfloating):
            raise DataError(f"Complex data not supported: column {name!r} holds {cell}. Give real numbers.")
        if cell is not None and not isinstance(cell, plain) and not is_number(cell):
            raise CellError(
                f"Column {name!r} holds a {type(cell).__name__}: each cell of the argument must be a string or a "
                "number. Split such cells into columns, or leave the column out (<<ignore>>)."
            )
    return cells


def _as_text(cells: Sequence[Any]) -> Any:
    return pa.array([None if cell is None else cell_text(cell) for cell in cells], pa.string())


def _in_utc(cell: Any) -> Any:
    if isinstance(cell, datetime.datetime) and cell.tzinfo is not None:
        return cell.astimezone(datetime.UTC).replace(tzinfo=None)
    return cell


def _floats(column: Any) -> NDArray[np.float64]:
    return np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _times(column: Any) -> NDArray[np.datetime64]:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(TIME)


def _names(given: Sequence[Any]) -> tuple[list[str], bool]:
    n_text = sum(isinstance(name, str) for name in given)
    if not n_text:  # numbered columns are positions, not names
        return [f"x{position}" for position in range(len(given))], False
    if n_text < len(given):
        raise SchemaError("Some column names are text and some are not. Make all of them text.")
    return list(given), True
