"""Ids of rows: labels are kept by id, so an id must not depend on where a row stands."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
    if not frame.used:
        return np.zeros(frame.n_rows, bool)
    return np.array([not each.endswith("-0") for each in content_ids(replace(frame, columns=frame.used))])


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
    parts = [cell_bytes(column) for column in frame.columns.values()]
    n_rows = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // sum(part.shape[1] for part in parts)))
    for start in range(0, frame.n_rows, n_rows):
        block = np.hstack([part[start : start + n_rows] for part in parts])
        rows, width = block.tobytes(), block.shape[1]
        for at in range(0, len(rows), width):
            yield hashlib.sha256(rows[at : at + width]).hexdigest()[:_DIGITS]


def cell_bytes(column: Values) -> NDArray[np.uint8]:
    """The cells of a column as bytes (N, width), equal for equal values on every machine."""
    if column.dtype == object:
        texts = {cell: _text_bytes(cell) for cell in set(column.tolist())}
        joined = b"".join([texts[cell] for cell in column.tolist()])
        return np.frombuffer(joined, np.uint8).reshape(len(column), _TEXT_BYTES)
    if column.dtype.kind == "M":
        numbers = column.astype("datetime64[us]").astype("<i8")
    else:
        numbers = np.where(np.isnan(column), np.nan, column + 0.0).astype("<f8")  # one NaN, and no negative zero
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(len(column), 8)


def _text_bytes(cell: str | None) -> bytes:
    text = b"" if cell is None else b"=" + cell.encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()[:_TEXT_BYTES]
