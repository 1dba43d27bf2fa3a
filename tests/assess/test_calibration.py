"""The calibration curve: its condition, its prior, and its fit, against a plain search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from soel.assess.calibration import PRIOR, SLOPES, Calibration, calibrate
from soel.types import Chances, Floats


def unlabelled(n: int) -> np.ndarray:
    return np.full(n, -1, np.int8)


def sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def slow_calibrate(scores: Floats, labels: np.ndarray, share: float) -> Calibration:
    """For each slope the middle by root finding; then the best of prior times likelihood."""
    best, found = -np.inf, Calibration(0, 0)
    for steepness in SLOPES:
        slope = steepness / scores.std()

        def miss(middle: float, slope: float = slope) -> float:
            return float(sigmoid(slope * (scores - middle)).mean() - share)

        middle = brentq(miss, scores.min() - 30 / slope, scores.max() + 30 / slope)
        fit = -0.5 * (np.log(steepness / PRIOR[0]) / PRIOR[1]) ** 2
        for score, label in zip(scores, labels, strict=True):
            if label >= 0:
                chance = sigmoid(np.array(slope * (score - middle)))
                fit += np.log(chance if label == 1 else 1 - chance)
        if fit > best:
            best, found = fit, Calibration(float(slope), float(middle))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_is_the_best_of_those_that_meet_the_share(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(size=40), rng.normal(2, 1, size=10)])
    labels = unlabelled(50)
    labels[rng.choice(40, 4, replace=False)] = 0
    labels[40 + rng.choice(10, 3, replace=False)] = 1
    found, expected = calibrate(scores, labels, 0.2), slow_calibrate(scores, labels, 0.2)
    assert found.slope == pytest.approx(expected.slope, rel=1e-6)
    assert found.middle == pytest.approx(expected.middle, abs=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_without_labels_the_slope_is_the_prior_s(share: float) -> None:
    scores = np.random.default_rng(0).normal(3, 2, size=400)
    found = calibrate(scores, unlabelled(400), share)
    assert found.slope * scores.std() == pytest.approx(SLOPES[np.abs(np.log(SLOPES / PRIOR[0])).argmin()])
    assert found.probabilities(scores).mean() == pytest.approx(share, abs=1e-6)


def test_labels_that_overlap_flatten_the_curve_and_clear_ones_steepen_it() -> None:
    scores = np.linspace(-2, 2, 101)
    mixed, clear = unlabelled(101), unlabelled(101)
    mixed[::5] = np.arange(21) % 2
    clear[::5] = scores[::5] > 0
    slopes = [calibrate(scores, labels, 0.5).slope for labels in (mixed, unlabelled(101), clear)]
    assert slopes[0] < slopes[1] < slopes[2]


@pytest.mark.parametrize(("share", "kept"), [(0.0, 1 / 200), (0.9, 0.5), (1e-9, 1 / 200)])
def test_a_share_is_kept_within_half_a_row_and_one_half(share: float, kept: float) -> None:
    scores = np.arange(100.0)
    assert calibrate(scores, unlabelled(100), share).probabilities(scores).mean() == pytest.approx(kept, rel=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_share_is_met_at_any_scale_of_scores(scale: float) -> None:
    """A small share puts the middle far above the largest score: how far is counted in the curve's own widths."""
    scores = np.random.default_rng(1).normal(size=300)
    plain, scaled = (calibrate(each, unlabelled(300), 0.01) for each in (scores, scores * scale))
    assert scaled.middle == pytest.approx(plain.middle * scale, rel=1e-6)
    assert scaled.middle > scores.max() * scale
    assert scaled.probabilities(scores * scale).mean() == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize(
    ("n_each", "prior", "normal", "anomaly"),
    [(5, (0.7, 0.5), 0.04, 0.65), (5, PRIOR, 0.045, 0.6), (20, PRIOR, 0.02, 0.85)],
)
def test_meeting_the_share_separates_groups(
    n_each: int, prior: tuple[float, float], normal: float, anomaly: float
) -> None:
    """Ten labels of a perfect detector give odds with caution, forty believe it."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(0, 1, 900), rng.normal(6, 1, 100)])
    labels = unlabelled(1000)
    labels[:n_each], labels[900 : 900 + n_each] = 0, 1
    probabilities = calibrate(scores, labels, 0.1, prior).probabilities(scores)
    assert probabilities.mean() == pytest.approx(0.1, abs=1e-3)
    assert probabilities[:900].mean() < normal
    assert probabilities[900:].mean() > anomaly


def test_what_a_detector_says_of_other_rows_sets_the_slope() -> None:
    """Rows whose chances follow a curve, moved by any log odds, give that curve back."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=400)
    labels = np.full(400, -1, np.int8)
    for slope in (SLOPES[4], SLOPES[10], SLOPES[16]):
        truth = Calibration(slope / scores.std(), 1.5)
        chances = truth.probabilities(scores)
        moved = expit(logit(chances) + 0.7)
        found = calibrate(scores, labels, float(chances.mean()), chances=Chances(scores, moved))
        assert found.slope == pytest.approx(truth.slope)
        assert found.middle == pytest.approx(1.5, abs=1e-3)


def test_labels_count_beside_what_a_detector_says() -> None:
    scores, labels = np.linspace(-2, 2, 60), np.full(60, -1, np.int8)
    few = Chances(scores[:3], np.full(3, 0.3))
    labels[::3] = scores[::3] > 0.5
    steep = calibrate(scores, labels, 0.35, chances=few)
    labels[::3] = np.arange(20) % 3 == 0
    assert steep.slope > 2 * calibrate(scores, labels, 0.35, chances=few).slope
