"""Shapley values: by hand, and their laws."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from soel.explain.counterfactual import Coalition, coalitions, shapley_values

GAMES = st.integers(0, 5).flatmap(
    lambda k: st.lists(st.floats(-9, 9), min_size=2**k, max_size=2**k).map(
        lambda values: dict(zip(coalitions(range(k)), values, strict=True))
    )
)


def test_golden_of_two_that_only_do_it_together() -> None:
    value = {frozenset(): 0.0, frozenset({3}): 1.0, frozenset({7}): 0.0, frozenset({3, 7}): 6.0}
    assert shapley_values([3, 7], value.__getitem__) == pytest.approx((3.5, 2.5))


@given(GAMES)
def test_law_they_sum_to_what_all_do(game: dict[Coalition, float]) -> None:
    k = len(game).bit_length() - 1
    phi = shapley_values(range(k), game.__getitem__)
    assert sum(phi) == pytest.approx(game[frozenset(range(k))] - game[frozenset()], abs=1e-9)


@given(st.lists(st.floats(-9, 9), max_size=5))
def test_law_of_a_sum_each_gets_its_own_and_who_does_nothing_gets_nothing(own: list[float]) -> None:
    parts = range(len(own) + 1)
    phi = shapley_values(parts, lambda some: sum(([*own, 0.0])[part] for part in some))
    assert phi == pytest.approx((*own, 0.0), abs=1e-9)
