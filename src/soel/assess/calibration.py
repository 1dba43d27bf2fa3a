"""From scores to probabilities: a logistic curve that agrees with the estimated contamination and the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from soel.types import ANOMALY, UNLABELLED, Chances, Floats, Labels

SLOPES = np.geomspace(0.2, 20, 25)  # per standard deviation of the pool's scores
PRIOR = (0.5, 0.5)  # slope and spread, log-normal: most detectors tell less than they seem to (docs/contamination.md)
SUMMARY = 2000  # quantiles that stand for a large pool
SMALLEST = 1e-6  # probability whose log odds are looked at


@dataclass(frozen=True)
class Calibration:
    """P(anomaly | score) = sigmoid(slope * (score - middle))."""

    slope: float
    middle: float

    def probabilities(self, scores: Floats) -> Floats:
        """Anomaly probabilities (n,) of scores (n,)."""
        return np.asarray(expit(self.slope * (np.asarray(scores, np.float64) - self.middle)))


def calibrate(
    scores: Floats,
    labels: Labels,
    contamination: float,
    prior: tuple[float, float] = PRIOR,
    chances: Chances | None = None,
) -> Calibration:
    """The curve whose mean over the pool is the contamination and that suits the labelled scores best.

    scores, labels: (N,). Ten labels rarely pin the slope down: it has a prior, or suits what a detector says of rows
    without a label as well. chances: that; moved in log odds so that they agree with the contamination.
    """
    spread = float(np.std(scores)) or 1.0
    share = float(np.clip(contamination, 1 / (2 * len(scores)), 0.5))
    summary = scores if len(scores) <= SUMMARY else np.quantile(scores, np.linspace(0, 1, SUMMARY))
    known = labels != UNLABELLED
    curves = [Calibration(slope / spread, _middle(summary, slope / spread, share)) for slope in SLOPES]
    answers = (labels[known] == ANOMALY).astype(np.float64)
    fits = [_log_likelihood(curve, scores[known], answers) for curve in curves]
    if chances is None or not len(chances.scores):
        expected = -0.5 * (np.log(SLOPES / prior[0]) / prior[1]) ** 2
    else:
        rest = (share * len(scores) - int((labels == ANOMALY).sum())) / max(len(scores) - int(known.sum()), 1)
        odds = logit(np.clip(chances.probabilities, SMALLEST, 1 - SMALLEST))
        moved = expit(odds - _middle(odds, 1.0, float(np.clip(rest, 1 / (2 * len(scores)), 0.5))))
        expected = np.array([_log_likelihood(curve, chances.scores, moved) for curve in curves])
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


def _log_likelihood(curve: Calibration, scores: Floats, probabilities: Floats) -> float:
    """The log likelihood of labels (m,) of 1 and 0, or its mean where they are 1 with these probabilities (m,)."""
    odds = curve.slope * (scores - curve.middle)
    return float(-(probabilities * np.logaddexp(0, -odds) + (1 - probabilities) * np.logaddexp(0, odds)).sum())
