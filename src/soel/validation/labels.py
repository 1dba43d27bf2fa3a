"""Labels from the codes and words that people write, and what counts as a missing cell."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import LabelError
from soel.types import LABEL_WORDS, Label

LABEL_CODES = "1 or 'anomaly', 0 or 'normal', -1, NaN, empty or 'unlabelled'"
_CODES = {float(label): label for label in Label}
_MISSING_TYPES = {"NAType", "NaTType"}  # pandas' markers, told by name so that pandas need not be imported
_TURNED_ROUND = {"1", "-1", "1.0", "-1.0"}
_N_SHOWN = 5


def check_labels(y: Any, n_rows: int) -> NDArray[np.int8]:
    """Labels (n_rows,) of 1 anomaly, 0 normal, -1 not labelled, from the codes and words people write.

    None means that nothing is labelled. A column vector is taken as it is meant.
    """
    if y is None:
        return np.full(n_rows, -1, np.int8)
    cells = label_cells(y)
    if len(cells) != n_rows:
        raise LabelError(
            f"y holds {len(cells)} labels for {n_rows} rows. Give one label per row, -1 where there is none."
        )
    labels = _read_numbers(cells) if cells.dtype.kind in "buif" else _read_cells(cells)
    _check_direction(cells, labels)
    return labels


def is_missing(cell: Any) -> bool:
    """Whether a cell says 'no value': None, NaN, or the markers NA and NaT."""
    if cell is None or type(cell).__name__ in _MISSING_TYPES:
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return is_number(cell) and math.isnan(cell)


def is_number(cell: Any) -> bool:
    """Whether a cell is a real number of any library, Decimal and bool included."""
    return isinstance(cell, Real | np.bool_) or type(cell).__name__ == "Decimal"


def label_cells(y: Any) -> NDArray[Any]:
    """The cells (n,) of a list, array or series of labels."""
    import narwhals.stable.v2 as nw  # here, so that checking a name costs no data frames

    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_numpy()
    try:
        cells = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    except ValueError as error:
        raise LabelError(f"y cannot be read as a list of labels: {error}. Give one label per row.") from error
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells.ravel()
    if cells.ndim != 1:
        raise LabelError(f"y should be a 1d array, got an array of shape {cells.shape} instead.")
    if cells.dtype.kind == "c":
        raise LabelError(f"Complex data not supported: y holds complex numbers. Use {LABEL_CODES}.")
    return cells


def _read_numbers(cells: NDArray[Any]) -> NDArray[np.int8]:
    values = cells.astype(np.float64)
    values[np.isnan(values)] = -1
    unknown = ~np.isin(values, list(_CODES))
    if unknown.any():
        raise _unknown_labels(np.unique(values[unknown]).tolist(), int(unknown.sum()))
    return values.astype(np.int8)


def _read_cells(cells: NDArray[Any]) -> NDArray[np.int8]:
    # A number of numpy's cannot be compared with a Decimal; one of Python's can.
    plain = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells.tolist()]
    try:
        codes = {cell: _code(cell) for cell in set(plain)}
    except TypeError as error:
        raise LabelError(f"y holds things that are not labels: {error}. Use {LABEL_CODES}.") from error
    strange = [cell for cell, code in codes.items() if code is None]
    if strange:
        n_unknown = sum(codes[cell] is None for cell in plain)
        raise _unknown_labels(sorted(strange, key=repr), n_unknown)
    return np.array([codes[cell] for cell in plain], np.int8)


def _code(cell: Any) -> int | None:
    if is_missing(cell):
        return -1
    if is_number(cell):
        return _CODES.get(float(cell))
    word = str(cell).strip().lower()
    if not word:
        return Label.UNLABELLED
    if word in LABEL_WORDS:
        return LABEL_WORDS[word]
    try:
        number = float(word)  # codes that went through a text file
    except ValueError:
        return None
    return -1 if math.isnan(number) else _CODES.get(number)


def _unknown_labels(strange: list[Any], n_unknown: int) -> LabelError:
    shown = ", ".join(repr(cell) for cell in strange[:_N_SHOWN])
    more = ", ... and more" if len(strange) > _N_SHOWN else ""
    return LabelError(f"Unknown label type: {n_unknown} labels in y are {shown}{more}. Use {LABEL_CODES}.")


def _check_direction(cells: NDArray[Any], labels: NDArray[np.int8]) -> None:
    n_ones = int((labels == 1).sum())
    if 2 * n_ones <= len(labels) or (labels == 0).any() or not (labels == -1).any():
        return
    # Words and missing values cannot be scikit-learn's codes, so only literal -1 and 1 are suspicious.
    if {str(cell).strip() for cell in cells.tolist()} <= _TURNED_ROUND:
        raise LabelError(
            f"y holds only -1 and 1, and {n_ones} of {len(labels)} are 1: these look like scikit-learn's "
            "outlier codes, where -1 is the outlier. Here 1 is an anomaly, 0 normal and -1 not labelled: "
            "convert with np.where(y == -1, 1, 0)."
        )
