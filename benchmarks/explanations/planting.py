"""Wrong values planted into rows of a table: what a good explanation must name is then known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soel import SOEL
from soel.explain.groups import measure_likeness
from soel.types import Floats, Rows
from soel_paper.catalogue import read_rows

TABLES = (
    "annthyroid",
    "cardio",
    "cover",
    "ionosphere",
    "letter",
    "mammography",
    "pima",
    "satellite",
    "thyroid",
    "vowels",
    "wbc",
)
CORRELATED = 0.7
POOL_ROWS, PLANTED_ROWS = 2000, 200
TOP_SHARE = 0.05  # of the pool: a row that scores as high is in the top
NEAREST, FARTHEST = 3.0, 8.0  # deviations that a wrong value lies away from the column's middle


@dataclass(frozen=True)
class Task:
    """pool: (N, d) rows that the detector learns from. rows: (n, d) others, all normal, to plant values into."""

    name: str
    pool: Floats
    rows: Floats


@dataclass(frozen=True)
class Planted:
    """Rows (n, d) with wrong values in some columns (n, k) each, and as they were before (n, d)."""

    rows: Floats
    before: Floats
    columns: Rows


def read_task(folder: Path, name: str) -> Task:
    """A table cut in two; constant columns are left out."""
    found, rng = read_rows(folder / "tables" / f"{name}.npz"), np.random.default_rng(0)
    normal = rng.permutation(np.flatnonzero(~found.is_anomaly))
    held = normal[: min(PLANTED_ROWS, len(normal) // 2)]
    others = rng.permutation(np.setdiff1d(np.arange(len(found.x)), held))[:POOL_ROWS]
    telling = found.x[others].std(axis=0) > 0
    return Task(name, found.x[others][:, telling], found.x[held][:, telling])


def plant(task: Task, groups: list[tuple[int, ...]], rng: np.random.Generator) -> Planted:
    """One wrong value in each row: in the columns of a group drawn for it. Those of a group move as they correlate."""
    middle, spread = np.median(task.pool, axis=0), task.pool.std(axis=0)
    columns = np.array([groups[at] for at in rng.integers(len(groups), size=len(task.rows))])
    moves = rng.choice([-1, 1], len(task.rows)) * rng.uniform(NEAREST, FARTHEST, len(task.rows))
    rows, correlation = task.rows.copy(), np.atleast_2d(np.corrcoef(task.pool.T))
    for place in range(columns.shape[1]):
        at = columns[:, place]
        signs = np.where(correlation[columns[:, 0], at] < 0, -1, 1)
        rows[np.arange(len(rows)), at] = middle[at] + moves * signs * spread[at]
    return Planted(rows, task.rows, columns)


def correlated_pairs(pool: Floats) -> list[tuple[int, ...]]:
    """Pairs of columns that hang together closely: two of each group of at most three that all hang together."""
    likeness = measure_likeness(pool, np.arange(pool.shape[1]))
    close = np.triu(likeness, 1)
    first, second = np.nonzero(close >= CORRELATED)
    groups: list[tuple[int, ...]] = [(column,) for column in range(pool.shape[1])]
    for at in np.argsort(-close[first, second], kind="stable"):
        one, other = (next(each for each in groups if column in each) for column in (first[at], second[at]))
        joined = tuple(sorted({*one, *other}))
        if one != other and len(joined) <= 3 and likeness[np.ix_(one, other)].min() >= CORRELATED:
            groups = [each for each in groups if each not in (one, other)] + [joined]
    return [group[:2] for group in sorted(groups) if len(group) > 1]


def decides(detector: SOEL, planted: Planted) -> np.ndarray:
    """Which rows (n,) are alarms, in the top, with the planted values and neither without: these alone decide."""
    top = max(detector.threshold_, float(np.quantile(detector.detector_.fitted.pool_scores, 1 - TOP_SHARE)))
    return np.asarray((detector.anomaly_score(planted.rows) > top) & (detector.anomaly_score(planted.before) <= top))
