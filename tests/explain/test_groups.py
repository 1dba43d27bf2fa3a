"""Groups of columns that go together."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from soel.explain.groups import find_groups, measure_likeness


def pool(n: int = 300) -> np.ndarray:
    """Column 0 is like 3, 3 like 5 and so 0 a little less; 1 is the opposite of 2; 4 is alone."""
    rng = np.random.default_rng(0)
    a, b, alone = rng.normal(size=(3, n))
    near = 0.5 * rng.normal(size=(2, n))
    return np.stack([a + near[0], b, -2 * b, a, alone, a + near[1]], axis=1)


def test_columns_that_correlate_are_a_group_called_by_the_most_central() -> None:
    assert find_groups(pool(), np.arange(6)) == ((3, 0, 5), (1, 2), (4,)) or find_groups(pool(), np.arange(6)) == (
        (3, 5, 0),
        (1, 2),
        (4,),
    )


def test_features_of_one_column_are_one_and_correlate_as_their_best_does() -> None:
    """A category of three features, one of which goes with a number."""
    rng = np.random.default_rng(1)
    is_red = rng.random(400) < 0.5
    is_blue = ~is_red & (rng.random(400) < 0.5)
    number = is_red + 0.05 * rng.normal(size=400)
    rows = np.stack([is_red, is_blue, ~is_red & ~is_blue, number, rng.normal(size=400)], axis=1)
    assert find_groups(rows, np.array([0, 0, 0, 1, 2])) == ((0, 1), (2,))
    assert measure_likeness(rows, np.array([0, 0, 0, 1, 2]))[0, 1] > 0.9


def test_a_wild_value_does_not_tear_columns_apart() -> None:
    rows = pool()
    rows[0, 1] = 1e6
    assert (1, 2) in find_groups(rows, np.arange(6))


def test_one_column_and_constant_ones_are_groups_of_their_own() -> None:
    assert find_groups(np.ones((5, 1)), np.arange(1)) == ((0,),)
    assert find_groups(np.ones((5, 3)), np.arange(3)) == ((0,), (1,), (2,))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 99), st.integers(2, 8))
def test_law_groups_share_out_the_columns_and_go_with_them(seed: int, n_columns: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(50, 3)) @ rng.normal(size=(3, n_columns)) + 0.3 * rng.normal(size=(50, n_columns))
    groups, order = find_groups(rows, np.arange(n_columns)), rng.permutation(n_columns)
    assert sorted(column for group in groups for column in group) == list(range(n_columns))
    moved = find_groups(rows[:, order], np.arange(n_columns))
    assert {frozenset(order[list(group)].tolist()) for group in moved} == {frozenset(group) for group in groups}
