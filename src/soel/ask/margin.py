"""Rows near the assumed border between normal and anomalous."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Need, Strategy, alarm_margin, certain
from soel.types import PoolView, Selection


class Margin(Strategy):
    """Scores nearest to the (1 - contamination) quantile."""

    needs = frozenset({Need.SCORES, Need.CONTAMINATION})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        return certain(free[np.argsort(alarm_margin(view)[free], kind="stable")[:n_rows]])
