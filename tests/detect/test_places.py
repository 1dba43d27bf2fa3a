"""Gaussians at places: by hand, left out in turn, and in runs of places."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect import places
from soel.detect.places import RIDGE, Gaussians, Moments
from soel.types import Floats


def drawn(n: int = 40, n_places: int = 3, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(n, n_places, 4)) * np.arange(1, n_places + 1)[:, None], np.float32)


def by_hand(x: Floats, place: int) -> Floats:
    """Mahalanobis' distances (n,) at a place whose covariance counts n / (n + D) beside that of all."""
    arms = x - x.mean(axis=0)
    covariances = np.einsum("npi,npj->pij", arms, arms) / len(x)
    shared, own = covariances.mean(axis=0), len(x) / (len(x) + 4)
    mixed = own * covariances[place] + (1 - own) * shared + RIDGE * np.trace(shared) / 4 * np.eye(4)
    return np.asarray(np.sqrt(np.einsum("ni,ij,nj->n", arms[:, place], np.linalg.inv(mixed), arms[:, place])))


def test_distances_are_those_of_each_place() -> None:
    x = drawn()
    found = Gaussians.of(Moments.of(x, np.arange(40))).measure(x, np.arange(40))
    for place in range(3):
        np.testing.assert_allclose(found[:, place], by_hand(x, place), rtol=1e-3)


def test_rows_taken_away_leave_what_the_others_alone_give() -> None:
    x, kept = drawn(), np.arange(40) % 4 > 0
    taken = Moments.of(x, np.arange(40)).without(x, np.flatnonzero(~kept))
    alone = Moments.of(x, np.flatnonzero(kept))
    assert taken.n == alone.n == 30
    np.testing.assert_allclose(taken.means, alone.means, atol=1e-5)
    np.testing.assert_allclose(taken.products, alone.products, atol=1e-4)


def test_a_row_left_out_is_as_far_as_from_a_fit_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "RIDGE", 1e-9)
    x = drawn(30, 1)
    normal = Gaussians.of(Moments.of(x, np.arange(30)))
    found = normal.measure(x, np.arange(30), np.ones(30, bool))
    for row in (0, 7, 29):
        others = Gaussians.of(Moments.of(x, np.delete(np.arange(30), row)))
        np.testing.assert_allclose(found[row], others.measure(x, np.array([row]))[0], rtol=1e-3)


def test_neighbours_of_many_places_share_a_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST_CELLS", 2)
    x = drawn(30, 5)
    moments = Moments.of(x, np.arange(30))
    normal = Gaussians.of(moments)
    assert normal.whitenings.shape == (2, 4, 4), "three places, then the two that are left"
    arms = x - x.mean(axis=0)
    np.testing.assert_allclose(moments.products[1], np.einsum("npi,npj->ij", arms[:, 3:], arms[:, 3:]) / 60, rtol=1e-4)
    found = normal.measure(x, np.arange(30))
    whitened = normal.arms(x[7, [1, 4]], np.array([1, 4]))
    np.testing.assert_allclose(np.linalg.norm(whitened, axis=1), found[7, [1, 4]], rtol=1e-4)
    monkeypatch.setattr(places, "BLOCK", 3)
    monkeypatch.setattr(places, "ROWS", 7)
    parts = Gaussians.of(Moments.of(x, np.arange(30)))
    np.testing.assert_allclose(parts.measure(x, np.arange(30)), found, rtol=1e-4)


def test_the_weight_of_a_picture_by_hand() -> None:
    own = 11 / (11 + 4)
    assert Gaussians.of(Moments.of(drawn(11, 5), np.arange(11))).leverage == pytest.approx((own + (1 - own) / 5) / 10)
    none = np.zeros((1, 4), np.float32)
    found = Gaussians(none, none, 0.05, 11).left_out(np.array([0.0, 3.0, 100.0]))  # 0.05 * 9 = 0.45; 500 counts as 0.99
    np.testing.assert_allclose(found, [0, np.sqrt(1.1 * 9 / 0.55), np.sqrt(1.1 * 1e4 / 0.01)], rtol=1e-6)
