"""Ids of rows: labels are kept by id, so an id must not depend on where a row stands."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.checks import check_id, is_missing
from soel.errors import DataError
from soel.tables.column import Values
from soel.tables.frame import Frame

Ids = NDArray[np.object_]
_DIGITS = 16
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_TEXT_BYTES = 16
_ODD = np.uint64(0x9E3779B97F4A7C15)
_BLOCK_ROWS, _BLOCK_BYTES = 65536, 1 << 24  # bound the extra memory


def content_ids(frame: Frame) -> Ids:
    """Ids (N,) from the values: 16 hex digits, then the number of the occurrence among equal rows.

    The same row has the same id in every file, wherever it stands.
    """
    seen: Counter[str] = Counter()
    ids = np.empty(frame.n_rows, object)
    for row, digest in enumerate(_digests(frame)):
        ids[row] = f"{digest}-{seen[digest]}"
        seen[digest] += 1
    return ids


def find_repeats(frame: Frame) -> NDArray[np.bool_]:
    """Which rows (N,) repeat an earlier one in all columns but ids."""
    used = frame.used
    rows = np.zeros(frame.n_rows, np.uint64) if used else np.arange(frame.n_rows, dtype=np.uint64)
    for values in used.values():
        rows = _mix(rows, cell_digests(values))
    repeated = np.ones(frame.n_rows, bool)
    repeated[np.unique(rows, return_index=True)[1]] = False
    return repeated


def cell_digests(values: Values) -> NDArray[np.uint64]:
    """Numbers (N,) that are equal where two cells of a column are; words are counted as they come."""
    if values.dtype == object:
        codes: dict[Any, int] = {}
        return np.fromiter((codes.setdefault(cell, len(codes)) for cell in values), np.uint64, len(values))
    if values.dtype == np.float64:
        values = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, and no negative zero
    return np.ascontiguousarray(values).view(np.uint64)


def _mix(rows: NDArray[np.uint64], digest: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers of rows (N,) with those of one more column mixed in."""
    mixed = (digest ^ (digest >> np.uint64(29))) * _ODD
    return (rows ^ (rows >> np.uint64(32))) * _ODD + (mixed ^ (mixed >> np.uint64(32)))


def check_ids(name: str, cells: Sequence[Any]) -> Ids:
    """Ids (N,) from a column that says them: one per row, none empty, none twice."""
    texts = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
    _check_characters(name, texts)
    if "" in texts:
        raise DataError(
            f"The id column {name!r} is empty in row {texts.index('')} ({texts.count('')} in all). "
            "Give every row an id."
        )
    if len(set(texts)) < len(texts):
        example, count = Counter(texts).most_common(1)[0]
        raise DataError(
            f"The id column {name!r} is not unique: {example!r} stands in {count} rows. Give every row its own id."
        )
    return np.array([check_id(text) for text in texts], object)


def _check_characters(name: str, texts: Sequence[str]) -> None:
    """An id goes to terminals, files and pages, so it holds no character that one of them would obey."""
    odd = next((row for row, text in enumerate(texts) if _CONTROL.search(text)), None)
    if odd is not None:
        raise DataError(
            f"The id column {name!r} holds a control character in row {odd} ({texts[odd]!r}). Remove it from the data."
        )


def _digests(frame: Frame) -> Iterator[str]:
    parts = [_cell_bytes(column) for column in frame.columns.values()]
    n_rows = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // sum(part.shape[1] for part in parts)))
    for start in range(0, frame.n_rows, n_rows):
        block = np.hstack([part[start : start + n_rows] for part in parts])
        rows, width = block.tobytes(), block.shape[1]
        for at in range(0, len(rows), width):
            yield hashlib.sha256(rows[at : at + width]).hexdigest()[:_DIGITS]


def _cell_bytes(column: Values) -> NDArray[np.uint8]:
    """The cells of a column as bytes (N, width), equal for equal values on every machine."""
    if column.dtype == object:
        texts = {cell: _text_bytes(cell) for cell in set(column.tolist())}
        joined = b"".join([texts[cell] for cell in column.tolist()])
        return np.frombuffer(joined, np.uint8).reshape(len(column), _TEXT_BYTES)
    if column.dtype.kind == "M":
        return (
            np.ascontiguousarray(column.astype("datetime64[us]").astype("<i8")).view(np.uint8).reshape(len(column), 8)
        )
    values = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, and no negative zero
    return np.ascontiguousarray(values, "<f8").view(np.uint8).reshape(len(column), 8)


def _text_bytes(cell: str | None) -> bytes:
    text = b"" if cell is None else b"=" + cell.encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()[:_TEXT_BYTES]
