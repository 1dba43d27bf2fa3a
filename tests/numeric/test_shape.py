"""Directions and Mahalanobis' distance."""

from __future__ import annotations

import numpy as np

from soel.numeric.shape import gaussian, mahalanobis, unit


def test_units_by_hand() -> None:
    np.testing.assert_allclose(unit(np.array([[3.0, 4.0], [0.0, 0.0]])), np.array([[0.6, 0.8], [0.0, 0.0]]))


def test_distances_are_in_units_of_the_spread_in_their_direction() -> None:
    x = np.random.default_rng(0).normal(size=(4000, 2)) * [10.0, 1.0]
    centre, whitening = gaussian(x)
    far = mahalanobis(centre + np.array([[20.0, 0.0], [0.0, 2.0]]), centre, whitening)
    assert far[0] / far[1] < 3, "two spreads along either axis are about as far; the ridge widens the narrow one"
    assert mahalanobis(centre[None], centre, whitening)[0] == 0


def test_rows_that_are_all_alike_have_a_shape_too() -> None:
    centre, whitening = gaussian(np.ones((5, 3)))
    assert np.isfinite(whitening).all()
    assert mahalanobis(np.zeros((1, 3)), centre, whitening)[0] > 100
