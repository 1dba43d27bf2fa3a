"""The steps of the medoids: directions, widened axes, groups and the order of asking, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from soel.ask import by_group
from soel.ask.by_group import EVEN, POWER, _directions, _find_axes, _group, _middles


def test_directions_are_units_and_weights_follow_the_distance_from_the_middle() -> None:
    x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    points, weights = _directions(x, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-5)
    axes = _find_axes(x - x.mean(axis=0), np.random.default_rng(0))
    lengths = np.linalg.norm((x - x.mean(axis=0)) @ axes, axis=1)
    order = np.argsort(lengths)
    np.testing.assert_allclose(weights[order], ((np.arange(50) + 0.5) / 50) ** POWER)


def test_a_row_in_the_middle_has_no_direction_and_little_weight() -> None:
    x = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]], np.float32)
    points, weights = _directions(x, np.random.default_rng(0))
    np.testing.assert_array_equal(points[0], 0)
    assert weights.argmin() == 0


def test_axes_are_made_about_equally_wide() -> None:
    rng = np.random.default_rng(0)
    arms = (rng.normal(size=(4000, 3)) * [10.0, 1.0, 0.1]).astype(np.float32)
    arms -= arms.mean(axis=0)
    widened = arms @ _find_axes(arms, rng)
    variances = arms.astype(np.float64).var(axis=0)
    added = (EVEN + 3 / 4000) * variances.mean()
    np.testing.assert_allclose(np.sort(widened.var(axis=0)), np.sort(variances / (variances + added)), rtol=1e-2)


def test_groups_are_where_the_points_are() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(c, 0.05, size=(20, 2)) for c in ([0, 0], [5, 0], [0, 5])])
    centres, cost = _group(points, np.ones(60), np.full(60, np.inf), 3, np.random.default_rng(1))
    for place in ([0, 0], [5, 0], [0, 5]):
        assert np.linalg.norm(centres - place, axis=1).min() < 0.1
    gaps = np.linalg.norm(points[:, None] - centres, axis=2).min(axis=1)
    assert cost == pytest.approx((gaps**2).sum(), rel=1e-4)


def test_a_group_s_middle_is_its_weighted_mean() -> None:
    points, weights = np.array([[0.0], [1.0], [10.0]]), np.array([3.0, 1.0, 1.0])
    centres, _ = _group(points, weights, np.full(3, np.inf), 1, np.random.default_rng(0))
    assert centres[0, 0] == pytest.approx((0 * 3 + 1 + 10) / 5)


def test_rows_nearer_to_a_label_pull_no_group() -> None:
    points = np.array([[0.0], [0.2], [10.0], [10.2]])
    taken = np.array([0.01, 0.01, 100.0, 104.0])  # squared distances to a label near 0
    centres, cost = _group(points, np.ones(4), taken, 1, np.random.default_rng(0))
    assert centres[0, 0] == pytest.approx(10.1)
    assert cost == pytest.approx(0.01 + 0.01 + 0.01 + 0.01)


def test_the_heaviest_group_is_asked_first_and_then_the_next_nearest_of_each() -> None:
    # Group 0 at 0: rows 0 (0.0), 1 (0.3). Group 1 at 10: rows 2 (10.2), 3 (10.1), and it is heavier.
    points = np.array([[0.0], [0.3], [10.2], [10.1]])
    weights = np.array([1.0, 1.0, 2.0, 2.0])
    order = _middles(points, weights, np.full(4, np.inf), np.array([[0.0], [10.0]]))
    assert order.tolist() == [3, 0, 2, 1]


def test_rows_that_a_label_speaks_for_come_last() -> None:
    points = np.array([[0.0], [0.3], [10.2], [10.1]])
    taken = np.array([0.0, 0.04, 100.0, 100.0])
    order = _middles(points, np.ones(4), taken, np.array([[0.1], [10.0]]))
    assert order.tolist() == [3, 2, 0, 1]


def test_the_best_of_several_starts_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter([5.0, 1.0, 3.0])
    seen: list[float] = []

    def grouped(*given: object) -> tuple[np.ndarray, float]:
        cost = next(costs)
        return np.full((1, 2), cost), cost

    def middles(points: np.ndarray, weights: np.ndarray, taken: np.ndarray, centres: np.ndarray) -> np.ndarray:
        seen.append(float(centres[0, 0]))
        return np.arange(len(points))

    monkeypatch.setattr(by_group, "_group", grouped)
    monkeypatch.setattr(by_group, "_middles", middles)
    from soel.testing.laws import example_view

    by_group.Medoids().select(example_view(10), 1, np.random.default_rng(0))
    assert seen == [1.0]
