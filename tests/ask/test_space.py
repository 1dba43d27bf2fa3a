"""A space of points: blocks, samples, bounds and origins, against plain distances."""

from __future__ import annotations

import numpy as np
import pytest

from soel.ask import space as module
from soel.ask.space import FAR, Space, find_origin
from soel.types import Floats


def points(n: int, d: int = 3, far: float = 0.0, seed: int = 0) -> Floats:
    return (np.random.default_rng(seed).normal(size=(n, d)) + far).astype(np.float32)


def plain(x: Floats) -> Floats:
    wide = x.astype(np.float64)
    return np.asarray(np.linalg.norm(wide[:, None] - wide[None], axis=2))


@pytest.mark.parametrize("far", [0.0, 3.0, 500.0])
def test_distances_to_a_row_to_the_nearest_and_between_all(far: float) -> None:
    x = points(60, far=far)
    space, expected = Space(x), plain(x)
    np.testing.assert_allclose(space.distances(7), expected[7], atol=2e-3)
    np.testing.assert_allclose(space.nearest(np.array([3, 9, 50])), expected[[3, 9, 50]].min(axis=0), atol=2e-3)
    whole = np.vstack([part for _, part in space.pairs()])
    np.testing.assert_allclose(whole, expected, atol=5e-3)
    assert space.diameter() == pytest.approx(expected.max(), rel=1e-3)
    assert space.shortest() == pytest.approx(expected[~np.eye(60, dtype=bool)].min(), abs=5e-3)


def test_a_row_is_at_0_from_itself_and_everything_infinitely_far_from_nothing() -> None:
    space = Space(points(20, far=1000))
    assert space.distances(4)[4] == 0
    assert space.nearest(np.array([2, 4]))[[2, 4]].tolist() == [0, 0]
    assert np.isinf(space.nearest(np.array([], np.int64))).all()
    assert len(space) == 20


def test_rows_are_moved_only_where_the_mean_lies_far_from_0() -> None:
    spread = 3.0  # the variance of three standard normal columns
    for factor, is_far in ((0.8, False), (1.2, True)):
        x = points(4000, far=np.sqrt(factor * FAR * spread / 3))
        assert find_origin(x)[1] == is_far
        assert (Space(x).points is x) is not is_far
    moved = Space(points(4000, far=100))
    np.testing.assert_array_equal(moved.mean, 0)
    np.testing.assert_allclose(moved.points.mean(axis=0), 0, atol=1e-3)


def test_the_double_sweep_bounds_the_diameter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_ROWS", 20)
    for seed in range(10):
        x = points(300, seed=seed)
        exact = plain(x).max()
        assert exact / np.sqrt(3) <= Space(x).diameter() <= exact * (1 + 1e-4)


@pytest.mark.parametrize("cores", ["1", "2", "5"])
def test_blocks_on_many_cores_give_what_one_gives(cores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = points(1000)
    alone = Space(x)
    expected = alone.nearest(np.array([1, 500]))
    monkeypatch.setenv("OMP_NUM_THREADS", cores)
    monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(module, "SMALL_ROWS", 16)
    space = Space(x)
    np.testing.assert_array_equal(space.squares, alone.squares)
    np.testing.assert_array_equal(space.nearest(np.array([1, 500])), expected)


def test_two_equal_rows_are_0_apart_though_none_is_compared_with_itself() -> None:
    assert Space(np.array([[1.0], [1.0], [-2.0]])).shortest() == 0
    assert Space(np.array([[0.0], [1.0], [-1.0]])).shortest() == 1
