"""k-means parallel (Bahmani et al.): a few passes over a very large pool instead of one per query."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Need, Strategy
from soel.ask.random import uniform
from soel.ask.space import Space
from soel.distances import cell_sizes
from soel.noise import gumbel
from soel.types import UNLABELLED, PoolView, Rows, Selection

ROUNDS = 5


class KMeansParallel(Strategy):
    """Oversamples rows in a few rounds by squared distance, then reduces them to the number asked for.

    The odds recorded are those of the final, weighted draws among the candidates; a reserve that is longer than these
    goes on with uniform draws.
    """

    needs = frozenset({Need.EMBEDDINGS})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, seed = Space(view.embeddings), int(rng.integers(2**63))
        candidates, weights = self._candidates(space, view, n_queries, seed)
        missing = n_queries - len(candidates)
        if missing > 0:  # a pool of few distinct points: fill up with any free rows
            others = np.setdiff1d(view.unlabelled, candidates)[:missing]
            candidates, weights = (
                np.concatenate([candidates, others]),
                np.concatenate([weights, np.ones(len(others))]),
            )
        drawn = _reduce(space, view, candidates, weights, min(n_rows, len(candidates)), seed)
        rest = uniform(np.setdiff1d(view.unlabelled, candidates), n_rows - len(drawn.rows), rng)
        return Selection(np.concatenate([drawn.rows, rest.rows]), np.concatenate([drawn.odds, rest.odds]))

    def _candidates(self, space: Space, view: PoolView, n_rows: int, seed: int) -> tuple[Rows, np.ndarray]:
        everyone, free = np.arange(len(space)), view.labels == UNLABELLED
        closest, picked = space.nearest(view.labelled), np.zeros(len(space), bool)
        if np.isinf(closest[0]):
            first = int(np.where(free, gumbel(seed, 0, everyone), -np.inf).argmax())
            picked[first] = True
            closest = space.distances(first)
        for turn in range(1, ROUNDS + 1):
            cost = np.where(free & ~picked, closest.astype(np.float64) ** 2, 0)
            if cost.sum() == 0:
                break
            logits = np.log(np.maximum(cost, 1e-300)) + gumbel(seed, turn, everyone)
            fresh = np.argsort(-np.where(cost > 0, logits, -np.inf))[:n_rows]
            fresh = fresh[cost[fresh] > 0]
            picked[fresh] = True
            for row in fresh:
                np.minimum(closest, space.distances(int(row)), out=closest)
        candidates = np.flatnonzero(picked & free)
        distances = (space.distances(int(row)) for row in candidates)
        return candidates, cell_sizes(distances, len(space)).astype(np.float64)


def _reduce(space: Space, view: PoolView, candidates: Rows, weights: np.ndarray, n_rows: int, seed: int) -> Selection:
    """Weighted k-means++ among the candidates."""
    closest = space.nearest(view.labelled)[candidates].astype(np.float64)
    left, rows, odds = np.ones(len(candidates), bool), [], []
    for draw in range(n_rows):
        reach = np.where(np.isinf(closest), 1.0, closest**2)
        mass = np.where(left, weights * reach, 0)
        mass = mass if mass.sum() > 0 else left.astype(np.float64)
        chances = mass / mass.sum()
        with np.errstate(divide="ignore"):
            index = int((np.log(chances) + gumbel(seed, 1000 + draw, candidates)).argmax())
        rows.append(candidates[index])
        odds.append(chances[index])
        left[index] = False
        np.minimum(closest, space.distances(int(candidates[index]))[candidates], out=closest)
    return Selection(np.array(rows, np.int64), np.array(odds))
