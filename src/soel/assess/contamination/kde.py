"""The paper's estimator: answers weighted by the ratio of two score densities (eq:alpha-is)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.assess.contamination.base import ContaminationEstimator, wilson
from soel.types import ANOMALY, Estimate, Evidence, Floats


class KernelDensity(ContaminationEstimator):
    """Mean over the queried rows of p(s) / q(s) * y, with Gaussian kernels of width (max - min) / K.

    It is unbiased when the score decides the label; where it does not, it can be far off and above 1.
    The interval is Wilson's for the effective number of labels; it does not know that bias.
    """

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The weighted mean over all rounds."""
        weights = np.concatenate([_density_ratio(r.scores, r.scores[r.rows]) for r in rounds])
        labels = np.concatenate([r.labels for r in rounds]) == ANOMALY
        value = float(np.mean(weights * labels))
        effective = float(weights.sum() ** 2 / (weights**2).sum()) if weights.any() else 0.0
        low, high = wilson(value, effective)
        return Estimate(
            value, low, high, "kde", {"effective_labels": effective, "largest_weight": float(weights.max())}
        )


def _density_ratio(scores: Floats, queried: Floats) -> Floats:
    """p(s) / q(s) at the queried scores: (K,)."""
    width = float(np.ptp(scores)) / len(queried)
    if width == 0:
        return np.ones(len(queried))
    return np.asarray(_density(queried, scores, width) / _density(queried, queried, width))


def _density(at: Floats, samples: Floats, width: float) -> Floats:
    """Kernel density at (K,) points, one point at a time: O(N) memory."""
    return np.array([np.exp(-0.5 * ((point - samples) / width) ** 2).mean() for point in at])
