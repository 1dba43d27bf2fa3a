"""Directions and Mahalanobis' distance."""

from __future__ import annotations

import numpy as np

from soel.numeric.shape import RIDGE, SMALLEST_RIDGE, gaussian, mahalanobis, unit


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


def test_mahalanobis_is_the_inverse_covariance_with_its_ridge() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3)) @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.3]])
    covariance = np.cov(x.T)
    ridge = RIDGE * np.trace(covariance) / 3 + SMALLEST_RIDGE
    precision = np.linalg.inv(covariance + ridge * np.eye(3))
    centre, whitening = gaussian(x)
    np.testing.assert_allclose(centre, x.mean(axis=0))
    np.testing.assert_allclose(whitening @ whitening.T, precision, rtol=1e-9)
    for row in x[:5]:
        expected = np.sqrt((row - centre) @ precision @ (row - centre))
        np.testing.assert_allclose(mahalanobis(row[None], centre, whitening), [expected])


def test_one_column_has_a_shape_too() -> None:
    x = np.array([[0.0], [2.0], [4.0]])  # variance 4, with a tenth of it added
    centre, whitening = gaussian(x)
    np.testing.assert_allclose(mahalanobis(np.array([[6.0]]), centre, whitening), [4 / np.sqrt(4.4)], rtol=1e-6)


def test_units_keep_directions_of_any_length() -> None:
    x = np.random.default_rng(0).normal(size=(20, 5)) * np.logspace(-6, 6, 20)[:, None]
    np.testing.assert_allclose(np.linalg.norm(unit(x), axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(unit(7 * x), unit(x), rtol=1e-4, atol=1e-6)
