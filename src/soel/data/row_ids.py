"""Ids of rows: labels are kept by id, so an id must not depend on where a row stands."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.data.columns import Column
from soel.data.frame import Frame
from soel.errors import DataError
from soel.validation import check_id, is_missing

Ids = NDArray[np.object_]
_DIGITS = 16
_TEXT_BYTES = 16
_BLOCK_ROWS = 65536  # bounds the extra memory


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


def given_ids(name: str, cells: Sequence[Any]) -> Ids:
    """Ids (N,) from a column that says them: one per row, none empty, none twice."""
    texts = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
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


def _digests(frame: Frame) -> Iterator[str]:
    parts = [_cell_bytes(column) for column in frame.columns.values()]
    for start in range(0, frame.n_rows, _BLOCK_ROWS):
        block = np.hstack([part[start : start + _BLOCK_ROWS] for part in parts])
        rows, width = block.tobytes(), block.shape[1]
        for at in range(0, len(rows), width):
            yield hashlib.sha256(rows[at : at + width]).hexdigest()[:_DIGITS]


def _cell_bytes(column: Column) -> NDArray[np.uint8]:
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
