"""Uniform queries."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Strategy
from soel.types import PoolView, Selection


class Random(Strategy):
    """Every unlabelled row is equally likely."""

    needs = frozenset()

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return uniform(view.unlabelled, n_rows, rng)


def uniform(candidates: np.ndarray, n_rows: int, rng: np.random.Generator) -> Selection:
    """Rows drawn without replacement, each with one over the number of those left."""
    rows = rng.permutation(candidates)[:n_rows]
    return Selection(rows.astype(np.int64), 1 / (len(candidates) - np.arange(len(rows))))
