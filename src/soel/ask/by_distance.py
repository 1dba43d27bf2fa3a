"""Strategies that compare distances in the embedding: diverse, k-center, positive-distant and their relatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from soel.ask.space import Space
from soel.ask.strategy import Need, Strategy, alarm_margin, certain, scale_to_unit
from soel.errors import ConfigError
from soel.numeric import gumbel
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, PoolView, Selection

ENOUGH = 0.25  # share of anomalies among the labels, above which normal rows are worth more
LATER = 0.1  # of the tilt, for the rows of a selection after its first
SMALLEST = 1e-30  # a distance of which float32 can take the logarithm
TINY = 1e-3  # in units of a column's spread: copies of a labelled row keep a finite log distance


class Diverse(Strategy):
    """SOEL's own rule: draws from softmax(h / temperature) without replacement (eq:query-prob).

    h is the distance to the nearest queried row over the pool's diameter. first: 'uniform' (the paper) or 'central'
    (smallest mean of exp(distance / temperature)), for the first row when nothing is labelled yet.
    """

    needs = frozenset({Need.EMBEDDINGS})

    def __init__(self, temperature: float = 0.01, first: Literal["uniform", "central"] = "uniform") -> None:
        self.temperature, self.first = temperature, first

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, seed = Space(view.embeddings), int(rng.integers(2**63))
        unit = (space.diameter() or 1.0) * self.temperature
        closest = _distances_to_known(space, view)
        rows: list[int] = []
        odds: list[float] = []
        for draw in range(n_rows):
            if not len(view.labelled) and not rows:
                row, chance = self._first(view, space, unit, seed)
            else:
                space.shrink(closest, rows[-1:])
                row, chance = draw_row(self._logits(closest, unit), seed, draw)
            rows.append(row)
            odds.append(chance)
            closest[row] = -np.inf
        return Selection(np.array(rows, np.int64), np.array(odds))

    def _logits(self, closest: Floats, unit: float) -> Floats:
        """In float32: the ranges of h and of the temperature leave its digits to spare."""
        return np.asarray(closest * np.float32(1 / unit))

    def _first(self, view: PoolView, space: Space, unit: float, seed: int) -> tuple[int, float]:
        if self.first == "central":
            return _most_central(space, unit), 1.0
        return draw_row(np.zeros(len(space), np.float32), seed, 0)


class GradientDiverse(Diverse):
    """The diverse rule on gradients of the last layer instead of embeddings (BADGE)."""

    needs = frozenset({Need.GRADIENTS, Need.CONTAMINATION})


class KMeansPlusPlus(Diverse):
    """The seeding of k-means++: draws with odds in proportion to the squared distance to the nearest queried row.

    first: 'uniform' (Arthur and Vassilvitskii) or 'largest', the embedding of the largest norm, for the first row when
    nothing is labelled yet.
    """

    def __init__(self, first: Literal["uniform", "largest"] = "uniform") -> None:
        super().__init__()
        self.start = first

    def _logits(self, closest: Floats, unit: float) -> Floats:
        known = closest < 0  # -inf; a copy of a queried row keeps odds of its own, for a pool with nothing else left
        return np.where(known, closest, 2 * np.log(np.maximum(closest, np.float32(SMALLEST))))

    def _first(self, view: PoolView, space: Space, unit: float, seed: int) -> tuple[int, float]:
        if self.start == "largest":
            return int(np.linalg.norm(view.embeddings, axis=1).argmax()), 1.0
        return super()._first(view, space, unit, seed)


class KCenter(Strategy):
    """Farthest-first traversal, the greedy cover: always the row farthest from everything queried.

    first: 'uniform' draws the first row, 'central' takes the one nearest to the mean of the pool (of a sample of it,
    where it is large).
    """

    needs = frozenset({Need.EMBEDDINGS})

    def __init__(self, first: Literal["uniform", "central"] = "uniform") -> None:
        self.first = first

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space = Space(view.embeddings)
        closest = _distances_to_known(space, view)
        rows: list[int] = []
        for _ in range(n_rows):
            if not len(view.labelled) and not rows:
                row = self._first(space, rng)
            else:
                space.shrink(closest, rows[-1:])
                row = int(closest.argmax())
            rows.append(row)
            closest[row] = -np.inf
        return certain(rows)

    def _first(self, space: Space, rng: np.random.Generator) -> int:
        if self.first == "central":
            return int(space.squares.argmin())  # the space is centred on the mean
        return draw_row(np.zeros(len(space), np.float32), int(rng.integers(2**63)), 0)[0]


class PositiveDiverse(Strategy):
    """The largest sum of the scaled score and the scaled distance to the nearest queried row."""

    needs = frozenset({Need.SCORES, Need.EMBEDDINGS})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, scores = Space(view.embeddings), scale_to_unit(np.asarray(view.scores, np.float64))
        shortest, spread = space.shortest(), space.diameter() - space.shortest()

        def gain(closest: Floats, _: int) -> Floats:
            if not np.isfinite(closest[0]):
                return scores
            return np.asarray(scores + (closest - shortest) / (spread if spread > 0 else 1.0))

        return _take_best(space, view, n_rows, gain)


class PositiveDistant(Strategy):
    """The largest log distance to the nearest labelled row plus `tilt` times the score in standard deviations.

    Sequential: scores come from a detector that was updated with every label so far. A larger tilt finds more
    anomalies and teaches less. balanced, for goal 'learn': the tilt falls while more than a quarter of the labels are
    anomalies, to 0 at three quarters, and then favours normal rows; rows of a selection after its first, which do
    not know its label, mostly keep apart. All this was chosen on tables (benchmarks/choices.md).
    """

    needs = frozenset({Need.SCORES, Need.EMBEDDINGS})
    is_sequential = True

    def __init__(self, tilt: float = 1.0, balanced: bool = True) -> None:
        if not tilt > 0:
            raise ConfigError(f"The tilt towards suspicious rows must be above 0, got {tilt}.")
        self.tilt, self.balanced = tilt, balanced

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        space, scores = Space(view.embeddings), np.asarray(view.scores, np.float64)
        spread = scores.std()
        tilt = self.tilt * (_balance(view.labels) if self.balanced else 1.0)
        first = tilt * (scores - scores.mean()) / (spread if spread > 0 else 1.0)
        later = LATER * first if self.balanced else first
        unit = np.sqrt(view.embeddings.shape[1])

        def gain(closest: Floats, n_taken: int) -> Floats:
            worth = later if n_taken else first
            return np.asarray(worth + np.log(closest / unit + TINY)) if np.isfinite(closest[0]) else worth

        return _take_best(space, view, n_rows, gain)


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


def draw_row(logits: Floats, seed: int, draw: int) -> tuple[int, float]:
    """A row drawn from softmax(logits), the one with the largest logit plus Gumbel noise, and its odds."""
    keys = gumbel(seed, draw, np.arange(len(logits)))
    keys += logits
    row = int(keys.argmax())
    weights = np.exp(logits - logits.max())
    return row, float(weights[row] / weights.sum(dtype=np.float64))


def _most_central(space: Space, unit: float) -> int:
    """The row with the smallest mean of exp(distance / unit), in log space; over a sample when N is large."""
    reach = np.empty(len(space))
    for block, distances in space.pairs():
        reach[block] = logsumexp(distances.astype(np.float64) / unit, axis=1)
    return int(reach.argmin())


def _distances_to_known(space: Space, view: PoolView) -> Floats:
    """Distances (N,) to the nearest labelled row; -inf for labelled rows, which are never taken."""
    closest = space.nearest(view.labelled)
    closest[view.labelled] = -np.inf
    return closest


def _take_best(space: Space, view: PoolView, n_rows: int, gain: Callable[[Floats, int], Floats]) -> Selection:
    """Greedily the unlabelled row with the largest gain (N,) of: distances (N,) to what is known, rows taken so far."""
    free, closest = view.labels == UNLABELLED, space.nearest(view.labelled)
    rows: list[int] = []
    for n_taken in range(n_rows):
        row = int(np.where(free, gain(closest, n_taken), -np.inf).argmax())
        rows.append(row)
        free[row] = False
        np.minimum(closest, space.distances(row), out=closest)
    return certain(rows)


def _balance(labels: Labels) -> float:
    """The factor of the tilt: 1 while few labels are anomalies, 0 at three quarters, at least -0.5."""
    n_labels, n_found = int((labels != UNLABELLED).sum()), int((labels == ANOMALY).sum())
    if not n_labels:
        return 1.0
    found = (n_found + 0.5) / (n_labels + 1)
    return min(1.0, 1 - 2 * (found - ENOUGH))
