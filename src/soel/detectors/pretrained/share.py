"""The share of anomalies as the network tells it: it was trained to say how many there are in a pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.contamination.base import COVERAGE, ContaminationEstimator
from soel.detectors.pretrained.context import choose, column_order
from soel.detectors.pretrained.network import HIGHEST_SHARE, LOWEST_SHARE, N_SHARE_BINS
from soel.detectors.pretrained.reading import Context, Reading
from soel.detectors.pretrained.views import wide_views
from soel.detectors.pretrained.weights import VERSION
from soel.types import ANOMALY, UNLABELLED, Estimate, Evidence, Floats, Labels

CONTEXT_ROWS = 1000


class PretrainedShare(ContaminationEstimator):
    """The network reads the pool's points and all labels, and gives a probability to each bin of shares.

    What it says is about the rows it has read. Labelled ones are all among them, and of a large pool only some of the
    others: so the share is that of the rest, and what was found is added.
    """

    reads_scores = False

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The median of the bins; their 10 and 90 % quantiles, within what was found."""
        points = np.asarray(rounds[-1].embeddings, np.float32)
        labels = _labels(rounds, len(points))
        n_rows, n_known, n_found = len(points), int((labels != UNLABELLED).sum()), int((labels == ANOMALY).sum())
        if n_known == n_rows:
            return Estimate(n_found / n_rows, n_found / n_rows, n_found / n_rows, "pretrained")
        points = points[:, column_order(points)]
        rows = choose(points, labels, CONTEXT_ROWS, seed=0)
        context = Context(points[rows], wide_views(points[rows], 0), 0, VERSION)
        tail = (1 - COVERAGE) / 2
        shares = _quantiles(Reading(context, labels[rows]).shares(), np.array([tail, 0.5, 1 - tail]))
        n_free = len(rows) - int((labels[rows] != UNLABELLED).sum())
        rest = ((shares * len(rows) - int((labels[rows] == ANOMALY).sum())) / n_free).clip(0, 1)
        low, value, high = ((n_found + rest * (n_rows - n_known)) / n_rows).tolist()
        return Estimate(value, low, high, "pretrained")


def share_bins() -> Floats:
    """The borders (b + 1,) of the bins, evenly spaced in log odds."""
    low, high = (np.log(share / (1 - share)) for share in (LOWEST_SHARE, HIGHEST_SHARE))
    return np.asarray(1 / (1 + np.exp(-np.linspace(low, high, N_SHARE_BINS + 1))))


def _quantiles(probabilities: Floats, at: Floats) -> Floats:
    """Shares (q,) below which so much of the probability (b,) lies."""
    below = np.concatenate([[0.0], np.cumsum(probabilities, dtype=np.float64)])
    return np.interp(at, below / below[-1], share_bins())


def _labels(rounds: Sequence[Evidence], n_rows: int) -> Labels:
    labels = np.full(n_rows, UNLABELLED, np.int8)
    for told in rounds:
        labels[told.rows] = told.labels
    return labels
