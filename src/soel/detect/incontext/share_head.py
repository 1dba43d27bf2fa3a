"""The share of anomalies as the network tells it: it was trained to say how many there are in a pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.assess.share import COVERAGE, ContaminationEstimator
from soel.detect.incontext.network import HIGHEST_SHARE, LOWEST_SHARE, N_SHARE_BINS
from soel.detect.incontext.predictor import EncodedContext, PoolContext, Predictor
from soel.detect.incontext.samples import choose_rows, column_order, keys, wide_views
from soel.types import ANOMALY, UNLABELLED, Estimate, Evidence, Floats, Labels

CONTEXT_ROWS = 1000
# How often a pool of the training tasks had its share in each bin (pretraining.train.share_prior). It is taken out of
# what the network says: few tasks had shares above 25 %, and users' pools may.
PRIOR = (
    0.0039, 0.0042, 0.0049, 0.0071, 0.0147, 0.0293, 0.0466, 0.057, 0.0588, 0.0625, 0.0691, 0.072,
    0.0722, 0.0714, 0.0705, 0.0691, 0.0668, 0.0635, 0.0548, 0.0384, 0.0207, 0.0093, 0.0046, 0.003,
)  # fmt: skip


class PretrainedShare(ContaminationEstimator):
    """The network reads the pool's points and all labels, and gives a probability to each bin of shares.

    Its training had few shares above a quarter: that is taken out, so that all log odds were equally likely before.
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
        rows = choose_rows(keys(points), labels, CONTEXT_ROWS)
        context = PoolContext(points[rows], wide_views(points[rows], 0))
        tail = (1 - COVERAGE) / 2
        chances = Predictor(EncodedContext(context), labels[rows]).shares() / np.array(PRIOR)
        shares = _quantiles(chances, np.array([tail, 0.5, 1 - tail]))
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
