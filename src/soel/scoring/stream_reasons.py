"""Why the most anomalous rows of a stream score as they do: the parts that hold them are read once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from soel.tables.batches import Part
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.tables.streams import Stream
from soel.types import Floats, Rows

Tabulate = Callable[[Frame, Floats, Sequence[str]], Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class RowExplainer:
    """How rows of a stream are explained.

    names: of the columns that reasons become. tabulate: rows, the features (n, d) that they are encoded to and their
    ids, to these columns. count: how many rows are explained, the most anomalous ones, by the number of alarms and
    of all rows.
    """

    names: Sequence[str]
    tabulate: Tabulate
    count: Callable[[int, int], int]

    def explain(self, stream: Stream, encoder: Encoder, part: Part, rows: Rows) -> dict[str, Any]:
        """Columns of reasons of a part as Arrow arrays: null but for these of its rows (k,), in order."""
        cells: dict[str, list[Any]] = {name: [None] * part.n_rows for name in self.names}
        wanted = rows + part.first_row
        for block in stream.blocks(part) if len(rows) else ():
            own = wanted[(wanted >= block.first_row) & (wanted < block.first_row + block.n_rows)] - block.first_row
            if not len(own):
                continue
            frame = block.frame.take(own)
            found = self.tabulate(frame, encoder.encode(frame), [block.ids[int(row)].as_py() for row in own])
            for name in self.names:
                for row, cell in zip((own + block.first_row - part.first_row).tolist(), found[name], strict=True):
                    cells[name][row] = cell
        arrow = import_module("pyarrow")
        return {name: arrow.array(column, _type_of(name)) for name, column in cells.items()}


def _type_of(name: str) -> Any:
    """What a column of reasons holds: all parts must have the same types, also those where nothing is explained."""
    arrow = import_module("pyarrow")
    if name.endswith("_share"):
        return arrow.float64()
    return arrow.int64() if name.endswith(("_rank", "_rank_together")) else arrow.string()
