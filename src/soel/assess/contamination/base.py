"""What an estimator of contamination is, and the interval that all share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from soel.types import Estimate, Evidence

COVERAGE = 0.8
SMALLEST = 2e-4  # share whose log-odds are looked at
BELOW, ABOVE = 0.65, 0.8  # log-odds by which tables differ from what labels tell; docs/choices.md says how chosen


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


def rate_among_unlabelled(contamination: float, n_rows: int, n_labelled: int, n_anomalies: int) -> float:
    """alpha-tilde: the expected share among the rows without a label, kept within [0, 0.5] for training."""
    if n_rows == n_labelled:
        return 0.0
    return float(np.clip((contamination * n_rows - n_anomalies) / (n_rows - n_labelled), 0, 0.5))


def widen(value: float, low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """An interval of one table's labels, widened by what tables differ in, within what was found.

    In log-odds the distances to the ends and that difference add up as independent errors do.
    """
    middle, start, end = logit(np.clip([value, low, high], SMALLEST, 1 - SMALLEST))
    start, end = expit([middle - np.hypot(BELOW, middle - start), middle + np.hypot(ABOVE, end - middle)])
    return float(max(start, least)), float(min(end, most))
