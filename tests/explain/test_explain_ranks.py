"""The ranks that rows would have with other values, and what becomes of their own label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explain import find_reasons
from tests.explain.made_up import explainer, know


def test_golden_of_a_rank() -> None:
    """The score is the value: 9 in place of 100 stands behind the one row of the pool that has 10."""
    pool = np.array([[9.0]] * 9 + [[10.0]])
    found = explainer(pool, lambda x: x[:, 0]).explain(np.array([[100.0]]))
    assert (found.ranks.tolist(), found.ranks_alone.tolist()) == ([1], [[2]])
    assert found.ranks_together.tolist() == [[2, 0, 0]]
    assert find_reasons(found, {"a": [100.0]}, {"a": pool[:9, 0]}, np.arange(9))[0][0].usual == (9.0,)


def test_golden_of_the_ranks_of_a_row_of_the_pool() -> None:
    """The last of ten is at most the tenth: with another value it does not stand behind itself."""
    pool = np.arange(10.0)[:, None]
    found = explainer(pool, lambda x: x[:, 0]).explain(pool[9:])
    usual = int(found.lenders[0, 0])
    assert (found.ranks.tolist(), found.ranks_alone.tolist()) == ([1], [[9 - usual]])  # so many have a higher value


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=2, max_size=30))
def test_law_a_rank_is_one_more_than_the_rows_above(rows: list[tuple[int, int]]) -> None:
    """Small whole numbers: ties, equal rows and constant columns come by themselves."""
    pool = np.array(rows, float)
    made = explainer(pool, lambda x: x @ np.array([1.0, 2.0]))
    found = made.explain(pool)
    for row in range(len(pool)):
        others = np.delete(made.pool_scores, row)
        assert found.ranks[row] == 1 + (others > found.scores[row]).sum()
        ranks = [0 if np.isnan(score) else 1 + (others > score).sum() for score in found.alone[row]]
        assert found.ranks_alone[row].tolist() == ranks
    new = made.explain(pool + 1000)  # no row of the pool: nothing is left out
    assert new.ranks.tolist() == [1] * len(pool)
    above = (made.pool_scores > new.alone[..., None]).sum(axis=-1)
    np.testing.assert_array_equal(new.ranks_alone, np.where(np.isnan(new.alone), 0, 1 + above))


@pytest.mark.parametrize("error", [-1e-7, 1e-7])
def test_a_rank_does_not_hang_on_the_last_digits_of_the_pools_scores(error: float) -> None:
    """The pool was scored in other blocks: the first row is the first, and stays it with a value that says nothing."""
    pool = np.stack([np.arange(10.0), np.arange(10.0) == 9], axis=1)
    made = explainer(pool, lambda x: x @ np.array([1.0, 5e-8]))
    found = replace(made, pool_scores=made.pool_scores + error).explain(pool[8:])
    assert found.ranks.tolist() == [2, 1]
    assert found.ranks_alone[:, 1].tolist() == [2, 1]


def test_reasons_are_put_right_together() -> None:
    """Two wrong values, each enough for an alarm: only both together make the row ordinary."""
    rng = np.random.default_rng(5)
    pool = rng.uniform(-1, 1, size=(100, 4))
    found = explainer(pool, lambda x: np.abs(x).max(axis=1)).explain(np.array([[9.0, 0, 8, 0]]))
    assert [found.names(part) for part in found.first(0)] == [("a",), ("c",)]
    assert found.ranks_alone[0, [0, 2]].tolist() == [1, 1]
    together = found.ranks_together[0]
    assert (together[0], together[2]) == (1, 0)
    assert together[1] > 5


def test_what_a_label_adds_is_lost_with_what_raises_the_row() -> None:
    """A row that the model knows as an anomaly scores 10 more than others like it; put right, it is as others are."""
    pool = np.zeros((20, 2))
    made = explainer(pool, lambda x: x.sum(axis=1))
    known = know(made, lambda x: x.sum(axis=1) + 10 * (x[:, 0] == 5))
    found = known.explain(np.array([[5.0, 0.0]]))
    assert found.scores.tolist() == [15]
    assert found.alone.tolist() == [[0, 15]]  # with the first put right as any row, with the second as it was
    assert found.contributions.tolist() == [[5, 0]]
    assert found.remainder.tolist() == [10]


def test_golden_of_what_a_label_takes_away() -> None:
    """Known as normal, a row scores 4 instead of 8; put right by half it has lost half of that.

    As new it is 8 over a baseline of 0: with a put right 4, with b put right 5, with c put right 7.
    """
    made = explainer(np.zeros((20, 3)), lambda x: x.sum(axis=1))
    known = know(made, lambda x: x.sum(axis=1) - 4 * (x[:, 0] == 4))
    found = known.explain(np.array([[4.0, 3.0, 1.0]]))
    assert (found.scores.tolist(), found.contributions.tolist()) == ([4], [[4, 3, 1]])
    assert found.remainder.tolist() == [-4]
    np.testing.assert_allclose(found.alone, [[4 - 4 * 4 / 8, 5 - 4 * 5 / 8, 7 - 4 * 7 / 8]])
