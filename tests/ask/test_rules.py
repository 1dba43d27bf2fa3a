"""Each strategy on pools of a few rows, worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soel.ask import STRATEGIES
from soel.ask.by_distance import TINY, PositiveDistant, _balance, neighbour_radius
from soel.ask.space import Space
from soel.ask.strategy import alarm_margin
from soel.errors import ConfigError
from soel.types import Floats, PoolView, Selection


def line(
    positions: list[float],
    labels: list[int] | None = None,
    scores: list[float] | None = None,
    contamination: float | None = None,
) -> PoolView:
    """Rows on a line; without scores all are 0."""
    x = np.array(positions, np.float32)[:, None]
    known = np.full(len(x), -1, np.int8) if labels is None else np.array(labels, np.int8)
    return PoolView(np.zeros(len(x)) if scores is None else np.array(scores), x, known, contamination)


def pick(name: str, view: PoolView, n: int, seed: int = 0, reserve: int = 0, **options: Any) -> Selection:
    strategy = STRATEGIES.create(name, **options)
    return strategy.select(view, n, np.random.default_rng(seed), reserve)  # type: ignore[no-any-return]


def rows_of(name: str, view: PoolView, n: int, seed: int = 0, **options: Any) -> list[int]:
    return [int(row) for row in pick(name, view, n, seed, **options).rows]


def test_positive_takes_the_highest_scores_that_have_no_label() -> None:
    view = line([0] * 5, [-1, 0, -1, 1, -1], [0.1, 0.9, 0.5, 0.8, 0.7])
    assert rows_of("positive", view, 3) == [4, 2, 0]
    assert pick("positive", view, 3).odds.tolist() == [1, 1, 1]


def test_margin_takes_the_scores_nearest_to_the_quantile() -> None:
    # The 0.75 quantile of 0, 1, 2, 3, 10 is 3.
    view = line([0] * 5, None, [0.0, 1.0, 2.0, 3.0, 10.0], contamination=0.25)
    assert rows_of("margin", view, 5) == [3, 2, 1, 0, 4]
    np.testing.assert_allclose(alarm_margin(view), [3, 2, 1, 0, 7])


def test_random_draws_have_one_over_what_is_left() -> None:
    view = line([0] * 5, [-1, 0, -1, -1, -1])
    selection = pick("random", view, 4)
    assert sorted(selection.rows.tolist()) == [0, 2, 3, 4]
    np.testing.assert_allclose(selection.odds, [1 / 4, 1 / 3, 1 / 2, 1])


def test_positive_random_stays_in_the_upper_half_while_it_lasts() -> None:
    scores = [0.1, 0.9, 0.5, 0.8, 0.7]  # the upper half of five is three: rows 1, 3, 4
    for seed in range(10):
        selection = pick("positive-random", line([0] * 5, None, scores), 5, seed)
        assert set(selection.rows[:3].tolist()) == {1, 3, 4}
        assert set(selection.rows[3:].tolist()) == {0, 2}
        np.testing.assert_allclose(selection.odds, [1 / 3, 1 / 2, 1, 1 / 2, 1])


def test_positive_random_halves_what_is_unlabelled() -> None:
    view = line([0] * 6, [-1, 0, -1, 0, -1, -1], [0.1, 0.9, 0.5, 0.8, 0.7, 0.2])  # free: 0.1, 0.5, 0.7, 0.2
    for seed in range(10):
        assert set(rows_of("positive-random", view, 2, seed)) == {2, 4}


def test_k_means_plus_plus_draws_by_squared_distances() -> None:
    view = line([0, 1, 3, -2], [0, -1, -1, -1])  # squares 1, 9, 4 of 14
    drawn = [pick("k-means++", view, 1, seed) for seed in range(2000)]
    odds = {1: 1 / 14, 2: 9 / 14, 3: 4 / 14}
    for selection in drawn[:50]:
        np.testing.assert_allclose(selection.odds, [odds[int(selection.rows[0])]], rtol=1e-5)
    counts = np.bincount([int(selection.rows[0]) for selection in drawn], minlength=4) / 2000
    np.testing.assert_allclose(counts, [0, *odds.values()], atol=0.04)


def test_k_means_plus_plus_asks_copies_when_nothing_else_is_left() -> None:
    assert sorted(rows_of("k-means++", line([0, 0, 0], [0, -1, -1]), 2)) == [1, 2]


def test_k_means_plus_plus_can_begin_with_the_largest_norm() -> None:
    assert rows_of("k-means++", line([1, -5, 3]), 1, first="largest") == [1]


def test_k_center_goes_to_the_farthest_row_each_time() -> None:
    view = line([0, 1, 2, 6, 10], [0, -1, -1, -1, -1])
    # From 0 the farthest is 10; then 6 (4 from 10); then 2; then 1.
    assert rows_of("k-center", view, 4) == [4, 3, 2, 1]
    assert pick("k-center", view, 4).odds.tolist() == [1, 1, 1, 1]


def test_k_center_s_central_start_is_nearest_to_the_mean() -> None:
    assert rows_of("k-center", line([0, 4, 5, 6, 12]), 2, first="central") == [2, 4]  # the mean is 5.4
    assert rows_of("k-center", line([0, 1, 2, 3, 100]), 2, first="central") == [3, 4]  # the mean is 21.2


def test_positive_diverse_adds_scaled_score_and_scaled_distance() -> None:
    # Shortest distance 1, longest 10. Labelled at 0. Gains: score + (distance - 1) / 9.
    view = line([0, 1, 4, 10], [0, -1, -1, -1], [0.0, 1.0, 0.5, 0.1])
    # Row 1: 1 + 0; row 2: 0.5 + 3/9; row 3: 0.1 + 1. So 3, then (row 2 is 4 from 0, row 1 is 1) 1, then 2.
    assert rows_of("positive-diverse", view, 3) == [3, 1, 2]


def test_margin_diverse_avoids_neighbourhoods_that_were_asked() -> None:
    # Two groups of three; the margin is the same for all. k = ceil(6 / 2) = 3 neighbours.
    view = line([0, 1, 2, 100, 101, 102], None, [1.0] * 6, contamination=0.5)
    first, second = rows_of("margin-diverse", view, 2)
    assert first == 0
    # Row 0 lies within the third neighbour's distance of rows 0, 1, 2 alone (theirs is about 99): 3, 4, 5 too are
    # covered only where their radius reaches it.
    assert second in (3, 4, 5)


def test_margin_diverse_trades_margin_for_novelty() -> None:
    # N = 4, one query: k = 4, and every radius reaches all rows: the margin alone decides.
    view = line([0, 1, 50, 51], None, [0.0, 1.0, 2.0, 3.0], contamination=0.5)  # the median is 1.5
    assert rows_of("margin-diverse", view, 1) == [1]
    # Two queries: k = 2. Radii (second neighbour, itself not counted): 50, 49, 49, 50. Row 1 is within them of
    # rows 0, 1, 2 but not of row 3 (50 away: within 50). So costs are equal but for the margin.
    assert rows_of("margin-diverse", view, 2)[0] == 1


def test_the_radius_of_the_kth_neighbour() -> None:
    space = Space(np.array([[0.0], [1.0], [3.0], [7.0]], np.float32))
    np.testing.assert_allclose(neighbour_radius(space, 1), [1, 1, 2, 4], atol=1e-3)
    np.testing.assert_allclose(neighbour_radius(space, 2), [3, 2, 3, 6], atol=1e-3)
    np.testing.assert_allclose(neighbour_radius(space, 9), [7, 6, 4, 7], atol=1e-3)  # at most all others


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_diverse_odds_of_each_draw(temperature: float) -> None:
    view = line([0, 1, 2, 4], [0, -1, -1, -1])
    selection = pick("diverse", view, 3, temperature=temperature)
    taken, free = [0.0], [1, 2, 3]
    x = view.embeddings[:, 0].astype(float)
    for row, odds in zip(selection.rows, selection.odds, strict=True):
        near = np.array([min(abs(x[r] - t) for t in taken) for r in free])
        chances = np.exp(near / 4 / temperature)
        assert odds == pytest.approx(chances[free.index(int(row))] / chances.sum(), rel=1e-4)
        taken.append(float(x[row]))
        free.remove(int(row))


def points(n: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)


# Medoids looks along axes found at random; margin-diverse asks whether a row is within its own distance to another.
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in ("medoids", "margin-diverse")])
def test_moving_and_turning_the_pool_changes_no_choice(name: str) -> None:
    x = points(40)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0].astype(np.float32)
    labels = np.full(40, -1, np.int8)
    labels[:3] = [0, 1, 0]
    scores = np.linalg.norm(x, axis=1)
    here, there = (PoolView(scores, space, labels, 0.1) for space in (x, x @ turn + 2))
    assert rows_of(name, here, 6) == rows_of(name, there, 6)


POINTS = np.array([[0.0], [1.0], [2.0], [10.0]])
SCORES = np.array([0.0, 1.0, 2.0, 0.5])


def chosen(strategy: PositiveDistant, labels: list[int], n: int = 1) -> list[int]:
    view = PoolView(SCORES, POINTS, np.array(labels, np.int8), None)
    return [int(row) for row in strategy.select(view, n, np.random.default_rng(0)).rows]


def test_before_any_answer_the_most_suspicious_row_is_asked() -> None:
    assert chosen(PositiveDistant(), [-1, -1, -1, -1]) == [2]


def test_distance_and_suspicion_are_weighed_in_logarithms_and_deviations() -> None:
    z = (SCORES - SCORES.mean()) / SCORES.std()
    distance = np.log(np.abs(POINTS[:, 0]) + TINY)
    for tilt, row in ((0.5, 3), (1.0, 2)):  # far enough to outweigh less suspicion, or not
        assert int((distance + tilt * z)[1:].argmax()) + 1 == row
        assert chosen(PositiveDistant(tilt), [0, -1, -1, -1]) == [row]


def test_rows_of_one_round_keep_apart() -> None:
    assert chosen(PositiveDistant(0.5), [-1, -1, -1, -1], 2) == [2, 3]  # the neighbour of 2 is more suspicious than 3


def test_rows_after_the_first_keep_apart_unless_anomalies_are_to_be_found() -> None:
    points, scores = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0.0, 5.0, 6.0, -6.0])
    view = PoolView(scores, points, np.full(4, -1, np.int8), None)
    rows = {
        on: PositiveDistant(4.0, on).select(view, 2, np.random.default_rng(0)).rows.tolist() for on in (True, False)
    }
    assert rows == {True: [2, 0], False: [2, 1]}


def test_a_tilt_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="above 0"):
        PositiveDistant(tilt=0)


def test_many_anomalies_among_the_answers_turn_the_questions_to_normal_rows() -> None:
    # Equal distances: suspicion alone decides. One anomaly in one answer: 0.75 of them, so the tilt is nothing.
    points = np.eye(5) * 3
    scores = np.array([0.0, 1.0, 2.0, 3.0, 4.0])

    def asked(labels: list[int], balanced: bool) -> int:
        view = PoolView(scores, points, np.array(labels, np.int8), None)
        return int(PositiveDistant(1.0, balanced).select(view, 1, np.random.default_rng(0)).rows[0])

    all_anomalies = [-1, 1, 1, 1, -1]  # 3.5 / 4 of the answers: below nothing
    assert asked(all_anomalies, balanced=False) == 4
    assert asked(all_anomalies, balanced=True) == 0
    few = [-1, 0, 0, 1, -1]  # 1.5 / 4: the tilt is 0.75 of itself
    assert asked(few, balanced=True) == 4
    assert _balance(np.array(few, np.int8)) == pytest.approx(0.75)
    assert _balance(np.array([-1, -1], np.int8)) == _balance(np.array([0, 0, 0, -1], np.int8)) == 1.0
