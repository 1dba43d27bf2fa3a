"""Real tables to measure on, never to train on: how they are split, and what is measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

POOL_ROWS, TEST_NORMALS, LARGEST_SHARE, FEWEST_ANOMALIES = 500, 350, 0.15, 6
Values = NDArray[np.float32]
Flags = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """A pool (N, d) and test rows (n, d) with the truth (N,), (n,) of 1 and 0 about them."""

    name: str
    pool: Values
    pool_truth: Flags
    test: Values
    test_truth: Flags


def split(name: str, x: NDArray[np.floating], y: NDArray[np.integer]) -> Table:
    """A pool of 500 rows at most, with at most 15 % anomalies, and as many anomalies to test on."""
    rng = np.random.default_rng(0)
    odd, usual = rng.permutation(np.flatnonzero(y == 1)), rng.permutation(np.flatnonzero(y == 0))
    share = min(LARGEST_SHARE, len(odd) / len(y))
    n_odd = min(len(odd) // 2, max(FEWEST_ANOMALIES, int(POOL_ROWS * share)))
    n_usual = min(len(usual) // 2, POOL_ROWS - n_odd)
    pool = rng.permutation(np.concatenate([odd[:n_odd], usual[:n_usual]]))
    test = np.concatenate([odd[n_odd : 2 * n_odd], usual[n_usual : n_usual + min(n_usual, TEST_NORMALS)]])
    values, truth = x.astype(np.float32), y.astype(np.int64)
    return Table(name, values[pool], truth[pool], values[test], truth[test])


def read(place: Path) -> Iterator[Table]:
    """The tables of a folder of .npz files with X and y, or of one packed file."""
    if place.is_dir():
        for path in sorted(place.glob("*.npz")):
            with np.load(path) as file:
                yield split(path.stem, file["X"], file["y"])
        return
    with np.load(place) as packed:
        names = sorted({key.split("|")[0] for key in packed.files})
        for name in names:
            yield Table(name, *(packed[f"{name}|{part}"] for part in range(4)))


def pack(tables: Iterator[Table], path: Path) -> None:
    """Write the split tables as one file, to take along to another machine."""
    arrays: dict[str, Any] = {}
    for table in tables:
        parts = (table.pool, table.pool_truth, table.test, table.test_truth)
        arrays |= {f"{table.name}|{number}": part for number, part in enumerate(parts)}
    np.savez_compressed(path, **arrays)


def auroc(truth: Flags, scores: NDArray[np.floating]) -> float:
    """The chance that an anomaly scores above a normal row; ties count half. By numpy: a GPU machine may lack scipy."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    n_odd = int(truth.sum())
    return float((rank[truth == 1].sum() - n_odd * (n_odd + 1) / 2) / (n_odd * (len(truth) - n_odd)))


def average_precision(truth: Flags, scores: NDArray[np.floating]) -> float:
    """Mean precision at each step of recall, rows of equal score taken together."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(truth[order])
    last = np.append(np.diff(scores[order]) != 0, True)
    hits, n_taken = hits[last], np.flatnonzero(last) + 1
    return float((np.diff(hits, prepend=0) * hits / n_taken).sum() / truth.sum())
