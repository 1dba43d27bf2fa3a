"""Which ordinary rows lend their values, on pools of a few rows that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explain import Ordinary, find_ordinary
from soel.explain.ordinary import HAIR, MOST_ROWS
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats

STEPS = np.array([[7 * row % 20, row] for row in range(20)], float)  # a is 0, 7, 14, 1, 8, ...; b counts


def everything(rows: Floats, *column_of: int) -> Ordinary:
    """Every row of the pool is ordinary, and each feature a column of its own, if nothing else is said."""
    return Ordinary.of(rows, np.arange(len(rows)), np.array(column_of or range(rows.shape[1])))


def test_the_fifth_of_the_pool_that_scores_highest_lends_nothing() -> None:
    labels = np.full(10, UNLABELLED, np.int8)
    scores = np.array([9.0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert find_ordinary(scores, labels).tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    labels[[0, 2, 4]] = NORMAL, NORMAL, ANOMALY  # a label as normal makes no high score ordinary
    assert find_ordinary(scores, labels).tolist() == [1, 2, 3, 5, 6, 7, 8]


def test_all_rows_lend_where_all_score_the_same() -> None:
    assert find_ordinary(np.full(5, 3.0), np.full(5, UNLABELLED, np.int8)).tolist() == [0, 1, 2, 3, 4]


def test_rows_that_tie_where_the_highest_fifth_begins_lend() -> None:
    assert find_ordinary(np.array([0.0, 1, 1, 1, 1]), np.full(5, UNLABELLED, np.int8)).tolist() == [0, 1, 2, 3, 4]


@settings(max_examples=40, deadline=None)
@given(n_rows=st.integers(1, 3 * MOST_ROWS))
def test_law_the_lenders_of_a_large_pool_are_spread_over_it(n_rows: int) -> None:
    found = find_ordinary(np.zeros(n_rows), np.full(n_rows, UNLABELLED, np.int8))
    assert len(found) == min(n_rows, MOST_ROWS)
    assert (found[0], found[-1]) == (0, n_rows - 1)
    even = max((n_rows - 1) / (MOST_ROWS - 1), 1)
    assert (np.abs(np.diff(found) - even) < 1).all()  # rounded, and no more


def test_golden_of_lenders() -> None:
    """For a the seven rows count whose b is nearest to 5.9, 3 to 9: 1, 8, 15, 2, 9, 16, 3, with 8 in the middle.

    For b those whose a is nearest to 11, 8 to 14: rows 4, 7, 10, 13, 16, 19, 2. Nearest in both is (9, 7).
    """
    lenders, nearest = everything(STEPS).compare(np.array([[11.0, 5.9]]))
    assert lenders.tolist() == [[4, 10]]
    assert nearest.tolist() == [7]


def test_a_wild_value_does_not_decide_which_row_is_alike() -> None:
    lenders, nearest = everything(STEPS).compare(np.array([[1e6, 5.9]]))
    assert nearest.tolist() == [6]  # by b alone: the largest a would be row 17's
    assert lenders[0, 0] == 4


def test_golden_of_a_lender_among_fewer_rows_than_are_asked() -> None:
    lenders, nearest = everything(np.array([[5.0, 0], [1, 0], [3, 9]])).compare(np.array([[5.0, 1.0]]))
    assert lenders[0, 0] == 2  # 3 lies between 1 and 5
    assert nearest.tolist() == [0]


def test_one_row_lends_everything_as_it_is() -> None:
    ordinary = everything(np.array([[4.0, 2.0]]))
    assert [each.tolist() for each in ordinary.compare(np.array([[9.0, 9.0]]))] == [[[0, 0]], [0]]
    assert ordinary.lent.tolist() == [[4, 2]]  # there is no spread to measure a hair by
    assert not ordinary.hang_together.any()


def test_a_column_of_several_features_is_lent_by_the_most_usual_row() -> None:
    """Four of seven are of the first kind: the middle of each feature is theirs."""
    kinds = np.array([[0, 1], [1, 0], [0, 1], [1, 0], [1, 0], [0, 1], [1, 0]], float)
    ordinary = everything(np.hstack([kinds, np.ones((7, 1))]), 0, 0, 1)
    lenders, _ = ordinary.compare(np.array([[0.0, 1, 1]]))
    assert ordinary.rows[lenders[0, 0], :2].tolist() == [1, 0]


def test_features_of_a_column_count_as_one_column_where_rows_are_compared() -> None:
    """The variance of a column is that of its features together; what is farther than the bound counts as the bound."""
    kinds = np.array([[1.0, 0]] * 5 + [[0.0, 1]] * 5)
    number = np.array([3.0, 0, 0, 0, 0, 0, 0, 0, 0, 0])[:, None]  # its variance is 0.81
    ordinary = everything(np.hstack([kinds, number]), 0, 0, 1)
    ((_, apart),) = list(ordinary._measure_by_column(np.array([[0.0, 1.0, 0.9]])))
    np.testing.assert_allclose(apart[0, 0], [2 / 0.5, 4], rtol=1e-6)  # two squares, a quarter each; 2.1² / 0.81 is more
    np.testing.assert_allclose(apart[0, 9], [0, 1], rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), powers=st.lists(st.integers(-8, 8), min_size=3, max_size=3))
def test_law_lenders_do_not_depend_on_the_units(seed: int, powers: list[int]) -> None:
    rng = np.random.default_rng(seed)
    pool, x = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    units = 2.0 ** np.array(powers)  # exact in binary
    for one, other in zip(everything(pool).compare(x), everything(pool * units).compare(x * units), strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), at=st.integers(0, 29))
def test_law_an_ordinary_row_is_most_like_itself(seed: int, at: int) -> None:
    pool = np.random.default_rng(seed).normal(size=(30, 4))
    _, nearest = everything(pool).compare(pool[at : at + 1])
    assert nearest.tolist() == [at]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_law_a_column_that_is_replaced_does_not_say_who_lends_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool, x = rng.normal(size=(40, 3)), rng.normal(size=(6, 3))
    wild, ordinary = x + np.array([0.0, 50.0, 0.0]), everything(pool)
    np.testing.assert_array_equal(ordinary.compare(x)[0][:, 1], ordinary.compare(wild)[0][:, 1])
    pairs = [(1, 2)] * len(x)
    together = ordinary.lenders_together(x + np.array([0.0, 50.0, -50.0]), pairs)
    np.testing.assert_array_equal(together, ordinary.lenders_together(x, pairs))


def test_the_column_that_tells_most_decides_who_lends() -> None:
    """Twice a is b, and c is noise: the lender of b is like the row in a, however unlike it is in c."""
    rng = np.random.default_rng(0)
    a = np.arange(60.0)
    ordinary = everything(np.stack([a, 2 * a, rng.permutation(60)], axis=1))
    lenders, _ = ordinary.compare(np.array([[30.0, 500.0, 0.0]]))
    assert abs(lenders[0, 1] - 30) <= 6


def test_golden_of_a_value_moved_by_a_hair() -> None:
    """1 and 1 are shared, 2 and 5 are not; their variance is 2.6875."""
    lent = everything(np.array([[1.0], [5], [1], [2]])).lent
    hair = HAIR * 2.6875**0.5
    np.testing.assert_allclose(lent[:, 0], [1, 5 + hair, 1, 2 + hair], rtol=1e-7)
    assert lent[[0, 2], 0].tolist() == [1, 1]


def test_golden_of_likeness() -> None:
    """a, its negative, a column of two features of which one is a, one that has nothing to do with it, a constant."""
    a, other = np.array([1.0, -1, 1, -1]), np.array([1.0, 1, -1, -1])
    ordinary = everything(np.stack([a, -a, other, a, other, np.full(4, 7.0)], axis=1), 0, 1, 2, 2, 3, 4)
    likeness = [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]]
    np.testing.assert_allclose(ordinary.likeness, likeness, atol=1e-6)
    np.testing.assert_array_equal(ordinary.hang_together, np.array(likeness) * (1 - np.eye(5)))


def test_correlations_are_measured_without_wild_values() -> None:
    rows = np.random.default_rng(0).standard_t(2, size=(300, 2))
    rows[0] = 25, 25
    scaled = np.clip((rows - rows.mean(axis=0)) / rows.std(axis=0), -3, 3)
    bounded, wild = (abs(float(np.asarray(np.corrcoef(each.T))[0, 1])) for each in (scaled, rows))
    assert everything(rows).likeness[0, 1] == pytest.approx(bounded, abs=1e-5)
    assert wild > bounded + 0.05
