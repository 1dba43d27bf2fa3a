"""How many alarms are real by their probabilities, and how far probabilities can be trusted."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln

from soel.assess.quality import COVERAGE, Bounds
from soel.types import Floats

WORTH = 3.0  # labels that the mean probability of alarms is worth; benchmarks/choices.md says how chosen
BINS = 10
ROUNDING = 1e-9  # a count that holds just as much as is wanted is enough, on any machine


def real_alarms(probabilities: Floats, n_known: int = 0, coverage: float = COVERAGE) -> Bounds:
    """How many alarms are anomalies, roughly. probabilities: (n,) of the unlabelled ones. n_known: labelled anomalies.

    A Beta-binomial count around the mean probability, which is worth as many labels as tables have shown.
    """
    n = len(probabilities)
    if not n:
        return Bounds(n_known, n_known, n_known)
    mean = float(np.clip(np.mean(probabilities), 1e-3, 1 - 1e-3))
    counts = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    real, false = WORTH * mean, WORTH * (1 - mean)
    mass = np.cumsum(np.exp(ways + betaln(counts + real, n - counts + false) - betaln(real, false)))
    risk = (1 - coverage) / 2
    low, high = np.searchsorted(mass + ROUNDING, [risk, 1 - risk])
    return Bounds(n_known + n * mean, n_known + int(low), n_known + int(min(high, n)))


def calibration_error(is_anomaly: np.ndarray, probabilities: Floats) -> float:
    """The expected gap between probability and frequency, over ten bins of equal width."""
    bins = np.minimum((np.asarray(probabilities) * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, np.asarray(is_anomaly, float) - probabilities, BINS)
    return float(np.abs(gaps).sum() / len(probabilities))
