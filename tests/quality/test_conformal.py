"""P-values by hand, their law on exchangeable rows, and lists with few false ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soel.quality.conformal import benjamini_hochberg, cut_at_rate, p_values, trim

REFERENCE = np.array([1.0, 2.0, 3.0, 4.0])
FINITE = st.floats(-100, 100)


@pytest.mark.parametrize(("score", "p"), [(0, 1.0), (1, 1.0), (1.5, 0.8), (4, 0.4), (4.5, 0.2)])
def test_p_values_by_hand(score: float, p: float) -> None:
    assert p_values(np.array([score]), REFERENCE)[0] == pytest.approx(p)


def test_a_trimmed_anomaly_sharpens_p_values() -> None:
    assert p_values(np.array([3.5]), REFERENCE)[0] == pytest.approx(2 / 5)
    assert p_values(np.array([3.5]), REFERENCE[:3])[0] == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("rate", "cut"), [(0.1, np.inf), (0.2, 4.0), (0.39, 4.0), (0.4, 3.0), (0.8, 1.0), (0.99, 1.0), (1.0, -np.inf)]
)
def test_the_cut_of_a_rate(rate: float, cut: float) -> None:
    assert cut_at_rate(rate, REFERENCE) == cut


def test_without_a_reference_nothing_can_be_told() -> None:
    assert cut_at_rate(0.5, np.zeros(0)) == np.inf


@given(st.lists(FINITE, min_size=1, max_size=30), st.floats(0, 1), st.lists(FINITE, max_size=10))
def test_scores_above_the_cut_are_those_with_small_p_values(
    reference: list[float], rate: float, scores: list[float]
) -> None:
    known, new = np.array(reference), np.array(scores)
    assert ((new > cut_at_rate(rate, known)) == (p_values(new, known) <= rate)).all()


@given(st.lists(FINITE, min_size=2, max_size=30), st.floats(0.01, 1))
def test_p_values_of_exchangeable_rows_are_uniform(rows: list[float], rate: float) -> None:
    """Each row in turn is the new one: at most `rate` of them have a p-value of `rate` or less."""
    values = np.array(rows)
    each = [p_values(values[[i]], np.delete(values, i))[0] for i in range(len(values))]
    assert np.mean(np.array(each) <= rate) <= rate
    if len(set(rows)) == len(rows):
        assert sorted(each) == pytest.approx(np.arange(1, len(values) + 1) / len(values))


def test_a_list_by_hand() -> None:
    # n = 4, rate 0.2: limits 0.05, 0.1, 0.15, 0.2. The third holds, though the second does not.
    assert benjamini_hochberg(np.array([0.01, 0.5, 0.14, 0.12]), 0.2).tolist() == [True, False, True, True]
    assert not benjamini_hochberg(np.array([0.06, 0.5, 0.4, 0.3]), 0.2).any()
    assert benjamini_hochberg(np.zeros(0), 0.2).tolist() == []


def test_the_expected_share_of_false_ones_stays_below_the_rate() -> None:
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        scores = np.concatenate([rng.normal(size=80), rng.normal(3, 1, 20)])
        listed = benjamini_hochberg(p_values(scores, rng.normal(size=500)), 0.2)
        shares.append(listed[:80].sum() / max(listed.sum(), 1))
    assert 0.1 < np.mean(shares) <= 0.2


def test_suspected_rows_are_left_out_by_hand() -> None:
    reference = np.array([1.0, 5.0, 3.0, 4.0, 2.0])
    # From the highest: 0.6, 0.6 + 0.6 = 1.2 (a whole: 4 is left out), 1.5, 2.0 (2 is left out), 2.1.
    left = trim(reference, np.array([0.1, 0.6, 0.3, 0.6, 0.5]))
    np.testing.assert_array_equal(left, [1, 5, 3])
    np.testing.assert_array_equal(trim(reference, np.zeros(5)), reference)
    assert len(trim(reference, np.ones(5))) == 0


@given(st.lists(st.tuples(FINITE, st.floats(0, 1)), min_size=1, max_size=30), st.lists(FINITE, max_size=10))
def test_leaving_out_takes_as_many_as_are_suspected_and_never_raises_a_count_above(
    rows: list[tuple[float, float]], scores: list[float]
) -> None:
    reference, suspicion = (np.array(column) for column in zip(*rows, strict=True))
    left = trim(reference, suspicion)
    assert len(reference) - len(left) == np.floor(suspicion.sum() + 1e-9)
    for score in scores:
        n_suspected = suspicion[reference >= score].sum()
        assert (reference >= score).sum() - (left >= score).sum() <= n_suspected + 1e-6
