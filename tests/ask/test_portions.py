"""Rows that are asked first, last or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from soel import SOEL
from soel.ask.strategy import Portion, plan_draws, spread_over_time
from soel.errors import DataError
from soel.learner import Learner
from soel.types import Kind, Labels, Pool, Rows, Selection
from tests.conftest import make_learner, make_toy
from tests.variants import BESIDE_A_NETWORK


def test_items_set_aside_are_not_asked_and_others_only_at_the_end() -> None:
    x = make_toy(n_rows=12, n_anomalies=2).x
    learner, pool = make_learner(BESIDE_A_NETWORK, x)
    warm, labels = learner.prepare(pool), np.full(12, -1, np.int8)
    labels[0] = 0
    aside, last = np.array([1, 2, 3]), np.array([4, 5])
    few = learner.propose(warm, pool, labels, 6, aside=aside, last=last).rows
    assert set(few.tolist()) == {6, 7, 8, 9, 10, 11}
    more = learner.propose(warm, pool, labels, 8, aside=aside, last=last).rows
    assert set(more.tolist()) == {4, 5, 6, 7, 8, 9, 10, 11}


def plan(labels: list[int], n: int, first: list[int], aside: list[int], last: list[int]) -> list[Portion]:
    asked = (np.array(rows, np.int64) for rows in (aside, first, last))
    return plan_draws(np.array(labels, np.int8), n, 2, *asked)


@pytest.mark.parametrize(
    ("labels", "n", "first", "aside", "last", "draws"),
    [
        ([-1] * 4, 2, [], [], [], [(None, 2, 2)]),
        ([-1] * 4, 1, [], [1], [], [([0, 2, 3], 1, 2)]),
        ([-1] * 4, 3, [], [], [2], [([0, 1, 3], 3, 2)]),
        ([-1] * 4, 4, [], [], [2], [(None, 4, 2)]),
        ([-1] * 4, 3, [], [0], [2], [([1, 2, 3], 3, 2)]),
        ([1, -1, -1, -1], 1, [], [0], [2], [([0, 1, 3], 1, 2)]),  # what is labelled is always seen
        ([1, -1, 0, -1], 1, [], [0], [2], [(None, 1, 2)]),
        ([-1] * 4, 2, [1, 3], [], [], [([1, 3], 2, 2)]),  # there are enough: no other one is seen
        ([-1] * 4, 3, [1, 3], [], [], [([1, 3], 2, 0), ([0, 2], 1, 2)]),
        ([1, -1, -1, -1], 2, [0, 1], [], [], [([0, 1], 1, 0), ([0, 2, 3], 1, 2)]),  # the labelled row is not asked
        ([-1] * 4, 2, [1, 3], [1], [3], [([0, 2], 2, 2)]),
        ([-1] * 4, 3, [1, 3], [], [0], [([1, 3], 2, 0), ([2], 1, 2)]),
        ([-1] * 4, 4, [1, 3], [], [0], [([1, 3], 2, 0), ([0, 2], 2, 2)]),
        ([-1] * 4, 4, [0, 1, 2, 3], [], [], [(None, 4, 2)]),
    ],
)
def test_the_draws_of_a_round(
    labels: list[int], n: int, first: list[int], aside: list[int], last: list[int], draws: list[tuple[object, int, int]]
) -> None:
    found = plan(labels, n, first, aside, last)
    assert [(p.rows if p.rows is None else p.rows.tolist(), p.n, p.n_reserve) for p in found] == draws


@pytest.mark.parametrize("strategy", ["positive-distant", "k-center", "random", "medoids"])
def test_rows_to_be_asked_first_are_however_few(strategy: str) -> None:
    learner, pool, labels = start(strategy)
    first = np.array([30, 31, 32, 0])  # the last of them has a label
    usual = learner.propose(learner.prepare(pool), pool, labels, 6).rows
    assert not {30, 31, 32} <= set(usual)
    found = learner.propose(learner.prepare(pool), pool, labels, 6, first=first, for_record=True)
    assert set(found.rows[:3]) == {30, 31, 32}
    assert len(set(found.rows.tolist())) == len(found.rows) == len(found.selection.odds) == 6 + 2 * 6
    assert 0 not in found.rows
    rest = learner.propose(learner.prepare(pool), pool, labels, 3, aside=np.array([30, 31, 32])).rows
    if strategy in ("positive-distant", "k-center"):  # without chance: the generator has drawn for three rows before
        assert found.rows[3:6].tolist() == rest.tolist()


def test_frames_of_one_moment_are_not_asked_after_one_that_comes_first() -> None:
    learner, pool, labels = start("k-center")
    plain = learner.propose(learner.prepare(pool), pool, labels, 4, first=np.array([30])).rows
    moments = np.column_stack([np.arange(len(pool)), np.zeros(len(pool))]).astype(float)
    moments[plain[1]] = moments[30]
    frames = Pool(pool.rows, Kind.TABLE, "frames", moments=moments)
    found = learner.propose(learner.prepare(frames), frames, labels, 4, first=np.array([30])).rows
    assert found.tolist() == [30, *plain[2:], plain[1]]


def test_too_many_questions_are_refused_by_the_number_of_all_rows_left() -> None:
    learner, pool, labels = start("k-center")
    with pytest.raises(DataError, match="41 items were asked for but only 39 of 40"):
        learner.propose(learner.prepare(pool), pool, labels, 41, first=np.array([30]))


@pytest.mark.parametrize(("n_labels", "n"), [(1190, 10), (0, 1100)])
def test_as_many_rows_of_a_large_pool_are_asked_as_are_wanted(n_labels: int, n: int) -> None:
    x = make_toy(n_rows=1200, n_anomalies=12).x
    y = np.full(1200, -1)
    y[:n_labels] = np.arange(n_labels) % 50 == 0
    rows = SOEL(BESIDE_A_NETWORK.with_parts(strategy="positive-distant"), random_state=0).query(x, n, y)
    assert len(set(rows.tolist())) == n
    assert (y[rows] == -1).all()


def start(strategy: str) -> tuple[Learner, Pool, Labels]:
    """A learner, forty rows and one label."""
    learner, pool = make_learner(BESIDE_A_NETWORK.with_parts(strategy=strategy), make_toy(n_rows=40, n_anomalies=4).x)
    labels = np.full(40, -1, np.int8)
    labels[0] = 0
    return learner, pool, labels


MOMENTS = np.array([[0, 0.0], [0, 0.5], [0, 1.2], [1, 0.2], [0, 9.0], [1, 0.9]])


def order(*rows: int, known: Rows | None = None) -> list[int]:
    chosen = Selection(np.array(rows), np.array(rows) / 10)
    spread = spread_over_time(chosen, MOMENTS, np.zeros(0, np.int64) if known is None else known)
    np.testing.assert_array_equal(spread.odds, spread.rows / 10)  # odds stay with their rows
    return [int(row) for row in spread.rows]


def test_frames_of_the_same_second_come_after_all_others() -> None:
    assert order(0, 1, 3, 5, 4) == [0, 3, 4, 1, 5]
    assert order(0, 2, 4) == [0, 2, 4]  # more than a second apart


def test_what_was_answered_before_counts_too() -> None:
    assert order(1, 4, 3, known=np.array([0])) == [4, 3, 1]


def test_nothing_is_lost_where_all_are_of_one_moment() -> None:
    assert order(1, 0) == [1, 0]
