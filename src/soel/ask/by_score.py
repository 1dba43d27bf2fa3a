"""Strategies that look at scores alone, or at nothing: random, highest, positive, positive-random and margin."""

from __future__ import annotations

import numpy as np

from soel.ask.strategy import Need, Strategy, alarm_margin, certain
from soel.types import PoolView, Selection

EVERY = 4  # questions, one of them is drawn by chance


class Random(Strategy):
    """Every unlabelled row is equally likely."""

    needs = frozenset()

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return uniform(view.unlabelled, n_rows, rng)


class Highest(Strategy):
    """The highest score; every fourth question is drawn from all others, each as likely.

    Sequential: scores know every answer so far. The drawn ones show what low scores hold, so that the estimated share
    keeps its interval.
    """

    needs = frozenset({Need.SCORES})
    is_sequential = True

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        left = free[np.argsort(-view.scores[free], kind="stable")].tolist()
        rows, odds, n_known = list[int](), list[float](), len(view.labelled)
        for n_asked in range(n_known + 1, n_known + n_rows + 1):
            is_drawn = n_asked % EVERY == 0
            odds.append(1 / len(left) if is_drawn else 1.0)
            rows.append(left.pop(int(rng.integers(len(left))) if is_drawn else 0))
        return Selection(np.array(rows, np.int64), np.array(odds))


class Positive(Strategy):
    """The highest scores among the unlabelled."""

    needs = frozenset({Need.SCORES})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        return certain(free[np.argsort(-view.scores[free], kind="stable")[:n_rows]])


class PositiveRandom(Strategy):
    """Every unlabelled row with a score in the upper half is equally likely; then those of the lower half."""

    needs = frozenset({Need.SCORES})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        by_score = free[np.argsort(-view.scores[free], kind="stable")]
        half = -(-len(free) // 2)
        upper = uniform(by_score[:half], min(n_rows, half), rng)
        return upper.then(uniform(by_score[half:], n_rows - len(upper.rows), rng))


class Margin(Strategy):
    """Scores nearest to the (1 - contamination) quantile."""

    needs = frozenset({Need.SCORES, Need.CONTAMINATION})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        return certain(free[np.argsort(alarm_margin(view)[free], kind="stable")[:n_rows]])


def uniform(candidates: np.ndarray, n_rows: int, rng: np.random.Generator) -> Selection:
    """Rows drawn without replacement, each with one over the number of those left."""
    rows = rng.permutation(candidates)[:n_rows]
    return Selection(rows.astype(np.int64), 1 / (len(candidates) - np.arange(len(rows))))
