"""Rows of many parts in the order of their ranks, of which only some are in memory at once.

Each part is sorted by itself and written as a file of small batches. Then each run of ranks is taken from all parts
together: a part's rows of a run lie side by side in its file. In memory are one part, or one run and a batch a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.tables.batches import PART_ROWS

BATCH_ROWS = 4_096
MOST_RUNS = 64  # each opens every part once


def merge_by_rank(folder: Path, tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Arrow tables with a column `rank`, together 1 to n_rows, as tables in the order of that column."""
    parts = [_Sorted.write(folder / f"sorted-{number:06d}.arrow", table) for number, table in enumerate(tables)]
    run = max(PART_ROWS, -(-n_rows // MOST_RUNS))
    for last in range(run, n_rows + run, run):
        pieces = [piece for part in parts for piece in part.take(last)]
        yield import_module("pyarrow").concat_tables(pieces).sort_by("rank").combine_chunks()
    for part in parts:
        part.path.unlink()


@dataclass
class _Sorted:
    """A part in the order of its ranks, and how far it was taken already."""

    path: Path
    n_batches: int
    batch: int = 0
    row: int = 0

    @classmethod
    def write(cls, path: Path, table: Any) -> _Sorted:
        arrow = import_module("pyarrow")
        with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table.sort_by("rank").combine_chunks(), max_chunksize=BATCH_ROWS)
        with arrow.OSFile(str(path)) as file:
            return cls(path, arrow.ipc.open_file(file).num_record_batches)

    def take(self, last: int) -> Iterator[Any]:
        """The next rows, up to this rank."""
        arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        with arrow.OSFile(str(self.path)) as file:
            reader = arrow.ipc.open_file(file)
            while self.batch < self.n_batches:
                batch = reader.get_batch(self.batch).slice(self.row)
                n = compute.sum(compute.less_equal(batch.column("rank"), last)).as_py()
                if n:
                    yield arrow.Table.from_batches([batch.slice(0, n)])
                if n < len(batch):
                    self.row += n
                    return
                self.batch, self.row = self.batch + 1, 0
