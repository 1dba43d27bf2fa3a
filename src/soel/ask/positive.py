"""The most anomalous rows first."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Need, Strategy, certain
from soel.types import PoolView, Selection


class Positive(Strategy):
    """Top scores among the unlabelled."""

    needs = frozenset({Need.SCORES})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        return certain(free[np.argsort(-view.scores[free], kind="stable")[:n_rows]])
