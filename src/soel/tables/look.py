"""A look at a table before anything is computed: how it would be read, and what is odd about it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.checks import check_labels
from soel.errors import LabelError
from soel.tables.arrow import pa
from soel.tables.column import Values
from soel.tables.frame import Frame, frame_from
from soel.tables.ids import cell_bytes, find_repeats
from soel.tables.open import read_raw
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.schema import Schema
from soel.tables.text_files import inner_suffix, unpacking_or_plain

FEW_LABELS = 10
START_BYTES = 1 << 23  # of a packed file that is only begun to be unpacked
LEAK = 0.995  # of a column that ranks the known labels by itself


def look_at(
    data: str | Path, id_column: str | None = None, label_column: str | None = None, options: ReadOptions = DEFAULT
) -> Schema:
    """How a file would be read as a pool, with what is odd about its columns and rows."""
    raw, columns = read_raw(data, dict.fromkeys(name for name in (id_column, label_column) if name), options)
    labels = None if label_column is None else columns[label_column]
    schema = inspect_frame(frame_from(raw, options), labels)
    assert schema is not None
    return schema


def look_at_start(
    data: Path, id_column: str | None = None, label_column: str | None = None, options: ReadOptions = DEFAULT
) -> Schema:
    """How the first lines of a packed file would be read: all of it would take long to unpack."""
    with tempfile.TemporaryDirectory(prefix="soel-look-") as folder:
        with unpacking_or_plain(data, options.max_unpacked) as file:
            start = _read_lines(file)
        path = Path(folder) / f"{Path(data.stem).stem}{inner_suffix(data)}"
        path.write_bytes(start)
        return look_at(path, id_column, label_column, options)


def _read_lines(file: Any) -> bytes:
    """The first whole lines of a file, about START_BYTES of them; a line goes on while quotation marks are open."""
    content = b""
    while len(content) < START_BYTES and (piece := file.read(START_BYTES - len(content))):
        content += piece
    end = len(content)
    while len(content) >= START_BYTES and (end := content.rfind(b"\n", 0, end)) > 0:
        if not content.count(b'"', 0, end) % 2:
            return content[: end + 1]
    return content


def inspect_frame(frame: Frame, labels: Any = None) -> Schema | None:
    """The schema with repeated rows and columns, and with what gives the labels away; None for an array of numbers.

    Of rows that were left out because they repeat earlier ones, the number is told.
    """
    if frame.schema is None:
        return None
    known, used = _known_labels(labels, frame.n_rows), frame.used
    first, found = dict[bytes, str](), []
    for column in frame.schema.columns:
        values, odd = used.get(column.name), list(column.seen.oddities)
        if values is not None:
            same_as = first.setdefault(sha256(cell_bytes(values).data).digest(), column.name)
            if same_as != column.name and column.seen.n_distinct + bool(column.seen.n_missing) > 1:
                odd.append(f"the same as {same_as!r}")
            if known is not None and _leaks(values, known):
                odd.append("tells the labels by itself: leave it out with <<ignore>> if it is not known beforehand")
        found.append(replace(column, seen=replace(column.seen, oddities=tuple(odd))))
    n_repeated = frame.schema.n_rows - frame.n_rows or int(find_repeats(frame).sum())
    return replace(frame.schema, columns=tuple(found), n_duplicates=n_repeated)


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


def _leaks(values: Values, labels: NDArray[np.int8]) -> bool:
    """Whether a column ranks the known labels by itself: by its numbers, by its categories, or by where it is empty."""
    values, is_anomaly = values[labels >= 0], labels[labels >= 0] == 1
    if values.dtype != np.float64:
        cells = pa.array(values).dictionary_encode(null_encoding="encode").indices.to_numpy()
        return _area(_rates_elsewhere(cells, is_anomaly), is_anomaly) >= LEAK
    missing = np.isnan(values)
    return _ranks(missing.astype(np.float64), is_anomaly) or _ranks(values[~missing], is_anomaly[~missing])


def _rates_elsewhere(cells: NDArray[np.int32], is_anomaly: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The share of anomalies (n,) among the other rows with the same cell; among all rows where there is no other."""
    _, codes, counts = np.unique(cells, return_inverse=True, return_counts=True)
    n_anomalies = np.bincount(codes, is_anomaly)
    others = np.maximum(counts[codes] - 1, 1)
    return np.where(counts[codes] > 1, (n_anomalies[codes] - is_anomaly) / others, is_anomaly.mean())


def _ranks(values: NDArray[np.float64], is_anomaly: NDArray[np.bool_]) -> bool:
    """Whether values (n,) tell anomalies from the rest, in either direction."""
    area = _area(values, is_anomaly)
    return max(area, 1 - area) >= LEAK


def _area(values: NDArray[np.float64], is_anomaly: NDArray[np.bool_]) -> float:
    """The AUROC of values (n,); a half where there is nothing to compare."""
    odd, normal = values[is_anomaly], np.sort(values[~is_anomaly])
    if not len(odd) or not len(normal):
        return 0.5
    below = np.searchsorted(normal, odd, "left") + np.searchsorted(normal, odd, "right")
    return float(below.mean()) / (2 * len(normal))
