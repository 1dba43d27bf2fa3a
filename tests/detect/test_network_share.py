"""The share of anomalies by the network: within what was found, and about the whole of a large pool."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect.incontext.share_head import PretrainedShare, _quantiles, share_bins
from soel.testing.learning_laws import example_evidence
from soel.types import Evidence


def evidence(n_rows: int, n_anomalies: int, n_labels: int, seed: int = 0) -> Evidence:
    """Two clusters apart, and labels of rows drawn uniformly."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) < n_anomalies
    x = (rng.normal(size=(n_rows, 4)) + 5 * truth[:, None]).astype(np.float32)
    rows = rng.choice(n_rows, n_labels, replace=False)
    return Evidence(np.linalg.norm(x, axis=1), x, rows, truth[rows].astype(np.int8))


def test_quantiles_by_hand() -> None:
    bins = share_bins()
    probabilities = np.zeros(len(bins) - 1)
    probabilities[3], probabilities[4] = 0.5, 0.5
    low, middle, high = _quantiles(probabilities, np.array([0.25, 0.5, 0.75]))
    assert low == pytest.approx((bins[3] + bins[4]) / 2)
    assert middle == pytest.approx(bins[4])
    assert high == pytest.approx((bins[4] + bins[5]) / 2)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_two_clusters_are_counted_in_a_pool_larger_than_the_context(share: float) -> None:
    found = PretrainedShare().estimate([evidence(5000, int(5000 * share), 30)])
    assert found.low <= share <= found.high
    assert abs(found.value - share) < 0.3 * share


def test_what_was_found_bounds_the_interval() -> None:
    seen = example_evidence(60, 40, 0, kind=1)
    found = PretrainedShare().estimate([seen])
    assert 40 / 60 <= found.low <= found.value <= found.high <= 1
    none = PretrainedShare().estimate([example_evidence(60, 40, 0, kind=0)])
    assert none.high <= 20 / 60


def test_all_labelled_is_a_count() -> None:
    seen = evidence(60, 12, 60)
    found = PretrainedShare().estimate([seen])
    assert (found.low, found.value, found.high) == (0.2, 0.2, 0.2)


def test_later_answers_count_as_earlier_ones() -> None:
    seen = evidence(300, 60, 20)
    halves = [
        Evidence(seen.scores, seen.embeddings, seen.rows[part], seen.labels[part])
        for part in (slice(10), slice(10, 20))
    ]
    assert PretrainedShare().estimate(halves) == PretrainedShare().estimate([seen])
