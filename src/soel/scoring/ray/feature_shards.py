"""The features of the pool as Parquet files on shared storage: a worker reads the rows it owns, and no others."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as arrow
from pyarrow import parquet

from soel.ask.space import BLOCK_ROWS
from soel.errors import DataError
from soel.scoring.ray.storage import Storage
from soel.types import Floats

MANIFEST, COLUMN = "manifest.json", "features"
MOST_BLOCKS = 16  # of a file: 131,072 rows


class RowSource(Protocol):
    """Where the features come from. It can be sent to another machine."""

    def read(self, start: int, stop: int) -> Floats:
        """These rows (n, d)."""


@dataclass(frozen=True)
class FeatureShards:
    """All rows (N, d), `file_rows` of them in each file; owner: whose they are, so that no other's are taken."""

    storage: Storage
    owner: str
    n_rows: int
    n_features: int

    @property
    def file_rows(self) -> int:
        """Rows of a file: whole blocks, so that shards that begin with a file are cut as the whole pool is."""
        return BLOCK_ROWS * max(1, min(MOST_BLOCKS, self.n_rows // BLOCK_ROWS // 32))

    @property
    def n_blocks(self) -> int:
        """The smallest parts that can be in different shards."""
        return -(-self.n_rows // BLOCK_ROWS)

    @property
    def n_files(self) -> int:
        """How many files there are."""
        return -(-self.n_rows // self.file_rows)

    @property
    def is_ours(self) -> bool:
        """Whether what lies there is of this pool; files of another one must not be taken for it."""
        return self._read_manifest() == self._about

    def claim(self) -> None:
        """Say whose files will lie there, and remove those of another pool; what is no pool's is refused."""
        self.storage.clear({"owner", "n_rows", "n_features"} <= self._read_manifest().keys())
        self.storage.write(MANIFEST, json.dumps(self._about).encode())

    def missing(self) -> list[int]:
        """The numbers of the files that are not there."""
        return [number for number in range(self.n_files) if not self.storage.has(self.name(number))]

    def write(self, number: int, source: RowSource) -> None:
        """Write one file."""
        start = number * self.file_rows
        x = np.ascontiguousarray(source.read(start, min(start + self.file_rows, self.n_rows)), np.float32)
        column = arrow.FixedSizeListArray.from_arrays(arrow.array(x.ravel()), self.n_features)
        buffer = io.BytesIO()
        table = arrow.table({COLUMN: column})
        parquet.write_table(table, buffer, row_group_size=BLOCK_ROWS, compression="none", use_dictionary=False)
        self.storage.write(self.name(number), buffer.getvalue())

    def read(self, start: int, stop: int) -> Floats:
        """Rows (n, d); of each file only the blocks that hold some of them are read."""
        return np.concatenate(list(self._pieces(start, stop)))

    def bounds(self, n_shards: int) -> list[int]:
        """Where each of so many shards begins, at whole blocks, and where the last ends."""
        starts = (self.n_blocks * number // n_shards * BLOCK_ROWS for number in range(n_shards))
        return [*starts, self.n_rows]

    def name(self, number: int) -> str:
        """The name of a file."""
        return f"part-{number:06d}.parquet"

    def _read_manifest(self) -> dict[str, object]:
        """What is written down of the files that lie there; nothing where that is not ours."""
        try:
            manifest = json.loads(self.storage.read(MANIFEST)) if self.storage.has(MANIFEST) else {}
        except ValueError:
            return {}
        return manifest if isinstance(manifest, dict) else {}

    @property
    def _about(self) -> dict[str, object]:
        return {"owner": self.owner, "n_rows": self.n_rows, "n_features": self.n_features, "block": BLOCK_ROWS}

    def _pieces(self, start: int, stop: int) -> Iterator[Floats]:
        edges = range(start - start % self.file_rows, stop + self.file_rows, self.file_rows)
        for first, end in pairwise(edges):
            if first < stop:
                yield self._piece(first // self.file_rows, max(start - first, 0), min(stop, end) - first)

    def _piece(self, number: int, start: int, stop: int) -> Floats:
        groups = list(range(start // BLOCK_ROWS, -(-stop // BLOCK_ROWS)))
        name = self.name(number)
        try:
            with self.storage.open(name) as file:
                column = parquet.ParquetFile(file).read_row_groups(groups, columns=[COLUMN]).column(0)
            x = column.combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, self.n_features)
        except (OSError, ValueError, arrow.ArrowException) as error:
            if isinstance(error, DataError):
                raise
            reason = (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
            raise DataError(
                f"{self.storage.where(name)} cannot be read: {reason}. Remove it, and the next command writes it again."
            ) from error
        skipped = groups[0] * BLOCK_ROWS
        if len(x) < stop - skipped:
            raise DataError(f"{self.storage.where(name)} has fewer rows than it should. Remove it and run again.")
        return np.asarray(x[start - skipped : stop - skipped])
