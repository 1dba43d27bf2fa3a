"""Kappa worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from soel.assess.metrics import cohen_kappa, fleiss_kappa

codes = st.integers(0, 1)


def test_cohen_by_hand() -> None:
    # 10 items: both say 1 four times, both 0 three times, apart three times (1/0 twice, 0/1 once).
    first = np.array([1, 1, 1, 1, 0, 0, 0, 1, 1, 0])
    second = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 1])
    # observed 0.7; the first says 1 in 6 of 10, the second in 5 of 10: by chance 0.6 * 0.5 + 0.4 * 0.5 = 0.5
    assert cohen_kappa(first, second) == pytest.approx((0.7 - 0.5) / 0.5)


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
