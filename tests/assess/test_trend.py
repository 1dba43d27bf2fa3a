"""The trend against a plain loop over its grid of surfaces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from soel.assess.kriging import (
    FLAT_PART,
    INTERCEPTS,
    PRIOR_ANOMALY,
    PRIOR_NORMAL,
    SLOPE,
    SLOPE_DEVIATION,
    SLOPES,
    trend,
)
from soel.types import Floats


def log_odds_of_ranks(values: Floats) -> Floats:
    ranks = np.array([(values < value).sum() + (values == value).sum() / 2 for value in values]) / len(values)
    return np.asarray(np.log(ranks / (1 - ranks)))


def slow_trend(scores: Floats, distances: Floats, rows: np.ndarray, is_anomaly: np.ndarray) -> Floats:
    """The posterior mean at every row, surface by surface, without an interpolation."""
    by_score, by_distance = log_odds_of_ranks(scores), log_odds_of_ranks(distances)
    shares = np.empty((len(INTERCEPTS), len(SLOPES), len(SLOPES)))
    likelihoods, surfaces = np.empty_like(shares), {}
    for i, intercept in enumerate(INTERCEPTS):
        for j, first in enumerate(SLOPES):
            for k, second in enumerate(SLOPES):
                chances = expit(intercept + first * by_score + second * by_distance)
                surfaces[i, j, k] = chances
                shares[i, j, k] = chances[
                    np.argsort(scores)
                ].mean()  # in this order: some are one half but for rounding
                told = chances[rows]
                likelihoods[i, j, k] = np.log(np.where(is_anomaly, told, 1 - told)).sum()
    prior = (PRIOR_ANOMALY - 1) * np.log(shares) + (PRIOR_NORMAL - 1) * np.log(1 - shares)
    prior += np.log(np.gradient(shares, axis=0))
    slopes = -0.5 * ((SLOPES - SLOPE) / SLOPE_DEVIATION) ** 2
    prior += slopes[:, None] + slopes
    prior[shares >= 0.5] -= 50
    fit = prior + likelihoods
    weights = np.exp(fit - fit.max())
    mean = sum(weights[at] * surface for at, surface in surfaces.items()) / weights.sum()
    return np.asarray((1 - FLAT_PART) * mean + FLAT_PART * mean.mean())


@pytest.mark.parametrize("seed", range(2))
def test_the_trend_is_the_posterior_mean_over_the_surfaces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soel.assess.kriging.KNOTS", np.linspace(-5, 5, 49))  # closer: 50 rows lie within them
    rng = np.random.default_rng(seed)
    scores, distances = rng.random((2, 50))
    rows = rng.choice(50, 8, replace=False)
    is_anomaly = scores[rows] > 0.7
    found = trend(scores, distances, rows, is_anomaly)
    np.testing.assert_allclose(found, slow_trend(scores, distances, rows, is_anomaly), atol=2e-3)


def test_knots_are_close_enough() -> None:
    rng = np.random.default_rng(0)
    scores, distances = rng.random((2, 50))
    rows = np.arange(8)
    found = trend(scores, distances, rows, scores[rows] > 0.7)
    np.testing.assert_allclose(found, slow_trend(scores, distances, rows, scores[rows] > 0.7), atol=0.02)


def test_equal_values_have_equal_chances() -> None:
    scores, distances = np.repeat([0.0, 1.0], 10), np.zeros(20)
    found = trend(scores, distances, np.array([0, 10, 11]), np.array([False, True, True]))
    assert np.ptp(found[:10]) == np.ptp(found[10:]) == 0
    assert found[10] > found[0]


def test_a_part_of_the_trend_ignores_score_and_distance() -> None:
    rng = np.random.default_rng(0)
    scores, distances = rng.random((2, 1000))
    rows = np.arange(100)
    found = trend(scores, distances, rows, scores[rows] > 0.9)
    assert found.min() >= FLAT_PART * found.mean()


def test_labels_in_many_parts_count_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    scores, distances = rng.random((2, 60))
    rows, is_anomaly = np.arange(20), scores[:20] > 0.8
    whole = trend(scores, distances, rows, is_anomaly)
    monkeypatch.setattr("soel.assess.kriging.LABELS_AT_ONCE", 7)
    np.testing.assert_allclose(trend(scores, distances, rows, is_anomaly), whole, rtol=1e-9)
