"""The strategies' kit finds out strategies that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soel.ask.base import Need, Strategy, certain
from soel.ask.by_score import Random, uniform
from soel.testing import STRATEGY_LAWS, check_strategy, strategies
from soel.testing.laws import Law
from soel.types import PoolView, Selection
from tests.testing.broken import cases


class Repeats(Strategy):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return certain(np.full(n_rows, view.unlabelled[0]))


class AsksAgain(Strategy):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return uniform(np.arange(len(view)), n_rows, rng)


class Restless(Strategy):
    """Has chance of its own."""

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return uniform(view.unlabelled, n_rows, np.random.default_rng())


class Counting(Strategy):
    """Keeps something from one selection to the next."""

    def __init__(self) -> None:
        self.n_calls = 0

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        self.n_calls += 1
        return certain(np.roll(view.unlabelled, -self.n_calls)[:n_rows])


class ReserveFirst(Strategy):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return certain(view.unlabelled[:n_rows][::-1])


class ShortReserve(Strategy):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return certain(view.unlabelled[: min(n_rows, 2 * n_queries + 4)])


class Certainty(Random):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        found = super()._select(view, n_queries, n_rows, rng)
        return Selection(found.rows, np.zeros(n_rows))


class Writes(Random):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        found = super()._select(view, n_queries, n_rows, rng)
        view.labels[found.rows] = 0
        return found


class OnlyDistinct(Strategy):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        return certain(free[np.unique(view.embeddings[free], axis=0, return_index=True)[1]][:n_rows])


class Obliging(Random):
    """Gives what it has instead of refusing."""

    def check(self, view: PoolView, n_queries: int, n_reserve: int = 0) -> int:
        return max(min(n_queries + n_reserve, len(view.unlabelled)), 0)


class Peeking(Strategy):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        border = np.quantile(view.scores, 1 - (view.contamination or 0.5))
        return certain(view.unlabelled[np.argsort(np.abs(view.scores - border)[view.unlabelled])[:n_rows]])


class Undeclared(Strategy):
    needs = frozenset({Need.EMBEDDINGS})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        free = view.unlabelled
        return certain(free[np.argsort(-view.scores[free])[:n_rows]])


class AllPairs(Random):
    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        self.pairs = np.zeros((len(view), len(view)), bool)
        return super()._select(view, n_queries, n_rows, rng)


BROKEN: dict[Law[Any], Callable[[], Strategy]] = {
    strategies.check_rows_are_distinct_and_unlabelled: Repeats,
    strategies.check_seeding_is_idempotent: Restless,
    strategies.check_selection_is_prefix_closed: ReserveFirst,
    strategies.check_odds_are_probabilities: Certainty,
    strategies.check_view_is_not_changed: Writes,
    strategies.check_equal_rows_are_no_trouble: OnlyDistinct,
    strategies.check_impossible_numbers_are_refused: Obliging,
    strategies.check_contamination_is_needed_only_where_declared: Peeking,
    strategies.check_only_what_is_declared_is_looked_at: Undeclared,
    strategies.check_memory_grows_with_the_rows: AllPairs,
}
ALSO = [
    (strategies.check_rows_are_distinct_and_unlabelled, AsksAgain, "must not be asked again"),
    (strategies.check_seeding_is_idempotent, Counting, "same seed"),
    (strategies.check_selection_is_prefix_closed, ShortReserve, "holds all 60 rows"),
]


@pytest.mark.parametrize(("law", "broken"), cases(STRATEGY_LAWS, BROKEN))
def test_each_law_finds_out_a_strategy_that_breaks_it(law: Law[Any], broken: Callable[[], Strategy]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(broken)
    law(Random)


@pytest.mark.parametrize(("law", "broken", "message"), ALSO)
def test_what_else_a_law_finds_out(law: Law[Any], broken: Callable[[], Strategy], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        law(broken)


def test_the_kit_names_every_broken_law() -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 of 10 laws.*check_odds_are_probabilities: AssertionError: Odds"):
        check_strategy(Certainty)
