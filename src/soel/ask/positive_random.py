"""Uniform queries among the upper half of the scores."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Need, Strategy
from soel.ask.random import uniform
from soel.types import PoolView, Selection


class PositiveRandom(Strategy):
    """Every unlabelled row of the top half is equally likely; the lower half follows when that is used up."""

    needs = frozenset({Need.SCORES})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        by_score = free[np.argsort(-view.scores[free], kind="stable")]
        half = -(-len(free) // 2)
        upper = uniform(by_score[:half], min(n_rows, half), rng)
        lower = uniform(by_score[half:], n_rows - len(upper.rows), rng)
        return Selection(np.concatenate([upper.rows, lower.rows]), np.concatenate([upper.odds, lower.odds]))
