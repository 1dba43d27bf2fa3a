"""Diverse queries, SOEL's own: each draw prefers rows far from everything queried so far (eq:query-prob)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from soel.ask.base import Need, Strategy
from soel.ask.draw import Drawn, draw_among, draw_any, join_draws
from soel.ask.space import Measure, Space
from soel.types import Floats, PoolView, Selection


class Diverse(Strategy):
    """Draws from softmax(h / temperature), h the distance to the nearest queried row over the pool's diameter.

    first: 'uniform' (the paper) or 'central' (smallest mean of exp(distance / temperature)), for the
    first row when nothing is labelled yet.
    """

    needs = frozenset({Need.EMBEDDINGS})

    def __init__(self, temperature: float = 0.01, first: Literal["uniform", "central"] = "uniform") -> None:
        self.temperature, self.first = temperature, first

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, seed = Space(view.embeddings), int(rng.integers(2**63))
        unit = (space.diameter() or 1.0) * self.temperature
        closest = space.nearest(view.labelled)
        closest[view.labelled] = -np.inf  # never drawn; no distance is smaller
        rows: list[int] = []
        odds: list[float] = []
        for draw in range(n_rows):
            if not len(view.labelled) and not rows:
                row, chance = self._first(space, unit, seed)
            else:
                placed = [space.measure_row(row) for row in rows[-1:]]
                drawn = join_draws(draw_in_blocks(space, closest, placed, unit, seed, draw))
                row, chance = drawn.row, drawn.odds
            rows.append(row)
            odds.append(chance)
            closest[row] = -np.inf
        return Selection(np.array(rows, np.int64), np.array(odds))

    def _first(self, space: Space, unit: float, seed: int) -> tuple[int, float]:
        if self.first == "central":
            return most_central(space, unit), 1.0
        return draw_any(len(space), seed).row, 1 / len(space)


class GradientDiverse(Diverse):
    """The diverse rule on gradients of the last layer instead of embeddings (BADGE)."""

    needs = frozenset({Need.GRADIENTS, Need.CONTAMINATION})


def draw_in_blocks(
    space: Space, closest: Floats, placed: Sequence[Measure], unit: float, seed: int, draw: int, start: int = 0
) -> list[Drawn | None]:
    """A draw from softmax(distance / unit) in each block, once distances (N,) have shrunk to those to what is placed.

    Logits are in float32: the ranges of h and of the temperature leave its digits to spare. start: of the space's rows
    in the pool.
    """
    scale = np.float32(1 / unit)
    return space.each_shrunk(
        closest, placed, lambda block: draw_among(closest[block] * scale, seed, draw, start + block.start)
    )


def most_central(space: Space, unit: float) -> int:
    """The row with the smallest mean of exp(distance / unit), in log space; over a sample when N is large."""
    reach = np.empty(len(space))
    for block, distances in space.pairs():
        reach[block] = logsumexp(distances.astype(np.float64) / unit, axis=1)
    return int(reach.argmin())
