"""From scores to probabilities: a logistic curve that agrees with the estimated contamination and the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from soel.types import ANOMALY, UNLABELLED, Floats, Labels

SLOPES = np.geomspace(0.2, 20, 25)  # per standard deviation of the pool's scores
PRIOR = (0.5, 0.5)  # slope and spread, log-normal: most detectors tell less than they seem to (docs/contamination.md)
SUMMARY = 2000  # quantiles that stand for a large pool


@dataclass(frozen=True)
class Calibration:
    """P(anomaly | score) = sigmoid(slope * (score - middle))."""

    slope: float
    middle: float

    def probabilities(self, scores: Floats) -> Floats:
        """Anomaly probabilities (n,) of scores (n,)."""
        return np.asarray(expit(self.slope * (np.asarray(scores, np.float64) - self.middle)))


def calibrate(scores: Floats, labels: Labels, contamination: float, prior: tuple[float, float] = PRIOR) -> Calibration:
    """The curve whose mean over the pool is the contamination and that suits the labelled scores best.

    scores, labels: (N,). The slope has a prior, since ten labels rarely pin it down.
    """
    spread = float(np.std(scores)) or 1.0
    share = float(np.clip(contamination, 1 / (2 * len(scores)), 0.5))
    summary = scores if len(scores) <= SUMMARY else np.quantile(scores, np.linspace(0, 1, SUMMARY))
    known = labels != UNLABELLED
    curves = [Calibration(slope / spread, _middle(summary, slope / spread, share)) for slope in SLOPES]
    fits = [_log_likelihood(curve, scores[known], labels[known]) for curve in curves]
    expected = -0.5 * (np.log(SLOPES / prior[0]) / prior[1]) ** 2
    return curves[int(np.argmax(np.array(fits) + expected))]


def _middle(scores: Floats, slope: float, share: float) -> float:
    """The middle at which the mean probability is `share`, by bisection."""
    low, high = float(scores.min()) - 50 / slope, float(scores.max()) + 50 / slope
    for _ in range(60):
        middle = (low + high) / 2
        if expit(slope * (scores - middle)).mean() > share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _log_likelihood(curve: Calibration, scores: Floats, labels: Labels) -> float:
    signs = np.where(labels == ANOMALY, 1.0, -1.0)
    return float(-np.logaddexp(0, -signs * curve.slope * (scores - curve.middle)).sum())
