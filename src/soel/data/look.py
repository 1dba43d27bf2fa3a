"""A look at a table before anything is computed: how it would be read, and what is odd about it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.data.columns import Column
from soel.data.frame import Raw
from soel.data.places import is_address
from soel.data.reading.cells import Cells
from soel.data.reading.decide import decide
from soel.data.reading.kinds import SILENT, Reading, TableReading
from soel.data.reading.options import DEFAULT, ReadOptions
from soel.data.tables import copy_as_parquet, read_raw
from soel.errors import LabelError
from soel.validation import check_labels

FEW_LABELS = 10
LEAK = 0.995  # of a column that ranks the known labels by itself
_ODD = np.uint64(0x9E3779B97F4A7C15)


def look_at(
    data: str | Path, id_column: str | None = None, label_column: str | None = None, options: ReadOptions = DEFAULT
) -> TableReading:
    """How a file would be read as a pool, with what is odd about its columns and rows."""
    aside = dict.fromkeys(name for name in (id_column, label_column) if name)
    if is_address(data):
        raw, columns = raw_from_address(str(data), aside, options)
    else:
        raw, columns = read_raw(Path(data), aside, options)
    labels = None if label_column is None else columns[label_column]
    return inspect(raw, options, labels)


def raw_from_address(address: str, aside: Mapping[str, None], options: ReadOptions) -> tuple[Raw, dict[str, Any]]:
    """The columns of what a database gives, or of a table that lies elsewhere."""
    with tempfile.TemporaryDirectory(prefix="soel-look-") as folder:
        return read_raw(copy_as_parquet(address, Path(folder), options), aside, options)


def inspect(raw: Raw, options: ReadOptions = DEFAULT, labels: Any = None) -> TableReading:
    """The reading of these columns with repeated rows and columns, and with what gives the labels away."""
    reading, values = decide(raw.cells, options, raw.layout, raw.named)
    digests = {each.name: _digest(each, raw.cells, values) for each in reading.columns if each.kind not in SILENT}
    twins = _twins(digests)
    known = _known_labels(labels, raw.n_rows)
    leaks = {name for name, digest in digests.items() if _leaks(digest, values.get(name), known)}
    found = [_with(each, twins.get(each.name), each.name in leaks) for each in reading.columns]
    return replace(reading, columns=tuple(found), n_duplicates=_n_repeated(digests.values(), raw.n_rows))


def _with(reading: Reading, twin: str | None, leaks: bool) -> Reading:
    odd = list(reading.seen.oddities)
    if twin is not None:
        odd.append(f"the same as {twin!r}")
    if leaks:
        odd.append("tells the labels by itself: leave it out with --ignore if it is not known beforehand")
    return replace(reading, seen=replace(reading.seen, oddities=tuple(odd)))


def _digest(reading: Reading, cells: Mapping[str, Cells], values: Mapping[str, Column]) -> NDArray[np.uint64]:
    """Numbers (N,) that are equal where two cells of the column are."""
    if reading.name in values:
        return _numbered(values[reading.name])
    column = cells[reading.name].values
    if isinstance(column, np.ndarray):
        return _numbered(column)
    codes = column.dictionary_encode().indices.fill_null(-1)
    return _numbered(np.asarray(codes, np.int64))


def _numbered(column: Column) -> NDArray[np.uint64]:
    if column.dtype == np.float64:
        column = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, and no negative zero
    return np.ascontiguousarray(column).view(np.uint64)


def _combined(digests: Any) -> NDArray[np.uint64]:
    total: Any = np.uint64(0)
    for digest in digests:
        mixed = (digest ^ (digest >> np.uint64(29))) * _ODD
        total = (total ^ (total >> np.uint64(32))) * _ODD + (mixed ^ (mixed >> np.uint64(32)))
    return np.asarray(total)


def _n_repeated(digests: Any, n_rows: int) -> int:
    digests = list(digests)
    if not digests:
        return 0
    ordered = np.sort(_combined(digests))
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def _twins(digests: Mapping[str, NDArray[np.uint64]]) -> dict[str, str]:
    """Columns that repeat an earlier one, with its name."""
    first: dict[int, str] = {}
    twins = {}
    for name, digest in digests.items():
        key = hash(digest.tobytes())
        if key in first and np.array_equal(digests[first[key]], digest):
            twins[name] = first[key]
        else:
            first.setdefault(key, name)
    return {name: twin for name, twin in twins.items() if (digests[name] != digests[name][0]).any()}


def _known_labels(labels: Any, n_rows: int) -> NDArray[np.int8] | None:
    if labels is None:
        return None
    distinct, at = np.unique(["" if label is None else str(label) for label in labels], return_inverse=True)
    try:
        known = check_labels(distinct.tolist(), len(distinct))[at]
    except LabelError:
        return None
    enough = min((known == 0).sum(), (known == 1).sum()) >= FEW_LABELS
    return known if enough else None


def _leaks(digest: NDArray[np.uint64], numbers: Column | None, labels: NDArray[np.int8] | None) -> bool:
    """Whether a column ranks the known labels by itself: by its numbers, by its categories, or by where it is empty.

    digest: (N,), equal where cells are. numbers: the same as values, None where it has none.
    """
    if labels is None:
        return False
    known = labels >= 0
    is_anomaly = labels[known] == 1
    if numbers is None or numbers.dtype != np.float64:
        return _ranks(_rates_elsewhere(digest[known], is_anomaly), is_anomaly)
    values = numbers[known]
    missing = np.isnan(values)
    return _ranks(missing.astype(np.float64), is_anomaly) or _ranks(values[~missing], is_anomaly[~missing])


def _rates_elsewhere(cells: NDArray[np.uint64], is_anomaly: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of anomalies (n,) among the other rows with the same cell; among all rows where there is no other."""
    _, codes, counts = np.unique(cells, return_inverse=True, return_counts=True)
    n_anomalies = np.bincount(codes, is_anomaly)
    others = np.maximum(counts[codes] - 1, 1)
    return np.where(counts[codes] > 1, (n_anomalies[codes] - is_anomaly) / others, is_anomaly.mean())


def _ranks(values: NDArray[np.float64], is_anomaly: NDArray[np.bool_]) -> bool:
    """Whether values (n,) tell anomalies from the rest: their AUROC, in either direction."""
    odd, normal = values[is_anomaly], np.sort(values[~is_anomaly])
    if not len(odd) or not len(normal):
        return False
    below = np.searchsorted(normal, odd, "left") + np.searchsorted(normal, odd, "right")
    area = float(below.mean()) / (2 * len(normal))
    return max(area, 1 - area) >= LEAK
