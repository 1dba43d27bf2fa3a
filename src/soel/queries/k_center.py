"""Farthest-first traversal: the greedy cover."""

from __future__ import annotations

from typing import Literal

import numpy as np

from soel.queries.base import Strategy, certain
from soel.queries.distances import Space
from soel.queries.draw import softmax_draw
from soel.types import UNLABELLED, PoolView, Selection


class KCenter(Strategy):
    """Always the row farthest from everything queried.

    first: 'uniform' draws the first row, 'central' takes the one nearest to the pool's mean.
    """

    def __init__(self, first: Literal["uniform", "central"] = "uniform") -> None:
        self.first = first

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, free = Space(view.embeddings), view.labels == UNLABELLED
        closest = space.nearest(view.labelled)
        rows: list[int] = []
        for _ in range(n_rows):
            farthest = np.where(free, closest, -np.inf)
            row = self._first(space, rng) if np.isinf(closest[0]) else int(farthest.argmax())
            rows.append(row)
            free[row] = False
            if len(rows) < n_rows:  # nobody asks for the distances after the last draw
                np.minimum(closest, space.distances(row), out=closest)
        return certain(rows)

    def _first(self, space: Space, rng: np.random.Generator) -> int:
        if self.first == "central":
            return int(space.squares.argmin())  # the space is centred on the mean
        return softmax_draw(np.zeros(len(space)), int(rng.integers(2**63)), 0)[0]
