"""Whatever holds rows and columns (numpy, pandas, polars, pyarrow, lists), read as one frame."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from soel.errors import DataError, DataWarning, EmptyTableError, SchemaError
from soel.tables.column import Values, as_categories, check_finite
from soel.tables.decide import decide, parse_column
from soel.tables.kinds import kind_of
from soel.tables.kinds.missing import find_codes
from soel.tables.raw_columns import (
    RawColumn,
    as_objects,
    cells_from_array,
    cells_from_arrow,
    cells_from_objects,
    cells_from_series,
    give_back,
)
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.table_schema import UNKNOWN, Layout, Schema
from soel.types import Kind

LOST = (
    "Whole numbers beyond 2^53 are rounded to 16 digits. Give ids as text, and large numbers less their smallest one."
)

MANY_COLUMNS = 300  # feature vectors of networks are wider than this, but so are some tables
DISTINCT_SHARE = 0.5  # of the values beside a column's commonest: 0.74 and more on ResNet features, 0.23 on pixels
LOOKED_AT = 1000  # rows


@dataclass(frozen=True)
class Frame:
    """Columns in order, each (N,): float64, datetime64[us] or objects (see `columns.Values`).

    named: False for a plain array, whose columns are called x0, x1, ...
    schema: how the columns were read, None for an array of numbers, which needs none unless it has codes for missing
        values. Columns that are left out are in the schema only.
    """

    columns: Mapping[str, Values]
    named: bool
    schema: Schema | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    def take(self, rows: NDArray[Any]) -> Frame:
        """Some of the rows."""
        return Frame({name: column[rows] for name, column in self.columns.items()}, self.named, self.schema)

    @property
    def row_names(self) -> tuple[str, list[str]] | None:
        """The first column that surely names every row, and its cells as text; None where there is none."""
        for column in () if self.schema is None else self.schema.columns:
            values = self.columns.get(column.name)
            if kind_of(column).names_rows and values is not None and column.is_sure:
                texts = as_categories(values).tolist()
                if None not in texts:
                    return column.name, texts
        return None

    def leaving_out(self, n_repeated: int) -> Frame:
        """The frame, whose schema says that so many repeated rows were left out of it."""
        schema = self.schema and replace(self.schema, n_duplicates=n_repeated, drop_duplicates=True)
        return Frame(self.columns, self.named, schema)

    def without(self, names: Collection[str]) -> Frame:
        """The frame less some columns."""
        kept = {name: column for name, column in self.columns.items() if name not in names}
        _check_shape(self.n_rows, len(kept))
        return Frame(kept, self.named, None if self.schema is None else self.schema.without(names))


@dataclass(frozen=True)
class Raw:
    """Columns as they lie in their source, in order. named: whether they have names of their own."""

    cells: Mapping[str, RawColumn]
    named: bool
    layout: Layout = UNKNOWN

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def without(self, names: Collection[str]) -> Raw:
        """The columns less some."""
        kept = {name: column for name, column in self.cells.items() if name not in names}
        _check_shape(self.n_rows, len(kept))
        return Raw(kept, self.named, self.layout)


def read_frame(X: Any, options: ReadOptions = DEFAULT, schema: Schema | None = None) -> Frame:
    """Read X (N, d) as a frame: as the reading of a pool says, or as its cells and the options say."""
    matrix = X if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray) else None
    if matrix is not None and matrix.dtype.kind in "buif" and options == DEFAULT and _has_only_numbers(schema):
        matrix = _as_matrix(matrix)
        _check_shape(*matrix.shape)
        cells = {f"x{at}": cells_from_array(f"x{at}", matrix[:, at]) for at in range(matrix.shape[1])}
        if any(column.lost for column in cells.values()):
            warnings.warn(LOST, DataWarning, stacklevel=2)
        if schema is None and any(find_codes(column.values) for column in cells.values()):
            return frame_from(Raw(cells, named=False))
        return Frame({name: check_finite(name, column.values) for name, column in cells.items()}, named=False)
    raw = raw_from(X)
    return frame_from(raw, options) if schema is None else frame_by(raw, schema)


def as_frame(X: Any, categorical: Collection[str] = ()) -> Frame:
    """Read X (N, d) as a frame. Columns named in `categorical` are categories even if they look like numbers."""
    return read_frame(X, ReadOptions(categorical=tuple(categorical)) if categorical else DEFAULT)


def frame_from(raw: Raw, options: ReadOptions = DEFAULT) -> Frame:
    """A frame whose schema is decided by its own cells: that of a pool."""
    schema, known = decide(raw.cells, options, raw.layout, raw.named)
    kept = [column for column in schema.columns if kind_of(column).is_kept]
    columns = {c.name: known[c.name] if c.name in known else parse_column(c, raw.cells[c.name]) for c in kept}
    _check_shape(raw.n_rows, len(columns))
    return Frame({name: _check(name, values) for name, values in columns.items()}, raw.named, schema)


def frame_by(raw: Raw, schema: Schema) -> Frame:
    """A frame read as the pool was. Columns that the pool did not have are kept as text, for others to refuse."""
    by_name = schema.by_name
    if raw.named and any(name in by_name for name in raw.cells):
        columns = {
            name: parse_column(by_name[name], cells) if name in by_name else as_objects(cells)
            for name, cells in raw.cells.items()
            if name not in by_name or kind_of(by_name[name]).is_kept
        }
    elif len(raw.cells) == len(schema.columns):
        pairs = zip(schema.columns, raw.cells.items(), strict=True)
        columns = {name: parse_column(each, cells) for each, (name, cells) in pairs}
    else:  # of another width, which the encoder says
        columns = {name: as_objects(cells) for name, cells in raw.cells.items()}
    _check_shape(raw.n_rows, len(columns))
    return Frame(columns, raw.named, replace(schema, layout=raw.layout, n_rows=raw.n_rows, n_duplicates=0))


def extra_columns(names: Collection[str], schema: Schema) -> tuple[str, ...]:
    """Names of columns that the pool did not have; none where columns are matched by their places."""
    known = schema.by_name
    return tuple(name for name in names if name not in known) if any(name in known for name in names) else ()


def without_extras(raw: Raw, schema: Schema) -> Raw:
    """The columns that the pool had, with a note that says which others are left out; a strict schema refuses those."""
    extras = extra_columns(raw.cells, schema) if raw.named and not schema.strict else ()
    if not extras:
        return raw
    layout = replace(raw.layout, notes=(*raw.layout.notes, note_on_extras(extras)))
    return Raw({name: cells for name, cells in raw.cells.items() if name not in extras}, raw.named, layout)


def note_on_extras(names: Sequence[str]) -> str:
    """What is said of columns that the pool did not have."""
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    what = "A column that the pool does not have is" if len(names) == 1 else "Columns that the pool does not have are"
    return f"{what} left out: {shown}."


def raw_from(X: Any) -> Raw:
    """The columns of X as they are."""
    if hasattr(X, "tocsr"):
        raise DataError("Sparse matrices are not supported, and X is one. Convert it with X.toarray().")
    try:
        native = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise SchemaError(f"Columns of X share a name ({error}). Give each column its own.") from error
    if isinstance(native, nw.LazyFrame):
        raise DataError("X is a lazy frame, which holds no rows yet. Call collect() on it first.")
    if isinstance(native, nw.DataFrame):
        return _from_table(native)
    matrix = _as_matrix(X)
    _check_shape(*matrix.shape)
    return Raw({f"x{at}": _array_column(matrix, at) for at in range(matrix.shape[1])}, named=False)


def raw_from_arrow(table: Any, layout: Layout = UNKNOWN) -> Raw:
    """The columns of an Arrow table, which is let go column by column where nobody else holds it."""
    _check_shape(*table.shape)
    names, columns = table.column_names, table.columns[::-1]
    del table
    cells = {}
    for at, name in enumerate(names):
        cells[name] = cells_from_arrow(name, columns.pop())
        give_back(len(cells[name]), at)
    return Raw(cells, True, layout)


def _has_only_numbers(schema: Schema | None) -> bool:
    return schema is None or all(kind_of(column).is_as_stored(column) for column in schema.columns)


def _check(name: str, column: Values) -> Values:
    return check_finite(name, column) if column.dtype == np.float64 else column


def _array_column(matrix: NDArray[Any], at: int) -> RawColumn:
    column = matrix[:, at]
    if isinstance(column, np.ma.MaskedArray):
        return cells_from_objects(f"x{at}", [None if cell is np.ma.masked else cell for cell in column.tolist()])
    return cells_from_array(f"x{at}", column)


def _as_matrix(X: Any) -> NDArray[Any]:
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
    return matrix


def _from_table(table: nw.DataFrame[Any]) -> Raw:
    names, named = _names(table.columns)
    _check_shape(*table.shape)
    series: Any = table.iter_columns()
    return Raw({name: cells_from_series(name, part) for name, part in zip(names, series, strict=True)}, named)


def _names(given: Sequence[Any]) -> tuple[list[str], bool]:
    n_text = sum(isinstance(name, str) for name in given)
    if not n_text:  # numbered columns are positions, not names
        return [f"x{position}" for position in range(len(given))], False
    if n_text < len(given):
        raise SchemaError("Some column names are text and some are not. Make all of them text.")
    return list(given), True


def _check_shape(n_rows: int, n_columns: int) -> None:
    shape = f"(shape=({n_rows}, {n_columns}))"
    if not n_rows:
        raise EmptyTableError(f"Found 0 sample(s) {shape} while a minimum of 1 is required. Give rows.")
    if not n_columns:
        raise DataError(f"Found 0 feature(s) {shape} while a minimum of 1 is required. Give columns.")


def find_kind(frame: Frame, wanted: str = "auto") -> Kind:
    """The kind that the user says, or the one that the rows look like: a table, unless they look like feature vectors.

    Feature vectors have many columns, all of them numbers, none missing. A column may be zero for most rows, but the
    values that are not hardly repeat: flags, counts and codes are a table's.
    """
    kind = Kind.read(wanted)
    if kind is not None:
        return kind
    columns = list(frame.columns.values())
    if len(columns) <= MANY_COLUMNS or not all(_is_whole(column) for column in columns):
        return Kind.TABLE
    counted = [_count_values(column[:LOOKED_AT]) for column in columns]
    n_values, n_distinct = (sum(counts) for counts in zip(*counted, strict=True))
    return Kind.VECTORS if n_distinct > DISTINCT_SHARE * max(n_values, 1) else Kind.TABLE


def _is_whole(column: Values) -> bool:
    return column.dtype != object and not np.isnan(column).any()


def _count_values(column: Values) -> tuple[int, int]:
    """How many values a column has beside its commonest one, and how many of them are distinct."""
    _, counts = np.unique(column, return_counts=True)
    return len(column) - int(counts.max()), len(counts) - 1
