"""Gaussians at places: by hand, left out in turn, and how far places keep to themselves."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect import places
from soel.detect.places import (
    bring_to_scale,
    choose_own_share,
    distances,
    fit_gaussians,
    fit_scales,
    likeness,
    without_itself,
)


def test_distances_are_those_of_each_place_alone() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3, 4)) * [[[1.0], [2.0], [5.0]]]
    normal = fit_gaussians(x, own=1.0)
    found = distances(x, normal.means, normal.whitenings)
    for place in range(3):
        arms = x[:, place] - x[:, place].mean(axis=0)
        ridge = places.RIDGE * np.mean([np.var(x[:, p], axis=0).sum() / 4 for p in range(3)])
        inverse = np.linalg.inv(arms.T @ arms / 200 + ridge * np.eye(4))
        by_hand = np.sqrt(np.einsum("ni,ij,nj->n", arms, inverse, arms))
        np.testing.assert_allclose(found[:, place], by_hand, rtol=1e-3)


def test_places_that_share_are_measured_by_one_covariance() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3, 4))
    normal = fit_gaussians(x, own=0.0)
    np.testing.assert_allclose(normal.whitenings[0], normal.whitenings[2], rtol=1e-5)
    assert not np.allclose(fit_gaussians(x, own=1.0).whitenings[0], normal.whitenings[0], rtol=0.01)


def test_a_row_left_out_is_as_far_as_from_a_fit_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "RIDGE", 1e-9)
    x = np.random.default_rng(0).normal(size=(30, 1, 4))
    normal = fit_gaussians(x, own=1.0)
    found = without_itself(distances(x, normal.means, normal.whitenings), 30, normal.leverage)
    for row in (0, 7, 29):
        others = fit_gaussians(np.delete(x, row, axis=0), own=1.0)
        away = distances(x[[row]], others.means, others.whitenings)
        np.testing.assert_allclose(found[row], away[0], rtol=1e-3)


def test_aligned_places_keep_their_own_covariance_and_textures_share() -> None:
    rng = np.random.default_rng(0)
    turns = [np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(20)]
    drawn = rng.normal(size=(150, 20, 6)) * [3, 2, 1, 0.5, 0.2, 0.1]
    aligned = np.einsum("npi,pij->npj", drawn, np.stack(turns))
    assert choose_own_share(aligned) >= 0.7
    assert choose_own_share(drawn) == 0.0


def test_the_means_of_places_are_their_own() -> None:
    x = np.random.default_rng(0).normal(size=(100, 2, 3)) + np.array([[0.0], [50.0]])
    normal = fit_gaussians(x.astype(np.float16), own=0.0)
    np.testing.assert_allclose(normal.means.mean(axis=1), [0, 50], atol=0.3)


def test_distances_of_all_places_come_to_one_middle_and_spread() -> None:
    rng = np.random.default_rng(0)
    found = np.exp([0.0, 1.0, 3.0] + rng.normal(size=(2000, 3)) * [0.1, 0.5, 0.2])
    logs = np.log(bring_to_scale(found, *fit_scales(found)))
    np.testing.assert_allclose(logs.mean(axis=0), 1.0, atol=0.06)
    np.testing.assert_allclose(logs.std(axis=0), 0.2, atol=0.01)


def test_distances_without_a_spread_stay_as_they_are() -> None:
    found = np.full((10, 3), 2.0, np.float32)
    np.testing.assert_allclose(bring_to_scale(found, *fit_scales(found)), found, rtol=1e-5)


def test_likeness_is_the_largest_cosine_and_never_below_0() -> None:
    arms, examples = np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 0.0]]), np.eye(2)
    np.testing.assert_allclose(likeness(arms, examples), [0.8, 0, 0])
    np.testing.assert_allclose(likeness(arms, -examples), [0, 0.8, 0])
    assert likeness(arms, examples[:0]).tolist() == [0, 0, 0]


def test_the_weight_of_a_picture_by_hand() -> None:
    x = np.random.default_rng(0).normal(size=(11, 5, 2))
    assert fit_gaussians(x, 0.4).leverage == pytest.approx((0.4 + 0.6 / 5) / 10)
    found = without_itself(np.array([0.0, 3.0, 100.0]), 11, 0.05)  # 0.05 * 9 = 0.45; 500 counts as 0.99
    np.testing.assert_allclose(found, [0, np.sqrt(1.1 * 9 / 0.55), np.sqrt(1.1 * 1e4 / 0.01)], rtol=1e-6)


def test_a_place_with_few_pictures_borrows_its_scale_from_all() -> None:
    middles, spreads = np.array([0.0, 1.0, 5.0]), np.array([1.0, 2.0, 4.0])
    found = np.exp(middles + spreads * np.where(np.arange(20) % 2, 1, -1)[:, None])  # twenty: half is its own
    factors, powers = fit_scales(found)
    wanted = 2 / np.sqrt((spreads**2 + 2**2) / 2)
    np.testing.assert_allclose(powers, wanted, rtol=1e-3)
    np.testing.assert_allclose(factors, np.exp(1 - wanted * (middles + 1) / 2), rtol=1e-3)


def test_pictures_and_places_are_measured_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(10, 7, 3))
    whole = fit_gaussians(x, 0.5)
    far = distances(x, whole.means, whole.whitenings)
    monkeypatch.setattr(places, "BLOCK", 3)
    parts = fit_gaussians(x, 0.5)
    np.testing.assert_allclose(parts.whitenings, whole.whitenings, rtol=1e-5)
    np.testing.assert_allclose(distances(x, parts.means, parts.whitenings), far, rtol=1e-4)
    assert choose_own_share(x[:, :1]) == 1.0, "a place alone has none to share with"
