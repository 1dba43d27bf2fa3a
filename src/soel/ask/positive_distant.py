"""Suspicious rows that are unlike those labelled already: made for one question at a time."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Need, Strategy, certain
from soel.ask.space import Space
from soel.errors import ConfigError
from soel.types import ANOMALY, UNLABELLED, Labels, PoolView, Selection

ENOUGH = 0.25  # share of anomalies among the answers, above which normal rows teach more
LATER = 0.1  # of the tilt, for the rows of a selection after its first
TINY = 1e-3  # in units of a column's spread: copies of a labelled row are not infinitely dull


class PositiveDistant(Strategy):
    """The largest log distance to the nearest labelled row plus `tilt` times the score in standard deviations.

    Scores come from a detector that has heard every answer so far, so that each question knows the last answer. A
    larger tilt finds more anomalies and teaches less. balanced, for those who want to learn: the tilt falls while more
    than a quarter of the answers are anomalies, to nothing at three quarters, and then turns to normal rows; rows of
    a selection after its first, which do not know its answer, mostly keep apart. All this was chosen on tables
    (benchmarks/choices.md).
    """

    needs = frozenset({Need.SCORES, Need.EMBEDDINGS, Need.ANSWERS})

    def __init__(self, tilt: float = 1.0, balanced: bool = True) -> None:
        if not tilt > 0:
            raise ConfigError(f"The tilt towards suspicious rows must be above 0, got {tilt}.")
        self.tilt, self.balanced = tilt, balanced

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, scores = Space(view.embeddings), np.asarray(view.scores, np.float64)
        spread = scores.std()
        tilt = self.tilt * (_balance(view.labels) if self.balanced else 1.0)
        suspicion = tilt * (scores - scores.mean()) / (spread if spread > 0 else 1.0)
        unit = np.sqrt(view.embeddings.shape[1])
        free, closest = view.labels == UNLABELLED, space.nearest(view.labelled)
        rows: list[int] = []
        for _ in range(n_rows):
            worth = LATER * suspicion if rows and self.balanced else suspicion
            gain = worth + np.log(closest / unit + TINY) if np.isfinite(closest[0]) else worth
            row = int(np.where(free, gain, -np.inf).argmax())
            rows.append(row)
            free[row] = False
            np.minimum(closest, space.distances(row), out=closest)
        return certain(rows)


def _balance(labels: Labels) -> float:
    """What the tilt is multiplied by: 1 while few answers are anomalies, 0 at three quarters, at least -0.5."""
    n_labels, n_found = int((labels != UNLABELLED).sum()), int((labels == ANOMALY).sum())
    if not n_labels:
        return 1.0
    found = (n_found + 0.5) / (n_labels + 1)
    return min(1.0, 1 - 2 * (found - ENOUGH))
