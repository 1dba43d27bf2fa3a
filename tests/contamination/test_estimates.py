"""Estimates worked by hand, and what kriging is for."""

from __future__ import annotations

import numpy as np
import pytest

from soel.contamination import ESTIMATORS
from soel.contamination.base import rate_among_unlabelled, wilson
from soel.contamination.trend import trend
from soel.types import Evidence


def test_kde_worked_by_hand() -> None:
    # Scores 0, 1 queried of 0, 0, 1: width 1/2; e = exp(-2). p(1) = (1 + 2e)/3, q(1) = (1 + e)/2; only 1 is an anomaly.
    scores = np.array([0.0, 0.0, 1.0])
    e = np.exp(-2)
    expected = ((1 + 2 * e) / 3) / ((1 + e) / 2) / 2
    single = Evidence(scores, scores[:, None], np.array([0, 2]), np.array([0, 1], np.int8))
    assert ESTIMATORS.create("kde").estimate([single]).value == pytest.approx(expected)


def test_cover_worked_by_hand() -> None:
    x = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    single = Evidence(x[:, 0], x, np.array([0, 3]), np.array([0, 1], np.int8))
    assert ESTIMATORS.create("cover").estimate([single]).value == pytest.approx(0.4)


def outer_rows(seed: int) -> tuple[Evidence, float]:
    """Anomalies lie outside, the score knows nothing, and outer rows are asked more often."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2000, 4)).astype(np.float32)
    ranks = np.argsort(np.argsort(np.linalg.norm(x, axis=1)))
    truth = rng.random(2000) < 0.6 * (ranks > 1600)
    rows = rng.choice(2000, 30, replace=False, p=ranks**4 / (ranks**4).sum())
    return Evidence(rng.random(2000), x, rows, truth[rows].astype(np.int8)), float(truth.mean())


def test_labels_of_outer_rows_are_not_taken_for_everyones() -> None:
    cases = [outer_rows(seed) for seed in range(8)]
    errors = [ESTIMATORS.create("kriging").estimate([rows]).value - share for rows, share in cases]
    assert np.mean([rows.labels.mean() - share for rows, share in cases]) > 0.2
    assert abs(np.mean(errors)) < 0.05
    assert np.mean(np.abs(errors)) < 0.07


def test_the_trend_rises_with_what_the_labels_rise_with() -> None:
    rng = np.random.default_rng(0)
    scores, distances = rng.random((2, 1000))
    rows = np.arange(100)
    chances = trend(scores, distances, rows, distances[rows] > 0.8)
    far, near = chances[distances > 0.8].mean(), chances[distances < 0.5].mean()
    assert far > 5 * near
    assert abs(np.corrcoef(chances, scores)[0, 1]) < 0.2
    assert abs(chances.mean() - 0.2) < 0.05


def test_rate_among_the_unlabelled() -> None:
    assert rate_among_unlabelled(0.1, 100, 10, 5) == pytest.approx(5 / 90)
    assert rate_among_unlabelled(0.01, 100, 10, 5) == 0
    assert rate_among_unlabelled(0.9, 100, 10, 0) == 0.5
    assert rate_among_unlabelled(0.1, 10, 10, 1) == 0


def test_wilson_against_the_textbook() -> None:
    low, high = wilson(0.5, 10)  # z = 1.2816
    assert low == pytest.approx(0.3122, abs=1e-3)
    assert high == pytest.approx(0.6878, abs=1e-3)
    assert wilson(0.5, 0) == (0, 1)
