"""Scores of a stream on their way: one file per part in a hidden folder, so that a killed command goes on where it was.

Each file is written whole, synced and renamed. The folder says which model and which data it is about; for others it is
begun anew. Scores and ranks of all rows lie in files, too: a bounded number of rows is sorted at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from soel.errors import DataError, SessionError
from soel.files import (
    MARK,
    is_marked,
    mark,
    parse_json,
    private_folder,
    remove_marked,
    replacing,
    take_lock,
    write_whole,
)
from soel.tables.batches import Stream
from soel.tables.codes import Tally, add_tallies, tally_from_json, tally_json
from soel.tables.parts import PART_ROWS, DataPart
from soel.types import Floats, Rows

MANIFEST, LOCK = "manifest.json", ".lock"
TALLY = b"soel tally"
BATCH_ROWS = 4_096
MOST_RUNS = 64  # each opens every part once
BUCKET_ROWS = 1 << 22  # sorted at a time
CHUNK_ROWS = 1 << 20  # looked at at a time
_SAMPLE_ROWS = 1 << 16


@dataclass(frozen=True)
class ScoredPart:
    """What a model says of one part. ids: an Arrow array of text (n,). tally: what its columns hold, if counted."""

    number: int
    ids: Any
    scores: Floats
    tally: Tally | None = None

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return len(self.ids)


@dataclass(frozen=True)
class ScoredParts:
    """The folder of one scoring."""

    folder: Path
    stream: Stream

    def missing(self) -> list[DataPart]:
        """The parts that are still to be scored, in order."""
        return [part for part in self.stream.parts if not self._place(part).exists()]

    def keep(self, scored: ScoredPart) -> None:
        """Keep a part: its scores and ids, and the tally of its columns in the same file."""
        part, scores = self.stream.parts[scored.number], np.asarray(scored.scores, np.float64)
        _check_finite(part, scores)
        if not scored.n_rows == len(scores) == part.n_rows:
            raise DataError(f"{len(scores)} scores were given for the {part.n_rows} rows of part {part.number}.")
        table = import_module("pyarrow").table({"id": scored.ids, "score": scores})
        if scored.tally is not None:
            table = table.replace_schema_metadata({TALLY: json.dumps(tally_json(scored.tally))})
        with replacing(self._place(part)) as file:
            import_module("pyarrow.parquet").write_table(table, file, use_dictionary=False)

    def read(self, part: DataPart) -> Any:
        """A finished part: an Arrow table of id and score."""
        return import_module("pyarrow.parquet").ParquetFile(self._place(part)).read()

    def scores(self) -> Iterator[Floats]:
        """The scores of all parts, in order."""
        for part in self.stream.parts:
            yield self.read(part).column("score").to_numpy()

    def tally(self) -> Tally | None:
        """What the columns of all parts hold together; None where they were not counted."""
        parquet = import_module("pyarrow.parquet")
        kept = (parquet.ParquetFile(self._place(part)).schema_arrow.metadata for part in self.stream.parts)
        found = (tally_from_json(json.loads(notes[TALLY])) if notes and TALLY in notes else None for notes in kept)
        return reduce(add_tallies, found)

    def _place(self, part: DataPart) -> Path:
        return self.folder / f"part-{part.number:06d}.parquet"


@contextmanager
def open_scored_parts(folder: Path, stream: Stream, model: str) -> Iterator[ScoredParts]:
    """The parts that a model has scored; gone when all is done, kept where something goes wrong.

    model: its fingerprint. One command at a time works on a folder.
    """
    private_folder(folder)  # what lies there is believed, so it must be ours
    lock = take_lock(folder / LOCK)
    if lock is None:
        raise SessionError(
            f"Another command is writing {folder.name.strip('.')} already; wait for it, or choose another <<out>>."
        )
    try:
        _begin(folder, {"model": model, "data": stream.fingerprint, "parts": _layout(stream)})
        yield ScoredParts(folder, stream)
        remove_marked(folder)
    finally:
        lock.release()


def _begin(folder: Path, about: dict[str, str]) -> None:
    """Make the folder be about this scoring: what is there of another one is removed."""
    manifest = folder / MANIFEST
    if manifest.exists() and _read(manifest) == about:
        mark(folder)
        return
    inside = [path for path in folder.iterdir() if path.name not in (LOCK, MARK)]
    if inside and not is_marked(folder):
        raise SessionError(f"{folder} holds files that soel did not write; move it away, or choose another <<out>>.")
    mark(folder)
    for path in inside:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    write_whole(manifest, json.dumps(about).encode())


def _read(manifest: Path) -> Any:
    try:
        return parse_json(manifest.read_text(encoding="utf-8"))
    except ValueError:
        return None


def _layout(stream: Stream) -> str:
    """A digest of how the rows are cut and named."""
    cut = [(part.file, part.first_row, part.n_rows) for part in stream.parts]
    return hashlib.sha256(json.dumps([stream.id_column, cut]).encode()).hexdigest()


def _check_finite(part: DataPart, scores: Floats) -> None:
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise DataError(
            f"The score of row {part.first_row + int(bad[0])} of {part.file} is {scores[bad[0]]} ({len(bad)} in this "
            "part). Look at its values, and at what the pool holds."
        )


def write_scores(path: Path, scores: Iterable[Floats]) -> Floats:
    """Write scores one after the other as float64; returns all of them, mapped from the file."""
    with path.open("wb") as file:
        for piece in scores:
            file.write(np.ascontiguousarray(piece, np.float64).data)
        n_rows = file.tell() // 8
    return np.memmap(path, np.float64, "r", shape=(n_rows,))


def write_ranks(path: Path, scores: Floats) -> Rows:
    """The ranks (N,) of finite scores, mapped from the file: 1 is the highest; equal ones are ranked in row order."""
    ranks = _reserve(path, len(scores))
    next_rank, above = 1, np.inf
    for edge in _edges(scores):
        next_rank = _rank_between(scores, ranks, edge, above, next_rank)
        next_rank = _rank_equal(scores, ranks, edge, next_rank)
        above = edge
    _rank_between(scores, ranks, -np.inf, above, next_rank)
    return ranks


def _reserve(path: Path, n_rows: int) -> Rows:
    """A mapped file whose space is taken on the disk now: a disk that fills up later would end the process."""
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, 8 * n_rows)
        file.truncate(8 * n_rows)
    return np.memmap(path, np.int64, "r+", shape=(n_rows,))


def _edges(scores: Floats) -> list[float]:
    """Falling values with about BUCKET_ROWS scores between two of them; the highest and lowest are among them."""
    sample = np.sort(scores[:: max(1, len(scores) // _SAMPLE_ROWS)])
    n_buckets = -(-len(scores) // BUCKET_ROWS)
    at = np.linspace(0, len(sample) - 1, n_buckets + 1).astype(np.int64)
    return [float(value) for value in np.unique(sample[at])[::-1]]


def _chunks(scores: Floats) -> Iterator[tuple[int, Floats]]:
    for start in range(0, len(scores), CHUNK_ROWS):
        yield start, np.asarray(scores[start : start + CHUNK_ROWS])


def _rank_between(scores: Floats, ranks: Rows, low: float, high: float, next_rank: int) -> int:
    """Rank the scores strictly between two values; returns the next rank."""
    rows: list[Rows] = []
    values: list[Floats] = []
    for start, chunk in _chunks(scores):
        inside = np.flatnonzero((chunk > low) & (chunk < high))
        rows.append(inside + start)
        values.append(chunk[inside])
    where = np.concatenate(rows)
    order = np.argsort(-np.concatenate(values), kind="stable")
    own = np.empty(len(where), np.int64)
    own[order] = np.arange(next_rank, next_rank + len(where))
    ranks[where] = own
    return next_rank + len(where)


def _rank_equal(scores: Floats, ranks: Rows, value: float, next_rank: int) -> int:
    """Rank the scores of one value in row order: however many there are, nothing is sorted."""
    for start, chunk in _chunks(scores):
        rows = np.flatnonzero(chunk == value)
        ranks[start + rows] = np.arange(next_rank, next_rank + len(rows))
        next_rank += len(rows)
    return next_rank


def merge_by_rank(folder: Path, tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Arrow tables with a column `rank`, together 1 to n_rows, as tables in the order of that column.

    Each is sorted by itself and written as a file of small batches. Then each run of ranks is taken from all files
    together: in memory are one table, or one run and a batch of each.
    """
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
