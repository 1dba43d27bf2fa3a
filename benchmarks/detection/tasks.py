"""A labelled table as a task: a contaminated pool to learn from, an expert who knows it, and test rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.types import ANOMALY, NORMAL, Floats, Labels, Rows
from soel_paper.catalogue import read_rows

FOLDERS = ("oddbench", "tables")  # of a data folder
POOL_ROWS, TEST_NORMALS, HIGHEST_SHARE, FEWEST_ANOMALIES = 500, 350, 0.15, 6
Questions = dict[tuple[int, bytes], Rows]


@dataclass(frozen=True)
class Task:
    """pool: (N, d) with its truth (N,), for the expert alone. test: (n, d) with its truth (n,).

    questions: those that a contestant chose, by their number and the labels known: a larger budget begins with them.
    """

    name: str
    pool: Floats
    pool_truth: NDArray[np.bool_]
    test: Floats
    test_truth: NDArray[np.bool_]
    questions: Questions = field(default_factory=dict)


@dataclass
class Expert:
    """Answers from the truth of the pool, and remembers what was asked."""

    truth: NDArray[np.bool_]
    questions: Questions = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)

    def ask(self, rows: Iterable[int]) -> Labels:
        """Labels (n,) of these rows, 1 for an anomaly."""
        at = [int(row) for row in rows]
        self.asked += at
        return np.where(self.truth[at], ANOMALY, NORMAL).astype(np.int8)

    @property
    def n_found(self) -> int:
        """How many of the rows asked about are anomalies."""
        return int(self.truth[self.asked].sum())


def find_tables(folders: Sequence[Path]) -> list[Path]:
    """The .npz files of these folders; of a data folder, those in its folders of tables."""
    found = []
    for folder in folders:
        inside = [folder / name for name in FOLDERS if (folder / name).is_dir()] or [folder]
        found += [path for place in inside for path in sorted(place.glob("*.npz"))]
    if not found:
        raise DataError(f"There are no .npz files in {', '.join(map(str, folders))}. Name a folder with --data-dir.")
    return found


def read_task(path: Path, seed: int = 0) -> Task:
    """At most half of the anomalies and 15 % of the pool, which has at most 500 rows; as many again for the test."""
    rows = read_rows(path)
    rng = np.random.default_rng(seed)
    anomalies = rng.permutation(np.flatnonzero(rows.is_anomaly))
    normals = rng.permutation(np.flatnonzero(~rows.is_anomaly))
    share = min(HIGHEST_SHARE, float(rows.is_anomaly.mean()))
    n_anomalies = min(len(anomalies) // 2, max(FEWEST_ANOMALIES, int(POOL_ROWS * share)))
    n_normals = min(len(normals) // 2, POOL_ROWS - n_anomalies)
    pool = rng.permutation(np.concatenate([anomalies[:n_anomalies], normals[:n_normals]]))
    more = normals[n_normals : n_normals + min(n_normals, TEST_NORMALS)]
    test = np.concatenate([anomalies[n_anomalies : 2 * n_anomalies], more])
    return Task(path.stem, rows.x[pool], rows.is_anomaly[pool], rows.x[test], rows.is_anomaly[test])
