"""Which columns are replaced together and named together, on figures that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explain.groups import N_SEEDS, choose_group, find_families, may_be_named
from soel.explain.ordinary import Ordinary

NAN = float("nan")


def hang(n_columns: int, *pairs: tuple[int, int]) -> np.ndarray:
    close = np.zeros((n_columns, n_columns), bool)
    for one, other in pairs:
        close[one, other] = close[other, one] = True
    return close


def test_company_is_what_hangs_together_and_matters_most() -> None:
    close = hang(5, (0, 1), (0, 2), (0, 3), (2, 3))
    found = find_families(np.array([9.0, 1, 2, 5, 7]), close)
    assert found == [((0, 3), (0, 2, 3))]  # 3 matters more than 2 and 1; 4 matters, and hangs together with nothing


def test_a_third_column_must_hang_together_with_both() -> None:
    assert find_families(np.array([9.0, 5, 2]), hang(3, (0, 1), (0, 2))) == [((0, 1),)]


def test_a_column_that_was_not_tried_is_no_company() -> None:
    assert find_families(np.array([9.0, NAN, NAN]), hang(3, (0, 1), (0, 2), (1, 2))) == []


def test_columns_that_matter_little_are_not_asked_for_company() -> None:
    assert find_families(np.array([9.0, 8, 7, 2, 1]), hang(5, (3, 4))) == []


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), n_columns=st.integers(1, 12))
def test_law_no_column_is_in_two_families(seed: int, n_columns: int) -> None:
    rng = np.random.default_rng(seed)
    close = np.triu(rng.random((n_columns, n_columns)) < 0.5, 1)
    close |= close.T
    families = find_families(rng.normal(size=n_columns), close)
    columns = [column for family in families for column in family[-1]]
    assert len(columns) == len(set(columns))
    assert len(families) <= N_SEEDS
    for family in families:
        assert all(set(family[0]) <= set(group) for group in family)
        assert all(close[one, other] for group in family for one in group for other in group if one != other)


def test_a_family_is_not_tried_where_one_column_says_all() -> None:
    family = ((0, 1), (0, 1, 2))
    assert not may_be_named(family, np.array([9.0, 1, 0]), 10.0)
    assert may_be_named(family, np.array([9.0, 9, 0]), 10.0)  # which of the two?
    assert may_be_named(family, np.array([2.0, 1, 0]), 10.0)  # neither
    assert may_be_named(family, np.array([2.0, 1, 0]), -1.0)  # the row is lower than the baseline: nothing is known


PAIR, THREE = (0, 1), (0, 1, 2)


@pytest.mark.parametrize(
    ("alone", "pair", "three", "named"),
    [
        ((0.1, 0.2, 0.0), 5.0, 5.1, PAIR),  # neither of them alone
        ((4.5, 0.2, 0.0), 5.0, 5.1, None),  # the first says enough
        ((4.5, 4.6, 0.0), 5.0, 5.1, PAIR),  # both do: nobody can tell which is wrong
        ((0.1, 0.2, 0.1), 0.3, 5.0, THREE),  # only the three of them
        ((0.1, 0.2, 4.8), 0.3, 5.0, PAIR),  # a third one that says enough alone is left alone
        ((-1.0, -1.0, -1.0), -1.0, -1.0, None),  # nothing lowers the score
    ],
)
def test_which_columns_are_named_together(
    alone: tuple[float, ...], pair: float, three: float, named: tuple[int, ...] | None
) -> None:
    drops = {(column,): drop for column, drop in enumerate(alone)} | {PAIR: pair, THREE: three}
    assert choose_group((PAIR, THREE), drops) == named


def test_columns_that_hang_together_among_suspicious_rows_alone_do() -> None:
    """Ordinary rows say nothing of two columns that are only ever wrong together."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(400, 3))
    pool[:80, :2] += 6
    ordinary = Ordinary.of(pool, np.arange(80, 400), np.arange(3))
    assert ordinary.hang_together.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    assert len(ordinary.rows) == 320


def test_a_group_is_lent_by_a_row_that_is_like_it_elsewhere() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=300)
    pool = np.stack([a, a + 0.01 * rng.normal(size=300), a + 0.01 * rng.normal(size=300)], axis=1)
    ordinary = Ordinary.of(pool, np.arange(300), np.arange(3))
    x = np.array([[9.0, 9.0, 1.0], [9.0, 1.0, 9.0]])
    first, second = ordinary.lenders_together(x, [(0, 1), (0, 2)])
    assert abs(pool[first, 0] - 1) < 0.2
    assert abs(pool[second, 2] - 1) < 0.2
