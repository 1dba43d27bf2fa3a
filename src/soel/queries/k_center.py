"""Farthest-first traversal: the greedy cover."""

from __future__ import annotations

import numpy as np

from soel.queries.base import Strategy, certain
from soel.queries.distances import Space
from soel.queries.draw import softmax_draw
from soel.types import UNLABELLED, PoolView, Selection


class KCenter(Strategy):
    """Always the row farthest from everything queried; the first one is drawn uniformly."""

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, free = Space(view.embeddings), view.labels == UNLABELLED
        closest = space.nearest(view.labelled)
        rows: list[int] = []
        for _ in range(n_rows):
            if np.isinf(closest[0]):
                row, _ = softmax_draw(np.zeros(len(view)), int(rng.integers(2**63)), 0)
            else:
                row = int(np.where(free, closest, -np.inf).argmax())
            rows.append(row)
            free[row] = False
            np.minimum(closest, space.distances(row), out=closest)
        return certain(rows)
