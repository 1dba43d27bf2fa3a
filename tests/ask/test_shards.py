"""One shard's answers, by hand: rows `start` on of a pool, in numbers that a reduce can join."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from soel.ask.draw import Drawn, draw_among, draw_any, join_draws
from soel.ask.shards import Point, Shard
from soel.ask.space import Origin, find_origin
from soel.noise import gumbel
from soel.types import Floats

START = 100
X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0], [-3.0, -4.0], [1.0, 0.0]], np.float32)
NOWHERE = Origin(np.zeros(2, np.float32), is_far=False)
ALL = np.ones(5, bool)


def settled(free: np.ndarray = ALL) -> Shard:
    shard = Shard(X, START)
    shard.settle(NOWHERE, free)
    return shard


def point(x: float, y: float, row: int = 0) -> Point:
    return Point(row, np.array([x, y], np.float32), np.float32(x * x + y * y))


@pytest.mark.parametrize(("step", "rows"), [(1, [0, 1, 2, 3, 4]), (2, [0, 2, 4]), (3, [2]), (7, [5]), (50, [0])])
def test_every_so_manieth_row_of_the_pool(step: int, rows: list[int]) -> None:
    # Rows 100 to 104 of the pool; of every third, 102 is here; of every seventh, 105 is not.
    expected = X[[row for row in rows if row < 5]]
    np.testing.assert_array_equal(Shard(X, START).every(step), expected)
    arms, squares = settled().samples(step)
    np.testing.assert_array_equal(arms, expected)
    np.testing.assert_allclose(squares, (expected**2).sum(axis=1))


def test_points_of_rows_that_are_here() -> None:
    found = settled().points_of(np.array([2, 101, 104, 105, 99]))
    assert [each.row for each in found] == [101, 104]
    np.testing.assert_array_equal(found[0].at, [3, 4])
    assert found[0].square == 25


def test_nearest_to_and_farthest_from_the_mean() -> None:
    assert (settled().extreme(smallest=True).row, settled().extreme(smallest=True).value) == (100, 0)
    assert (settled().extreme(smallest=False).row, settled().extreme(smallest=False).value) == (102, 100)


def test_the_farthest_from_a_point() -> None:
    far = settled().farthest_from(point(6, 8))
    assert far.row == 103
    assert far.value == pytest.approx(15, rel=1e-5)


def test_placed_rows_are_taken_and_distances_shrink() -> None:
    shard = settled()
    first = shard.farthest([point(0, 0, row=100)])
    assert first is not None
    assert first.row == 102
    assert first.value == pytest.approx(10)
    second = shard.farthest([first])  # 101 is 5 from both, 103 is 5 from the origin
    assert second is not None
    assert second.row == 101
    assert second.value == pytest.approx(5)
    third = shard.farthest([second])
    assert third is not None
    assert third.row == 103


def test_a_shard_without_a_free_row_names_none() -> None:
    shard = settled(np.zeros(5, bool))
    assert shard.farthest([point(0, 0)]) is None
    assert shard.draw([point(0, 0)], 1.0, 0, 0) is None


def test_a_draw_is_the_softmax_over_free_rows() -> None:
    free = np.array([False, True, True, True, False])
    unit = 4.0
    logits = np.array([-np.inf, 5 / unit, 10 / unit, 5 / unit, -np.inf])
    for seed in range(5):
        found = settled(free).draw([point(0, 0)], unit, seed, 3)
        assert found is not None
        where, drawn = found
        expected = int((logits + gumbel(seed, 3, np.arange(START, START + 5))).argmax())
        assert where.row == drawn.row == START + expected
        assert drawn.odds == pytest.approx(np.exp(logits[expected] - logsumexp(logits)), rel=1e-5)


def test_the_most_central_row() -> None:
    others, squares = settled().samples(1)
    found = settled().most_central(others, squares, unit=2.0)
    reach = [logsumexp(np.linalg.norm(X - row, axis=1) / 2.0) for row in X]
    assert found.row == START + int(np.argmin(reach))
    assert found.value == pytest.approx(min(reach), rel=1e-4)


def test_a_far_origin_moves_the_rows() -> None:
    far = X + 1000
    shard = Shard(far, START)
    shard.settle(find_origin(far), ALL)
    (here,) = shard.points_of(np.array([102]))
    np.testing.assert_allclose(here.at, X[2] - X.mean(axis=0), atol=1e-3)


def test_odds_of_a_joined_draw_are_those_among_all() -> None:
    first = Drawn(row=3, key=2.0, logit=1.0, top=1.0, mass=2.0)  # of two rows of weight e^1 each
    second = Drawn(row=9, key=3.0, logit=0.0, top=0.5, mass=1.5)
    both = join_draws([first, None, second])
    assert (both.row, both.top) == (9, 1.0)
    assert both.mass == pytest.approx(2.0 + 1.5 * np.exp(-0.5))
    assert both.odds == pytest.approx(np.exp(0.0) / (2 * np.exp(1) + 1.5 * np.exp(0.5)))


def test_of_equal_keys_the_first_part_wins() -> None:
    one, other = Drawn(1, 2.0, 0.0, 0.0, 1.0), Drawn(2, 2.0, 0.0, 0.0, 1.0)
    assert join_draws([one, other]).row == 1


def drawn(logits: Floats, seed: int) -> int:
    found = draw_among(logits, seed, 0)
    assert found is not None
    return found.row


def test_a_draw_follows_its_probabilities_however_extreme() -> None:
    logits = np.array([0.0, -50.0, 1.0], np.float32)
    counts = np.bincount([drawn(logits, seed) for seed in range(3000)], minlength=3) / 3000
    np.testing.assert_allclose(counts, np.exp(logits) / np.exp(logits).sum(), atol=0.03)
    assert drawn(np.array([-1e4, 0.0], np.float32), 0) == 1


def test_a_draw_of_one_row_is_certain() -> None:
    assert draw_any(1, 0, start=7) == Drawn(7, draw_any(1, 0, start=7).key, 0.0, 0.0, 1.0)
    assert draw_any(1, 0).odds == 1
