"""Batches: data larger than memory as independent parts, read ahead block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from soel.tables.arrow import pa

PART_ROWS = 262_144  # a part ends with the row group or block that reaches this
BLOCK_ROWS = 32_768  # what is in memory at once


@dataclass(frozen=True)
class DataPart:
    """A run of rows of one file, which can be read without the others: the unit of resuming and of sharding.

    number: its place in the stream. first_row: the number in the stream of its first row. start, stop: where it lies
    in the file, in the unit of the format: row groups, bytes or rows.
    """

    number: int
    file: str
    first_row: int
    n_rows: int
    start: int
    stop: int


class Format(Protocol):
    """How files of one kind are cut into parts and read. It can be sent to another process."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in order."""

    @property
    def parts(self) -> tuple[DataPart, ...]:
        """All parts, in order."""

    def batches(self, part: DataPart) -> Iterator[Any]:
        """The rows of a part in order, at most BLOCK_ROWS at once: Arrow tables, or arrays (n, d)."""


def column_of(batch: Any, name: str) -> Any:
    """One column of a batch as an Arrow array."""
    if isinstance(batch, np.ndarray):
        return pa.array(batch[:, int(name.removeprefix("x"))])
    return batch.column(name).combine_chunks()
