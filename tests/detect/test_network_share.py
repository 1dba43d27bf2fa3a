"""The share of anomalies by the network: within what was found, and about the whole of a large pool."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detect.incontext import share_head
from soel.detect.incontext.predictor import EncodedContext
from soel.detect.incontext.share_head import PRIOR, PretrainedShare, _quantiles, share_bins
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


class Said:
    """In the network's place: says what it is told, and remembers what it was shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, chances: np.ndarray) -> None:
        self.contexts: list[EncodedContext] = []
        self.labels: list[np.ndarray] = []
        monkeypatch.setattr(share_head, "Predictor", self.read)
        self.chances = chances

    def read(self, context: EncodedContext, labels: np.ndarray) -> Said:
        self.contexts.append(context)
        self.labels.append(labels)
        return self

    def shares(self) -> np.ndarray:
        return self.chances


def test_what_training_had_seldom_is_not_held_against_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that repeats how often shares were met has learnt nothing: all 24 bins are then equally likely."""
    Said(monkeypatch, np.array(PRIOR))
    found, bins = PretrainedShare().estimate([evidence(200, 20, 0)]), share_bins()
    assert found.value == pytest.approx(bins[12])
    assert found.low == pytest.approx(bins[2] + 0.4 * (bins[3] - bins[2]))  # a tenth of 24 is 2.4
    assert found.high == pytest.approx(bins[21] + 0.6 * (bins[22] - bins[21]))


def test_labels_of_a_large_pool_are_counted_and_the_rest_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    chances = np.zeros(24)
    chances[10] = 1.0
    said, seen = Said(monkeypatch, chances), evidence(3000, 900, 40)
    found, bins = PretrainedShare().estimate([seen]), share_bins()
    n_found, middle = int(seen.labels.sum()), (bins[10] + bins[11]) / 2
    rest = (middle * 1000 - n_found) / 960  # of the thousand that were read, forty are labelled
    assert rest > 0
    assert found.value == pytest.approx((n_found + rest * 2960) / 3000)
    assert (said.labels[0] >= 0).sum() == 40
    assert len(said.contexts[0].context.values) == 1000


@pytest.mark.parametrize(("kind", "at", "wanted"), [(1, 0, 40 / 60), (0, 23, 20 / 60)])
def test_a_count_bounds_what_the_network_says(
    kind: int, at: int, wanted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty of sixty are known: fewer than were found there cannot be, nor more than all of the other twenty."""
    Said(monkeypatch, np.where(np.arange(24) == at, 1.0, 1e-12))
    found = PretrainedShare().estimate([example_evidence(60, 40, 0, kind=kind)])
    assert (found.low, found.value, found.high) == pytest.approx((wanted, wanted, wanted))


def test_columns_are_read_in_an_order_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    said, seen = Said(monkeypatch, np.array(PRIOR)), evidence(50, 5, 4)
    turned = Evidence(seen.scores, seen.embeddings[:, ::-1], seen.rows, seen.labels)
    for each in (seen, turned):
        PretrainedShare().estimate([each])
    np.testing.assert_array_equal(said.contexts[0].context.values, said.contexts[1].context.values)
    np.testing.assert_array_equal(said.labels[0], said.labels[1])
