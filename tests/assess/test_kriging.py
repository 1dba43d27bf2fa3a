"""Kriging against a slow version with whole matrices, and its posterior against scipy's Beta distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from soel.assess.kriging import (
    FLAT_PART,
    INTERCEPTS,
    MODEL_ERROR,
    PRIOR_ANOMALY,
    PRIOR_NORMAL,
    SLOPE,
    SLOPE_DEVIATION,
    SLOPES,
    SMOOTH_PART,
    Kriging,
    _Pool,
    _posterior,
    trend,
)
from soel.assess.share import COVERAGE, widen
from soel.types import Evidence, Floats

N = 40


def pool(seed: int = 0, n_labels: int = 9) -> _Pool:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 3)) + 5
    rows = rng.choice(N, n_labels, replace=False)
    return _Pool(rng.random(N), x, rows, rng.random(n_labels) < 0.4)


def slow_covariance(seen: _Pool) -> tuple[Floats, Floats]:
    """Covariances (N, N) of all labels, in units of share * (1 - share), and the trend (N,) over its mean."""
    x = seen.embeddings - seen.embeddings.mean(axis=0)
    chances = trend(seen.scores, np.linalg.norm(x, axis=1), seen.rows, seen.is_anomaly)
    share = chances.mean()
    gaps = np.linalg.norm(x[:, None] - x[None], axis=2)
    length = np.median(gaps[~np.eye(N, dtype=bool)])
    deviations = np.sqrt(chances * (1 - chances) / (share * (1 - share)))
    covariance = SMOOTH_PART * np.exp(-gaps / length) * np.outer(deviations, deviations)
    np.fill_diagonal(covariance, deviations**2)
    return covariance, chances / share


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_the_best_unbiased_predictor(seed: int) -> None:
    seen = pool(seed)
    covariance, rise = slow_covariance(seen)
    weights, variance = seen.predictor()
    n = len(seen.rows)
    # Least variance under one condition: the equations of Lagrange, as one system.
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = covariance[np.ix_(seen.rows, seen.rows)]
    system[:n, n] = system[n, :n] = rise[seen.rows]
    to_pool = covariance[seen.rows].mean(axis=1)
    expected = np.linalg.solve(system, np.append(to_pool, 1.0))[:n]
    np.testing.assert_allclose(weights, expected, rtol=1e-5, atol=1e-8)
    assert weights @ rise[seen.rows] == pytest.approx(1)
    known = covariance[np.ix_(seen.rows, seen.rows)]
    error = expected @ known @ expected - 2 * expected @ to_pool + covariance.mean()
    assert variance == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize(("mean_label", "variance", "n_found"), [(0.1, 0.05, 2), (0.3, 0.02, 3), (0.02, 0.1, 0)])
def test_the_posterior_is_a_beta_distribution_below_one_half(mean_label: float, variance: float, n_found: int) -> None:
    n_rows, n_labels = 1000, 20
    middle, low, high, worth = _posterior(mean_label, variance, n_rows, n_labels, n_found)
    rest = n_rows - n_labels
    assert worth == pytest.approx(1 / (variance * (n_rows / rest) ** 2 + MODEL_ERROR))
    share = (n_rows * mean_label - n_found) / rest
    found = beta(PRIOR_ANOMALY + worth * share, PRIOR_NORMAL + worth * (1 - share))
    top = (0.5 * n_rows - n_found) / rest
    tail = (1 - COVERAGE) / 2
    quantiles = found.ppf(np.array([0.5, tail, 1 - tail]) * found.cdf(top))
    if worth * share < 0.5:
        quantiles[1] = 0
    np.testing.assert_allclose([middle, low, high], (n_found + rest * quantiles) / n_rows, atol=2e-3)


def test_few_effective_anomalies_leave_room_for_none() -> None:
    _, low, _, worth = _posterior(0.011, 0.05, 1000, 20, 10)
    assert worth * (0.011 * 1000 - 10) / 980 < 0.5
    assert low == 10 / 1000  # all of them were found


def test_more_than_half_found_is_more_than_half() -> None:
    middle, low, high, _ = _posterior(0.7, 0.05, 100, 80, 60)
    assert 0.6 <= low <= middle <= high <= 0.8


def test_all_rows_labelled_leave_nothing_to_estimate() -> None:
    labels = np.array([1, 0, 0, 1, 0], np.int8)
    seen = Evidence(np.zeros(5), np.zeros((5, 1)), np.arange(5), labels)
    found = Kriging().estimate([seen])
    assert (found.value, found.low, found.high) == (0.4, 0.4, 0.4)
    assert found.diagnostics["effective_labels"] == 5


def test_the_newest_look_counts() -> None:
    seen = pool()
    labels = seen.is_anomaly.astype(np.int8)
    old = Evidence(np.zeros(N), np.zeros((N, 2)), seen.rows[:4], labels[:4])
    new = Evidence(seen.scores, seen.embeddings, seen.rows[4:], labels[4:])
    whole = Evidence(seen.scores, seen.embeddings, seen.rows, labels)
    assert Kriging().estimate([old, new]) == Kriging().estimate([whole])


def test_an_interval_is_widened_by_what_tables_differ_in() -> None:
    # Log-odds of 0.5, 0.3 and 0.7 are 0 and -+0.847. hypot(0.65, 0.847) = 1.068, hypot(0.8, 0.847) = 1.165.
    low, high = widen(0.5, 0.3, 0.7, 0.0, 1.0)
    assert low == pytest.approx(1 / (1 + np.exp(1.0679)), abs=1e-4)
    assert high == pytest.approx(1 / (1 + np.exp(-1.1652)), abs=1e-4)
    assert widen(0.5, 0.3, 0.7, 0.4, 0.6) == (0.4, 0.6)  # what was found bounds it
    low, high = widen(0.0, 0.0, 0.0, 0.0, 1.0)
    assert 0 <= low < high < 0.001


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


@pytest.mark.parametrize(("seed", "knots", "error"), [(0, 49, 2e-3), (1, 49, 2e-3), (0, None, 0.02)])
def test_the_trend_is_the_posterior_mean_over_the_surfaces(
    seed: int, knots: int | None, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More closely with knots that are closer; 50 rows lie within them."""
    if knots is not None:
        monkeypatch.setattr("soel.assess.kriging.KNOTS", np.linspace(-5, 5, knots))
    rng = np.random.default_rng(seed)
    scores, distances = rng.random((2, 50))
    rows = rng.choice(50, 8, replace=False)
    is_anomaly = scores[rows] > 0.7
    found = trend(scores, distances, rows, is_anomaly)
    np.testing.assert_allclose(found, slow_trend(scores, distances, rows, is_anomaly), atol=error)
