"""Whatever holds rows and columns (numpy, pandas, polars, pyarrow, lists), read as one frame."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataWarning
from soel.tables.column import Values, as_categories, check_finite
from soel.tables.kinds import kind_of
from soel.tables.missing import find_codes
from soel.tables.raw_table import RawTable, as_matrix, check_shape, from_array, raw_from
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.schema import Schema, decide
from soel.types import Kind

LOST = (
    "Whole numbers beyond 2^53 are rounded to 16 digits. Give ids as text, and large numbers less their smallest one."
)
MANY_COLUMNS = 300  # feature vectors of networks are wider than this, but so are some tables
DISTINCT_SHARE = 0.5  # of the values beside a column's commonest: 0.74 and more on ResNet features, 0.23 on pixels
LOOKED_AT = 1000  # rows


@dataclass(frozen=True)
class Frame:
    """Columns in order, each (N,): float64, datetime64[us] or objects (see `column.Values`).

    named: False for a plain array, whose columns are called x0, x1, ...
    schema: how the columns were read, None for an array of numbers, which needs none unless it has codes for missing
        values. Columns that are left out are in the schema only.
    """

    columns: Mapping[str, Values]
    named: bool
    schema: Schema | None = None

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def used(self) -> Mapping[str, Values]:
        unused = frozenset() if self.schema is None else self.schema.unused
        return {name: values for name, values in self.columns.items() if name not in unused}

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

    def take(self, rows: NDArray[Any]) -> Frame:
        return Frame({name: column[rows] for name, column in self.columns.items()}, self.named, self.schema)


def read_frame(X: Any, options: ReadOptions = DEFAULT, schema: Schema | None = None) -> Frame:
    """Read X (N, d) as a frame: as the schema of a pool says, or as its cells and the options say."""
    matrix = X if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray) else None
    if matrix is not None and matrix.dtype.kind in "buif" and options == DEFAULT and _has_only_numbers(schema):
        matrix = as_matrix(matrix)
        cells = {f"x{at}": from_array(f"x{at}", matrix[:, at]) for at in range(matrix.shape[1])}
        if any(column.lost for column in cells.values()):
            warnings.warn(LOST, DataWarning, stacklevel=2)
        if schema is None and any(find_codes(column.values) for column in cells.values()):
            return frame_from(RawTable(cells, named=False))
        return Frame({name: check_finite(name, column.values) for name, column in cells.items()}, named=False)
    raw = raw_from(X)
    return frame_from(raw, options) if schema is None else frame_by(raw, schema)


def frame_from(raw: RawTable, options: ReadOptions = DEFAULT) -> Frame:
    """A frame whose schema is decided by its own cells: that of a pool."""
    schema, known = decide(raw, options)
    kept = [column for column in schema.columns if kind_of(column).is_kept]
    columns = {c.name: known[c.name] if c.name in known else kind_of(c).parse(c, raw.cells[c.name]) for c in kept}
    check_shape(raw.n_rows, len(columns))
    checked = {n: check_finite(n, values) if values.dtype == np.float64 else values for n, values in columns.items()}
    return Frame(checked, raw.named, schema)


def frame_by(raw: RawTable, schema: Schema) -> Frame:
    """A frame read as the pool was. Columns that the pool did not have are kept as text, for others to refuse."""
    by_name = schema.by_name
    if raw.named and any(name in by_name for name in raw.cells):
        columns = {
            name: kind_of(by_name[name]).parse(by_name[name], cells) if name in by_name else cells.as_words()
            for name, cells in raw.cells.items()
            if name not in by_name or kind_of(by_name[name]).is_kept
        }
    elif len(raw.cells) == len(schema.columns):
        pairs = zip(schema.columns, raw.cells.items(), strict=True)
        columns = {name: kind_of(each).parse(each, cells) for each, (name, cells) in pairs}
    else:  # of another width, which the encoder says
        columns = {name: cells.as_words() for name, cells in raw.cells.items()}
    check_shape(raw.n_rows, len(columns))
    return Frame(columns, raw.named, replace(schema, layout=raw.layout, n_rows=raw.n_rows, n_duplicates=0))


def extra_columns(names: Collection[str], schema: Schema) -> tuple[str, ...]:
    """Names of columns that the pool did not have and that are left out; none where columns go by their places."""
    known = schema.by_name
    is_named = not schema.strict and any(name in known for name in names)
    return tuple(name for name in names if name not in known) if is_named else ()


def without_extras(raw: RawTable, schema: Schema) -> RawTable:
    """The columns that the pool had, with a note that says which others are left out; a strict schema refuses those."""
    extras = extra_columns(raw.cells, schema) if raw.named else ()
    if not extras:
        return raw
    layout = replace(raw.layout, notes=(*raw.layout.notes, note_on_extras(extras)))
    return RawTable({name: cells for name, cells in raw.cells.items() if name not in extras}, raw.named, layout)


def note_on_extras(names: Sequence[str]) -> str:
    """What is said of columns that the pool did not have."""
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    what = "A column that the pool does not have is" if len(names) == 1 else "Columns that the pool does not have are"
    return f"{what} left out: {shown}."


def find_kind(frame: Frame, wanted: str = "auto") -> Kind:
    """The kind that the user says, or the one that the rows look like: a table, unless they look like feature vectors.

    Feature vectors have many columns, all of them numbers, none missing. A column may be zero for most rows, but the
    values that are not hardly repeat: flags, counts and codes are a table's.
    """
    kind = Kind.read(wanted)
    if kind is not None:
        return kind
    columns = list(frame.columns.values())
    if len(columns) <= MANY_COLUMNS or any(column.dtype == object or np.isnan(column).any() for column in columns):
        return Kind.TABLE
    n_values = n_distinct = 0
    for column in columns:  # beside its commonest value
        counts = np.unique(column[:LOOKED_AT], return_counts=True)[1]
        n_values, n_distinct = n_values + int(counts.sum() - counts.max()), n_distinct + len(counts) - 1
    return Kind.VECTORS if n_distinct > DISTINCT_SHARE * max(n_values, 1) else Kind.TABLE


def _has_only_numbers(schema: Schema | None) -> bool:
    return schema is None or all(kind_of(column).is_as_stored(column) for column in schema.columns)
