from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from soel.errors import DataError
from soel.report import outcome
from soel.report.outcome import project
from soel.types import Floats

STRETCH = np.array([9.0, 4.0, 1.0, 0.5])


def cloud(seed: int, n: int = 60) -> Floats:
    """A cloud with clearly different spread in each direction, turned at random."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return np.asarray((rng.normal(size=(n, 4)) * STRETCH) @ turn)


def points_of(x: Floats) -> Floats:
    return project(x, np.random.default_rng(0))


@given(st.integers(0, 10_000))
def test_moving_the_data_does_not_move_the_map(seed: int) -> None:
    x = cloud(seed)
    np.testing.assert_allclose(points_of(x + 100.0), points_of(x), atol=1e-6)


@given(st.integers(0, 10_000))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    x = cloud(seed)
    order = np.random.default_rng(seed).permutation(len(x))
    np.testing.assert_allclose(points_of(x[order]), points_of(x)[order], atol=1e-6)


@given(st.integers(0, 10_000))
def test_no_two_items_come_out_farther_apart_than_they_are(seed: int) -> None:
    x = cloud(seed, 20)
    points = points_of(x)
    before = np.linalg.norm(x[:, None] - x, axis=2)
    after = np.linalg.norm(points[:, None] - points, axis=2)
    assert (after <= before + 1e-9).all()


@given(st.integers(0, 10_000))
def test_the_first_axis_has_the_larger_spread_and_they_do_not_correlate(seed: int) -> None:
    first, second = points_of(cloud(seed)).T
    assert first.var() >= second.var()
    assert abs(np.mean(first * second)) < 1e-6


@given(st.integers(0, 10_000))
def test_the_sign_of_an_axis_is_fixed(seed: int) -> None:
    x = cloud(seed)
    points = points_of(x)
    axes = np.linalg.lstsq(x - x.mean(axis=0), points)[0].T
    assert (axes[[0, 1], np.abs(axes).argmax(axis=1)] > 0).all()


def test_two_directions_keep_all_of_a_flat_cloud() -> None:
    x = np.random.default_rng(1).normal(size=(30, 2))
    np.testing.assert_allclose(np.linalg.norm(points_of(x), axis=1), np.linalg.norm(x - x.mean(0), axis=1))


def test_one_direction_leaves_the_second_axis_at_nought() -> None:
    points = points_of(np.array([[1.0], [2.0], [6.0]]))
    np.testing.assert_allclose(points, [[-2.0, 0.0], [-1.0, 0.0], [3.0, 0.0]])


def test_equal_items_lie_on_one_point() -> None:
    assert (points_of(np.full((5, 3), 2.0)) == 0).all()


def test_blocks_give_what_one_piece_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    x = cloud(3)
    whole = points_of(x)
    monkeypatch.setattr(outcome, "BLOCK", 7)
    np.testing.assert_allclose(points_of(x), whole)


def test_a_sample_finds_nearly_the_same_plane_and_the_seed_decides_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = cloud(4, 3_000)
    whole = points_of(x)
    monkeypatch.setattr(outcome, "SAMPLE", 1_000)
    sampled, again = (project(x, np.random.default_rng(5)) for _ in range(2))
    assert not np.array_equal(sampled, whole)
    assert np.array_equal(sampled, again)
    assert all(np.corrcoef(sampled[:, axis], whole[:, axis])[0, 1] > 0.99 for axis in (0, 1))


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="not finite"):
        points_of(np.array([[1.0, np.nan], [0.0, 1.0]]))
