"""Whatever holds rows and columns (numpy, pandas, polars, pyarrow, lists), read as one frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from soel.data.columns import DATES_ADVICE, Column, check_finite, read_categories, read_cells
from soel.errors import DataError, SchemaError


@dataclass(frozen=True)
class Frame:
    """Columns in order, each (N,): float64 with NaN for missing, or objects (str, None for missing).

    named: False for a plain array, whose columns are called x0, x1, ...
    """

    columns: Mapping[str, Column]
    named: bool

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())))

    def without(self, names: Collection[str]) -> Frame:
        """The frame less some columns."""
        kept = {name: column for name, column in self.columns.items() if name not in names}
        _check_shape(self.n_rows, len(kept))
        return Frame(kept, self.named)


def as_frame(X: Any, categorical: Collection[str] = ()) -> Frame:
    """Read X (N, d) as a frame. Columns named in `categorical` are categories even if they look like numbers.

    Truth values are the numbers 0 and 1. Dates have to be turned into numbers first.
    """
    if hasattr(X, "tocsr"):
        raise DataError("Sparse matrices are not supported, and X is one. Convert it with X.toarray().")
    try:
        native = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise SchemaError(f"Columns of X share a name ({error}). Give each column its own.") from error
    if isinstance(native, nw.LazyFrame):
        raise DataError("X is a lazy frame, which holds no rows yet. Call collect() on it first.")
    if isinstance(native, nw.DataFrame):
        return _from_table(native, categorical)
    return _from_array(_as_matrix(X), categorical)


def _from_array(matrix: NDArray[Any], categorical: Collection[str]) -> Frame:
    _check_shape(*matrix.shape)
    names = [f"x{position}" for position in range(matrix.shape[1])]
    return Frame({name: _read(name, matrix[:, at], name in categorical) for at, name in enumerate(names)}, named=False)


def _as_matrix(X: Any) -> NDArray[Any]:
    try:
        matrix = np.asarray(X)
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


def _from_table(table: nw.DataFrame[Any], categorical: Collection[str]) -> Frame:
    names, named = _names(table.columns)
    _check_shape(*table.shape)
    series = [table[:, position] for position in range(len(names))]
    return Frame(
        {name: _read_series(name, part, name in categorical) for name, part in zip(names, series, strict=True)},
        named,
    )


def _names(given: Sequence[Any]) -> tuple[list[str], bool]:
    n_text = sum(isinstance(name, str) for name in given)
    if not n_text:  # numbered columns are positions, not names
        return [f"x{position}" for position in range(len(given))], False
    if n_text < len(given):
        raise SchemaError("Some column names are text and some are not. Make all of them text.")
    return list(given), True


def _read_series(name: str, series: nw.Series[Any], categorical: bool) -> Column:
    dtype = series.dtype
    if dtype.is_temporal():
        raise SchemaError(f"Column {name!r} holds dates or times ({dtype}). {DATES_ADVICE}")
    if categorical or isinstance(dtype, nw.Categorical | nw.Enum):
        return read_categories(name, series.to_list())
    if dtype.is_numeric() or dtype == nw.Boolean:
        return check_finite(name, np.asarray(series.cast(nw.Float64).to_numpy(), np.float64))
    return read_cells(name, series.to_list())


def _read(name: str, cells: NDArray[Any], categorical: bool) -> Column:
    if cells.dtype.kind in "mM":
        raise SchemaError(f"Column {name!r} holds dates or times ({cells.dtype}). {DATES_ADVICE}")
    if categorical:
        return read_categories(name, cells.tolist())
    if cells.dtype.kind in "buif":
        return check_finite(name, cells.astype(np.float64))
    return read_cells(name, cells.tolist())


def _check_shape(n_rows: int, n_columns: int) -> None:
    shape = f"(shape=({n_rows}, {n_columns}))"
    if not n_rows:
        raise DataError(f"Found 0 sample(s) {shape} while a minimum of 1 is required. Give rows.")
    if not n_columns:
        raise DataError(f"Found 0 feature(s) {shape} while a minimum of 1 is required. Give columns.")
