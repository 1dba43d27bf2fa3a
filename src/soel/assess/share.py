"""What an estimator of contamination is, and the interval that all share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from soel.errors import ConfigError
from soel.numeric import nearest_exactly
from soel.types import ANOMALY, UNLABELLED, Estimate, Evidence, Floats, Labels

COVERAGE = 0.8
SMALLEST = 2e-4  # share whose log-odds are looked at
BELOW, ABOVE = 0.65, 0.8  # log-odds by which tables differ from what labels tell; benchmarks/choices.md says how chosen


class ContaminationEstimator(ABC):
    """Guesses the share of anomalies in the pool from all rounds of answers, weighted by round size.

    `version`: raised whenever the same rounds give another value. `reads_scores`: whether it looks at the scores of the
    rounds; where it does not, they may be zeros.
    """

    version: ClassVar[int] = 1
    reads_scores: ClassVar[bool] = True

    @abstractmethod
    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The estimate with an 80 % interval."""


def wilson(share: float, n_labels: float) -> tuple[float, float]:
    """Wilson's interval for a share seen among so many uniform labels."""
    if n_labels <= 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + COVERAGE / 2)
    share = float(np.clip(share, 0, 1))
    middle = share + z**2 / (2 * n_labels)
    half = z * np.sqrt(share * (1 - share) / n_labels + z**2 / (4 * n_labels**2))
    width = 1 + z**2 / n_labels
    return float(max(0.0, (middle - half) / width)), float(min(1.0, (middle + half) / width))


def rate_among_unlabelled(estimate: Estimate, labels: Labels) -> float:
    """alpha-tilde: the expected share among the rows without a label, kept within [0, 0.5] for training.

    Nothing is suspected where the share is only assumed.
    """
    n_rows, n_labelled, n_anomalies = len(labels), int((labels != UNLABELLED).sum()), int((labels == ANOMALY).sum())
    if estimate.method == "assumed" or n_rows == n_labelled:
        return 0.0
    return float(np.clip((estimate.value * n_rows - n_anomalies) / (n_rows - n_labelled), 0, 0.5))


def leave_out(estimate: Estimate, labels: Labels, selected: np.ndarray) -> Estimate:
    """The share among the other rows of a pool, of which some (N,) labelled ones were selected by their scores."""
    n_rows, n_left = len(labels), int((~selected).sum())
    if n_left == n_rows or not n_left:
        return estimate
    n_found = int((labels[selected] == ANOMALY).sum())
    shares = np.array([estimate.low, estimate.value, estimate.high])
    low, value, high = np.clip((shares * n_rows - n_found) / n_left, 0, 1).tolist()
    return replace(estimate, low=low, value=value, high=high)


def widen(value: float, low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """An interval of one table's labels, widened by what tables differ in, within what was found.

    In log-odds the distances to the ends and that difference add up as independent errors do.
    """
    middle, start, end = logit(np.clip([value, low, high], SMALLEST, 1 - SMALLEST))
    start, end = expit([middle - np.hypot(BELOW, middle - start), middle + np.hypot(ABOVE, end - middle)])
    return float(max(start, least)), float(min(end, most))


class NearestLabel(ContaminationEstimator):
    """The share of rows whose nearest queried row is an anomaly.

    The interval is Wilson's for the effective number of labels, 1 / sum of squared cell shares: one
    huge cell counts like one label.
    """

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The cover by the rows of all rounds, in the newest embedding."""
        rows = np.concatenate([r.rows for r in rounds])
        labels = np.concatenate([r.labels for r in rounds]) == ANOMALY
        shares = cell_shares(rounds[-1].embeddings, rows)
        value = float(shares[labels].sum())
        effective = float(1 / (shares**2).sum())
        low, high = wilson(value, effective)
        return Estimate(value, low, high, "cover", {"effective_labels": effective, "largest_cell": float(shares.max())})


def cell_shares(embeddings: Floats, rows: np.ndarray) -> Floats:
    """Share (K,) of the pool that is nearest to each of these rows."""
    x = np.asarray(embeddings, np.float32)
    return np.bincount(nearest_exactly(x, x[rows])[0], minlength=len(rows)) / len(x)


class Fixed(ContaminationEstimator):
    """The same share whatever the answers."""

    def __init__(self, value: float) -> None:
        if not 0 <= value <= 0.5:
            raise ConfigError(f"The contamination must lie between 0 and 0.5, got {value}.")
        self.value = value

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        return Estimate(self.value, self.value, self.value, "fixed")


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
