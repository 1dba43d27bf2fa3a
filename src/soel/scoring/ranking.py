"""Ranks of more scores than fit into memory: both lie in files, a bounded number of rows is sorted at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from soel.types import Floats, Rows

BUCKET_ROWS = 1 << 22  # sorted at a time
CHUNK_ROWS = 1 << 20  # looked at at a time
_SAMPLE_ROWS = 1 << 16


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
