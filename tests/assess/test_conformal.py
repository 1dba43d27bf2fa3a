"""P-values by hand, their law on exchangeable rows, and lists with few false ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from soel.assess.conformal import FitFigures, Reference, UnsureBand, benjamini_hochberg
from soel.types import Estimate

REFERENCE = Reference.of(np.array([1.0, 2.0, 3.0, 4.0]))
FINITE = st.floats(-100, 100)


@pytest.mark.parametrize(("score", "p"), [(0, 1.0), (1, 1.0), (1.5, 0.8), (4, 0.4), (4.5, 0.2)])
def test_p_values_by_hand(score: float, p: float) -> None:
    assert REFERENCE.p_values(np.array([score]))[0] == pytest.approx(p)


def test_weighed_p_values_by_hand() -> None:
    # Weights 1, 1, 0.5, 0.25 of the scores 1 to 4: 3.75 with the new row, 1.25 of it above 3.5 and 1.75 above 2.5.
    weighed = Reference(REFERENCE.scores, np.array([1, 1, 0.5, 0.25]))
    found = weighed.p_values(np.array([4.5, 4, 3.5, 2.5, 0]))
    np.testing.assert_allclose(found, np.array([1, 1.25, 1.25, 1.75, 3.75]) / 3.75)
    assert [weighed.cut(rate) for rate in (0.26, 0.3, 0.34, 0.5, 1)] == [np.inf, 4, 3, 2, -np.inf]


@pytest.mark.parametrize(
    ("rate", "cut"), [(0.1, np.inf), (0.2, 4.0), (0.39, 4.0), (0.4, 3.0), (0.8, 1.0), (0.99, 1.0), (1.0, -np.inf)]
)
def test_the_cut_of_a_rate(rate: float, cut: float) -> None:
    assert REFERENCE.cut(rate) == cut


def test_without_a_reference_nothing_can_be_told() -> None:
    assert Reference.none().cut(0.5) == np.inf
    assert not Reference.none()
    assert REFERENCE


WEIGHED = st.lists(st.tuples(FINITE, st.floats(0, 1)), min_size=1, max_size=30)


def weigh(rows: list[tuple[float, float]]) -> Reference:
    scores, weights = (np.array(column) for column in zip(*rows, strict=True))
    return Reference(scores, weights)


@given(WEIGHED, st.floats(0, 1), st.lists(FINITE, max_size=10))
def test_scores_above_the_cut_are_those_with_small_p_values(
    rows: list[tuple[float, float]], rate: float, more: list[float]
) -> None:
    reference = weigh(rows)
    scores = np.append(reference.scores, more)  # ties with it, too
    assert ((scores > reference.cut(rate)) == (reference.p_values(scores) <= rate)).all()


@given(WEIGHED, FINITE)
def test_less_weight_on_the_highest_score_never_raises_a_p_value_below_it(
    rows: list[tuple[float, float]], score: float
) -> None:
    """What is suspected weighs less: alarms become more, not fewer."""
    reference = weigh(rows)
    lighter = reference.weights.copy()
    lighter[reference.scores.argmax()] *= 0.5
    below = np.array([min(score, float(reference.scores.max()))])
    assert Reference(reference.scores, lighter).p_values(below)[0] <= reference.p_values(below)[0] + 1e-12


@given(st.lists(FINITE, min_size=2, max_size=30), st.lists(FINITE, max_size=10), st.floats(0.01, 1))
def test_anomalies_that_weigh_nothing_leave_p_values_exact(
    normals: list[float], anomalies: list[float], rate: float
) -> None:
    """Each normal row in turn is the new one, beside the others and anomalies of weight 0."""
    values, others = np.array(normals), np.array(anomalies)
    each = [
        Reference(
            np.append(np.delete(values, i), others), np.append(np.ones(len(values) - 1), np.zeros(len(others)))
        ).p_values(values[[i]])[0]
        for i in range(len(values))
    ]
    assert np.mean(np.array(each) <= rate) <= rate


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
        listed = benjamini_hochberg(Reference.of(rng.normal(size=500)).p_values(scores), 0.2)
        shares.append(listed[:80].sum() / max(listed.sum(), 1))
    assert 0.1 < np.mean(shares) <= 0.2


SHARES = st.floats(0, 1)
SCORES = arrays(np.float64, st.integers(1, 40), elements=st.floats(-100, 100))


def test_without_a_pool_nothing_is_said() -> None:
    assert not UnsureBand.of(np.zeros(0), 0.1, 0.5).holds(np.arange(5.0)).any()


@given(SCORES, SHARES, SHARES)
def test_exactly_the_rows_that_change_sides_are_not_sure(scores: np.ndarray, one: float, other: float) -> None:
    least, most = sorted((one, other))
    sides = [scores > np.quantile(scores, 1 - share) for share in (least, most)]
    assert (UnsureBand.of(scores, least, most).holds(scores) == (sides[0] != sides[1])).all()


def test_figures_by_hand() -> None:
    scores, labels = np.arange(10.0), np.full(10, -1, np.int8)
    labels[[9, 8, 2]] = [1, 0, 1]
    found = FitFigures.of(scores, labels, 6.0, Estimate(0.2, 0.1, 0.4, "by hand"))
    # Alarms: 7, 8 and 9. Between the quantiles at 0.6 (5.4) and 0.9 (8.1) lie 6, 7 and 8, of which 8 is labelled.
    assert found == FitFigures(n_alarms=3, n_unsure=2)
