"""Whether made-up tasks are like real tables: how columns are made, and how well label-free scores tell anomalies."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from pretraining import tables, tasks
from soel.detect.incontext.row_features import PoolStats, RowFeatures

COLUMNS = ("distinct", "two values", "few values", "commonest", "skewed", "heavy", "bound", "unexplained")
SCORES = (
    *("5 neighbours", "3 % neighbours", "local density", "cleaned neighbours", "neighbours by rank"),
    *("Mahalanobis", "Mahalanobis, less ridge", "far out", "far out by rank", "tails", "three worst tails"),
    *("surprise", "worst surprise", "sparse cells", "rare values", "isolation"),
)
TASKS_AT_ONCE, ROWS, WIDEST = 4, 500, 40
FEWEST_ANOMALIES, HIGHEST_SHARE = 4, 0.2  # of a pool that is compared
Figures = NDArray[np.float64]


@dataclass(frozen=True)
class Likeness:
    """Of each pool: its columns on average (n, 8), and the AUROC of each label-free score (n, 16)."""

    columns: Figures
    scores: Figures


def of_tables(place: Path) -> Likeness:
    """The pools of real tables."""
    found = []
    for table in tables.read(place):
        stats, own = PoolStats.fit(torch.from_numpy(table.pool)[None], torch.Generator().manual_seed(0))
        found.append(_describe(stats, own, 0, table.pool_truth))
    return _together(found)


def of_tasks(n_batches: int, seed: int = 0) -> Likeness:
    """Tasks as they are drawn for training, of the size of a pool."""
    torch.manual_seed(seed)
    chance, found = random.Random(seed), []
    for batch in range(n_batches):
        width = int(math.exp(chance.uniform(math.log(2), math.log(WIDEST))))
        drawn = tasks.draw(TASKS_AT_ONCE, ROWS, width, torch.device("cpu"), chance)
        stats, own = PoolStats.fit(drawn.rows, torch.Generator().manual_seed(batch))
        for number, flags in enumerate(drawn.is_anomaly.long().numpy()):
            if flags.sum() >= FEWEST_ANOMALIES and flags.mean() <= HIGHEST_SHARE:
                found.append(_describe(stats, own, number, flags))
    return _together(found)


def show(real: Likeness, made_up: Likeness) -> str:
    """Mean, and the tenth and the ninetieth percentile of each, side by side."""
    lines = ["| | real tables | made-up tasks |", "|---|---|---|"]
    for name, a, b in zip(COLUMNS, real.columns.T, made_up.columns.T, strict=True):
        lines.append(f"| columns: {name} | {_words(a, 2)} | {_words(b, 2)} |")
    for name, a, b in zip(SCORES, 100 * real.scores.T, 100 * made_up.scores.T, strict=True):
        lines.append(f"| AUROC: {name} | {_words(a, 0)} | {_words(b, 0)} |")
    return "\n".join(lines)


def _describe(stats: PoolStats, own: RowFeatures, number: int, truth: tables.Flags) -> tuple[Figures, Figures]:
    columns = stats.columns[number].double().mean(0).numpy()
    scores = own.scores[number].double().numpy()
    return columns, np.array([tables.auroc(truth, score) for score in scores.T])


def _together(found: list[tuple[Figures, Figures]]) -> Likeness:
    return Likeness(np.array([columns for columns, _ in found]), np.array([scores for _, scores in found]))


def _words(values: Figures, digits: int) -> str:
    low, high = np.quantile(values, [0.1, 0.9])
    return f"{values.mean():.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
