"""Figures worked by hand and laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from soel.assess.metrics import (
    auroc,
    class_cover_radius,
    cohen_kappa,
    cover_radius,
    f1_at_share,
    f1_score,
    fleiss_kappa,
)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_auroc_agrees_with_scikit_learn(pairs: list[tuple[bool, int]]) -> None:
    truth, scores = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs], float)
    if truth.all() or not truth.any():
        assert np.isnan(auroc(truth, scores))
    else:
        assert auroc(truth, scores) == pytest.approx(roc_auc_score(truth, scores))


def test_f1_by_hand() -> None:
    assert f1_score(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])) == 0.5
    assert f1_score(np.zeros(3), np.zeros(3)) == 0
    assert f1_at_share(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.4])) == 1


def test_f1_is_about_both_kinds_of_mistakes() -> None:
    truth = np.array([1, 1, 1, 0, 0, 0])
    assert f1_score(truth, np.array([1, 0, 0, 0, 0, 0])) == pytest.approx(2 * 1 / 4)  # precision 1, recall 1/3
    assert f1_score(truth, np.ones(6)) == pytest.approx(2 * 3 / 9)  # precision 1/2, recall 1
    assert f1_score(truth, 1 - truth) == 0


def test_f1_at_the_true_share_raises_as_many_alarms() -> None:
    truth = np.array([1, 0, 0, 0, 1])
    assert f1_at_share(truth, np.array([5.0, 4.0, 1.0, 2.0, 3.0])) == pytest.approx(0.5)  # two alarms, one right
    assert f1_at_share(truth, np.array([1.0, 4.0, 3.0, 5.0, 2.0])) == 0
    assert f1_at_share(np.array([1, 0, 0]), np.array([2.0, 2.0, 1.0])) == 0  # a tie at the cut is no alarm


def test_each_kind_is_covered_by_its_own_queries() -> None:
    # Normals at 0, 1, 2, anomalies at 3, 9. Asked: 0 and 9. Normal 2 is nearer to nobody's anomaly: 2; anomaly 3: 6.
    x, truth = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]]), np.array([False, False, False, True, True])
    assert class_cover_radius(x, np.array([0, 4]), truth) == 6
    assert cover_radius(x, np.array([0, 4])) == 3
    assert class_cover_radius(x[:3], np.array([1]), truth[:3]) == 1  # one kind alone
    assert cover_radius(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0])) == 5


codes = st.integers(0, 1)


def test_cohen_at_its_ends() -> None:
    assert cohen_kappa(np.array([0, 1, 0]), np.array([0, 1, 0])) == 1
    assert cohen_kappa(np.array([0, 1]), np.array([1, 0])) == -1
    assert np.isnan(cohen_kappa(np.array([1, 1]), np.array([1, 1])))
    assert np.isnan(cohen_kappa(np.array([]), np.array([])))


@given(st.lists(st.tuples(codes, codes), min_size=1, max_size=20))
def test_cohen_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    ours = cohen_kappa(first, second)
    if len({*first, *second}) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(cohen_kappa_score(first, second))


def test_fleiss_by_hand() -> None:
    # Four items, three annotators each. Same pairs: 1, 1/3, 1/3, 1; mean 2/3.
    counts = np.array([[3, 0], [2, 1], [1, 2], [0, 3]])
    # Both words make up half of all answers: by chance 1/2.
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))


def test_fleiss_with_different_numbers_of_annotators() -> None:
    # Two agree on the first, two of three on the second: same pairs 1 and 1/3; words 3/5 and 2/5.
    counts = np.array([[2, 0], [1, 2]])
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - 13 / 25) / (12 / 25))
    assert np.isnan(fleiss_kappa(np.array([[2, 0], [3, 0]])))
    assert np.isnan(fleiss_kappa(np.empty((0, 2))))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_fleiss_is_one_only_for_full_agreement(votes: list[int]) -> None:
    counts = np.array([[3 - n, n] for n in votes])
    kappa = fleiss_kappa(counts)
    assert np.isnan(kappa) or kappa <= 1
    if not np.isnan(kappa):
        assert (kappa == pytest.approx(1)) == all(n in (0, 3) for n in votes)
