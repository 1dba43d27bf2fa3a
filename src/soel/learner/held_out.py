"""Scores of pool rows as if they were new: from a detector that was fitted without them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soel.detectors.base import Detector
from soel.types import ANOMALY, Floats, Labels, Rows

FOLDS = 10
MOST_ROWS = 2000  # of a larger pool so many are left out at once, and only they are scored
OPTIMISM = 0.6  # of its spread: how much lower a network scores rows that it was trained on (docs/contamination.md)
SUSPECTED = 0.5  # of the chance that a row is an anomaly: how far it is left out of what stands for normal rows
COUNTERWEIGHT = 0.25  # of the labelled anomalies (docs/contamination.md)
LARGE = 20_000  # rows from which one row more or less makes no difference


def score_held_out(
    fit: Callable[[Floats, Labels], Detector], rows: Floats, labels: Labels, seed: int
) -> tuple[Rows, Floats]:
    """Positions (m,) in the pool and their scores (m,). Labelled anomalies stay in: they stand for nothing normal.

    fit: a detector from rows and their labels.
    """
    rng = np.random.default_rng([seed, len(rows)])
    open_rows = rng.permutation(np.flatnonzero(labels != ANOMALY))
    if len(rows) > MOST_ROWS:
        parts = [open_rows[:MOST_ROWS]]
    else:
        parts = [part for part in np.array_split(open_rows, FOLDS) if len(part)]
    scores = [_score_part(fit, rows, labels, part) for part in parts]
    return np.concatenate(parts), np.concatenate(scores)


def counterweight(scores: Floats) -> Floats:
    """The highest of the labelled anomalies' scores (a,), a quarter of them rounded up, to stay among normal rows.

    Questions go to what is suspicious in the pool, and the answers teach the detector about just these rows: new rows
    score a little higher than the others, and would raise more alarms than is said.
    """
    n_stay = int(np.ceil(COUNTERWEIGHT * len(scores)))
    return np.sort(scores)[len(scores) - n_stay :]


def _score_part(fit: Callable[[Floats, Labels], Detector], rows: Floats, labels: Labels, part: Rows) -> Floats:
    kept = np.ones(len(rows), bool)
    kept[part] = False
    return fit(rows[kept], labels[kept]).score(rows[part])
