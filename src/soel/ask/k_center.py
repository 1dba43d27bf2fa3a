"""Farthest-first traversal: the greedy cover."""

from __future__ import annotations

from typing import Literal

import numpy as np

from soel.ask.base import Need, Strategy, certain
from soel.ask.draw import draw_any
from soel.ask.space import Space
from soel.types import PoolView, Selection


class KCenter(Strategy):
    """Always the row farthest from everything queried.

    first: 'uniform' draws the first row, 'central' takes the one nearest to the mean of the pool (of a sample of it,
    where it is large).
    """

    needs = frozenset({Need.EMBEDDINGS})

    def __init__(self, first: Literal["uniform", "central"] = "uniform") -> None:
        self.first = first

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space = Space(view.embeddings)
        closest = space.nearest(view.labelled)
        closest[view.labelled] = -np.inf  # never taken; no distance is smaller
        rows: list[int] = []
        for _ in range(n_rows):
            if not len(view.labelled) and not rows:
                row = self._first(space, rng)
            else:
                space.shrink(closest, [space.measure_row(row) for row in rows[-1:]])
                row = int(closest.argmax())
            rows.append(row)
            closest[row] = -np.inf
        return certain(rows)

    def _first(self, space: Space, rng: np.random.Generator) -> int:
        if self.first == "central":
            return int(space.squares.argmin())  # the space is centred on the mean
        return draw_any(len(space), int(rng.integers(2**63))).row
