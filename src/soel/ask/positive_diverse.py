"""Anomalous rows that are also far from those queried before."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Need, Strategy, certain, scale_to_unit
from soel.ask.space import Space
from soel.types import UNLABELLED, PoolView, Selection


class PositiveDiverse(Strategy):
    """The largest sum of the scaled score and the scaled distance to the nearest queried row."""

    needs = frozenset({Need.SCORES, Need.EMBEDDINGS})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, scores = Space(view.embeddings), scale_to_unit(np.asarray(view.scores, np.float64))
        shortest, spread = space.shortest(), space.diameter() - space.shortest()
        free, closest = view.labels == UNLABELLED, space.nearest(view.labelled)
        rows: list[int] = []
        for _ in range(n_rows):
            gain = scores
            if np.isfinite(closest[0]):
                gain = scores + (closest - shortest) / (spread if spread > 0 else 1.0)
            row = int(np.where(free, gain, -np.inf).argmax())
            rows.append(row)
            free[row] = False
            np.minimum(closest, space.distances(row), out=closest)
        return certain(rows)
