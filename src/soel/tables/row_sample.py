"""Random thinning: a uniform sample of a stream's rows, small enough to be a pool.

Which rows are drawn depends on the seed and on their numbers alone, so not on how the stream is cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soel.numeric import gumbel
from soel.tables.arrow import pa, pq
from soel.tables.location import column_of
from soel.tables.parquet import with_notes
from soel.tables.streams import Stream
from soel.types import Counted, Progress, Rows

DRAW = 1 << 32  # rounds number their draws from 0 on, so that no round uses the same noise
_KEYS_AT_ONCE = 1 << 20


def draw_rows(n_rows: int, n_drawn: int, seed: int) -> Rows:
    """`n_drawn` of the numbers below `n_rows` in rising order, any set as likely as any other; O(n_drawn) memory."""
    if n_drawn >= n_rows:
        return np.arange(n_rows)
    rows, keys = np.empty(0, np.int64), np.empty(0)
    for start in range(0, n_rows, _KEYS_AT_ONCE):
        more = np.arange(start, min(start + _KEYS_AT_ONCE, n_rows))
        rows, keys = np.concatenate([rows, more]), np.concatenate([keys, gumbel(seed, DRAW, more)])
        if len(rows) > n_drawn:
            kept = np.argpartition(-keys, n_drawn - 1)[:n_drawn]
            rows, keys = rows[kept], keys[kept]
    return np.sort(rows)


def write_sample(stream: Stream, rows: Rows, path: Path, progress: Progress | None = None) -> str:
    """Write these rows of a stream (in rising order) as one Parquet file in one pass; returns its id column."""
    n_read = 0

    def tell(n_rows: int) -> None:
        nonlocal n_read
        n_read += n_rows
        if progress is not None:
            progress(n_read, stream.n_rows)

    draw = DrawPart(stream, rows)
    return join_sample(stream, [draw(part.number, tell) for part in stream.parts], path)


@dataclass(frozen=True)
class DrawnPart:
    """What was drawn of a part. table: its rows as an Arrow table, None where none was drawn."""

    number: int
    n_rows: int
    table: Any


@dataclass(frozen=True)
class DrawPart:
    """Draws these rows from one part after the other. It can be sent to another process."""

    stream: Stream
    rows: Rows

    def __call__(self, number: int, tell: Counted) -> DrawnPart:
        """Draw from the part of this number. tell: is told how many rows were read."""
        stream, part, table = self.stream, self.stream.parts[number], None
        first, last = np.searchsorted(self.rows, [part.first_row, part.first_row + part.n_rows])
        if first < last:
            inside, pieces = self.rows[first:last], []
            for first_row, batch in stream.batches(part):
                at = inside[(inside >= first_row) & (inside < first_row + len(batch))] - first_row
                pieces.append(_take(stream, batch, first_row, at, _id_column(stream)))
            table = pa.concat_tables(pieces, promote_options="permissive")
        tell(part.n_rows)
        return DrawnPart(number, part.n_rows, table)


def join_sample(stream: Stream, parts: Iterable[DrawnPart], path: Path) -> str:
    """Write what was drawn from the parts, in their order, as one Parquet file; returns its id column."""
    tables = [part.table for part in parts if part.table is not None]
    whole = pa.concat_tables(tables, promote_options="permissive")
    pq.write_table(with_notes(whole, stream.notes), path)
    return _id_column(stream)


def _id_column(stream: Stream) -> str:
    """The stream's own, or a name that it does not use."""
    if stream.id_column is not None:
        return stream.id_column
    name = "row"
    while name in stream.all_columns:
        name = f"{name} number"
    return name


def _take(stream: Stream, batch: Any, first_row: int, at: Rows, id_column: str) -> Any:
    """Some rows of a batch as an Arrow table: the cells as they are written, so that they are read as the rest is."""
    ids, aside = stream.names_of(batch, first_row)
    rows = pa.array(at)
    taken: dict[str, Any] = {id_column: ids.take(rows)}
    taken |= {name: column_of(batch, name).take(rows) for name in stream.features}
    return pa.table(taken | {name: aside[name].take(rows) for name in stream.exclude if name != id_column})
