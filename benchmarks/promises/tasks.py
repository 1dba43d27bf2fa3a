"""Labelled tables as pools with a wanted share of anomalies, and new rows beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.types import Floats, Kind
from soel_paper.catalogue import read_rows

SHARES = (0.01, 0.05, 0.15, 0.4)
POOL_ROWS, FEWEST_ROWS, NEW_NORMALS, FEWEST_NEW = 300, 120, 600, 100
PAPER = ("breastw", "ionosphere", "pima", "satellite")
VECTORS = ("CIFAR10_0", "MVTec-AD_cable", "MVTec-AD_carpet")


@dataclass(frozen=True)
class Source:
    """A file of labelled rows. group: what kind of table it is, for figures of each kind."""

    path: Path
    group: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def kind(self) -> Kind:
        return Kind.VECTORS if self.group == "feature vectors" else Kind.TABLE


@dataclass(frozen=True)
class Cell:
    """One session of a table: the share of anomalies in its pool, and how many labels were given."""

    share: float
    budget: int


@dataclass(frozen=True)
class Task:
    """pool: (N, d) with its truth (N,), for the simulated expert and for the judge. new: (n, d) with its truth (n,)."""

    source: Source
    share: float
    pool: Floats
    truth: NDArray[np.bool_]
    new: Floats
    new_truth: NDArray[np.bool_]


def find_sources(data: Path) -> list[Source]:
    """The tables of a data folder, and three sets of feature vectors."""
    paths = [*sorted((data / "oddbench").glob("*.npz")), *sorted((data / "tables").glob("*.npz"))]
    paths += [path for name in VECTORS if (path := data / "embeddings" / f"{name}.npz").exists()]
    if not paths:
        raise DataError(f"There are no tables in {data}. Name a folder that has some with --data-dir.")
    return [Source(path, _group(path)) for path in paths]


def task_of(source: Source, share: float) -> Task | None:
    """A pool with this share of anomalies, and new rows; None where the file has too few of them."""
    rows = read_rows(source.path)
    rng = np.random.default_rng([0, int(1000 * share)])
    odd = rng.permutation(np.flatnonzero(rows.is_anomaly))
    usual = rng.permutation(np.flatnonzero(~rows.is_anomaly))
    most = min(POOL_ROWS, int(len(odd) / share), int((len(usual) - FEWEST_NEW) / (1 - share)))
    n_odd = round(share * most)
    n_usual = most - n_odd
    if most < FEWEST_ROWS or n_odd < 1:
        return None
    pool = rng.permutation(np.concatenate([odd[:n_odd], usual[:n_usual]]))
    normals = usual[n_usual : n_usual + NEW_NORMALS]
    n_new = min(len(odd) - n_odd, round(len(normals) * share / (1 - share)))
    new = np.concatenate([odd[n_odd : n_odd + n_new], normals])
    return Task(source, share, rows.x[pool], rows.is_anomaly[pool], rows.x[new], rows.is_anomaly[new])


def _group(path: Path) -> str:
    if path.parent.name == "embeddings":
        return "feature vectors"
    if path.stem in PAPER:
        return "paper"
    return {"odd": "semantic", "ovr": "one class against the rest"}.get(path.stem.split("_")[0], "other ODDS")
