"""Rows near the border whose neighbourhood has not been queried yet."""

from __future__ import annotations

import math

import numpy as np

from soel.ask.base import Need, Strategy, alarm_margin, certain, scale_to_unit
from soel.ask.space import Space
from soel.types import UNLABELLED, Floats, PoolView, Selection


class MarginDiverse(Strategy):
    """The smallest sum of the scaled margin and the share of the k nearest neighbours already queried.

    Kept per row: the radius of its k-th neighbour, never a list of neighbours.
    """

    needs = frozenset({Need.SCORES, Need.EMBEDDINGS, Need.CONTAMINATION})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, margin = Space(view.embeddings), scale_to_unit(alarm_margin(view).astype(np.float64))
        n_neighbours = math.ceil(len(view) / n_queries)
        radius = neighbour_radius(space, n_neighbours)
        free, covered = view.labels == UNLABELLED, np.zeros(len(view))
        for row in view.labelled:
            covered += space.distances(int(row)) <= radius
        rows: list[int] = []
        for _ in range(n_rows):
            cost = 0.5 + covered / (2 * n_neighbours) + margin
            row = int(np.where(free, cost, np.inf).argmin())
            rows.append(row)
            free[row] = False
            covered += space.distances(row) <= radius
        return certain(rows)


def neighbour_radius(space: Space, n_neighbours: int) -> Floats:
    """Distance (N,) of each row to its k-th nearest row, itself not counted; estimated on a sample for large N."""
    radius = np.empty(len(space), np.float32)
    for block, distances in space.pairs():
        share = distances.shape[1] / len(space)
        position = min(max(round(n_neighbours * share), 1), distances.shape[1] - 1)
        radius[block] = np.partition(distances, position, axis=1)[:, position]
    return radius
