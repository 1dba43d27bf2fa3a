"""P-values by hand, their law on exchangeable rows, and lists with few false ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soel.assess.conformal import Reference, benjamini_hochberg

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


@given(WEIGHED, st.lists(FINITE, min_size=2, max_size=10))
def test_a_p_value_falls_with_the_score_and_is_never_nothing(
    rows: list[tuple[float, float]], scores: list[float]
) -> None:
    values = weigh(rows).p_values(np.sort(scores))
    assert (np.diff(values) <= 0).all()
    assert (values >= 1 / (1 + len(rows))).all()
    assert (values <= 1).all()


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


@given(st.lists(FINITE, min_size=2, max_size=30), st.floats(0.01, 1))
def test_p_values_of_exchangeable_rows_are_uniform(rows: list[float], rate: float) -> None:
    """Each row in turn is the new one: at most `rate` of them have a p-value of `rate` or less."""
    values = np.array(rows)
    each = [Reference.of(np.delete(values, i)).p_values(values[[i]])[0] for i in range(len(values))]
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
        listed = benjamini_hochberg(Reference.of(rng.normal(size=500)).p_values(scores), 0.2)
        shares.append(listed[:80].sum() / max(listed.sum(), 1))
    assert 0.1 < np.mean(shares) <= 0.2
