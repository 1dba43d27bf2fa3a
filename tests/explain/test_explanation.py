"""The arrays of an explanation: taken apart, put together, and read as reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soel.explain import Explanation, find_reasons
from soel.explain.explanation import LEAST_SHARE, MOST_REASONS, first_parts, join

NAN = float("nan")
FLOATS = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


def block(parts: tuple[tuple[int, ...], ...], first: int, *contributions: list[float]) -> Explanation:
    """Rows of three columns, numbered from `first` on: every figure of a row says which row and part it is of."""
    given = np.array(contributions)
    rows = np.arange(first, first + len(given))
    places = 10 * rows[:, None] + np.arange(len(parts))
    return Explanation(
        ("a", "b", "c"),
        parts,
        rows + 0.5,
        rows + 0.25,
        given,
        rows + 0.125,
        places + 0.5,
        rows,
        places,
        rows[:, None] + np.arange(3),
        places + 1000,
        rows + 100,
    )


ALONE = ((0,), (1,), (2,))


def test_blocks_with_other_groups_are_joined_part_by_part() -> None:
    joined = join([block((*ALONE, (1, 2)), 0, [1, 2, 3, 4]), block((*ALONE, (0, 1), (0, 2)), 1, [5, 6, 7, 8, 9])])
    assert joined.parts == (*ALONE, (0, 1), (0, 2), (1, 2))
    assert joined.contributions.tolist() == [[1, 2, 3, 0, 0, 4], [5, 6, 7, 8, 9, 0]]
    np.testing.assert_array_equal(joined.alone, [[0.5, 1.5, 2.5, NAN, NAN, 3.5], [10.5, 11.5, 12.5, 13.5, 14.5, NAN]])
    assert joined.ranks_alone.tolist() == [[0, 1, 2, 0, 0, 3], [10, 11, 12, 13, 14, 0]]
    assert joined.lenders.tolist() == [[1000, 1001, 1002, -1, -1, 1003], [1010, 1011, 1012, 1013, 1014, -1]]
    assert joined.reference.tolist() == [100, 101]
    assert [joined.names(part) for part in (1, 4)] == [("b",), ("a", "c")]


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=2, max_size=6), data=st.data())
def test_law_what_is_taken_and_joined_is_what_was_there(
    rows: list[tuple[float, float, float]], data: st.DataObject
) -> None:
    whole = block(ALONE, 0, *map(list, rows))
    cut = data.draw(st.integers(1, len(rows) - 1))
    again = join([whole.take(np.arange(cut)), whole.take(np.arange(cut, len(rows)))])
    for name in ("scores", "baseline", "remainder", "contributions", "alone", "ranks", "ranks_together", "lenders"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name), err_msg=name)


def test_rows_are_taken_with_their_reasons_in_the_order_asked() -> None:
    found = block(ALONE, 0, [9.0, 0, 0], [0.0, 9, 0], [0.0, 0, 9])
    cells = {"a": [1, 2, 3], "b": [4, 5, 6], "c": [7, 8, 9]}
    found = replace(found, reasons=find_reasons(found, cells, cells, np.array([1000, 1011, 1022])))
    taken = found.take(np.array([2, 0]))
    assert [reasons[0].columns for reasons in taken.reasons] == [("c",), ("a",)]
    assert (taken.scores.tolist(), taken.reference.tolist()) == ([2.5, 0.5], [102, 100])
    assert block(ALONE, 0, [9.0, 0, 0]).take(np.array([0])).reasons == ()


@pytest.mark.parametrize(
    ("contributions", "remainder", "found"),
    [
        ([1.0, 3.0, 2.0], 0.0, [1, 2, 0]),
        ([4.0, 3.0, 2.0, 1.0], 0.0, [0, 1, 2]),  # three at most
        ([2.0, 2.0, 2.0], 0.0, [0, 1, 2]),  # of equal ones the first column first
        ([95.0, 5.0], 0.0, [0]),  # a twentieth is not more than a twentieth
        ([94.0, 6.0], 0.0, [0, 1]),
        ([94.0, 6.0], 50.0, [0]),  # the remainder raises it, too: 6 of 150
        ([94.0, 6.0], -50.0, [0, 1]),  # what lowers it takes nothing away
        ([94.0, 6.0, -50.0], 0.0, [0, 1]),
        ([1.0], 99.0, [0]),  # the first is a reason, however little it says
        ([0.0, -1.0], 5.0, []),
    ],
)
def test_golden_of_the_parts_that_are_reasons(contributions: list[float], remainder: float, found: list[int]) -> None:
    assert first_parts(np.array(contributions), remainder) == found


@settings(max_examples=80, deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=8), FLOATS, st.integers(0, 5))
def test_law_reasons_are_the_largest_that_raise_the_score(some: list[float], remainder: float, most: int) -> None:
    found = first_parts(np.array(some), remainder, most)
    raising = sum(max(each, 0) for each in [*some, remainder])
    assert len(found) <= most
    assert [some[part] for part in found] == sorted((some[part] for part in found), reverse=True)
    left_out = [each for part, each in enumerate(some) if part not in found]
    assert all(each <= some[found[-1]] for each in left_out if found)
    if len(found) < min(most, len(some)):
        assert max(left_out) <= (LEAST_SHARE * raising + 1e-9 if found else 0)
    assert first_parts(np.array(some), remainder) == first_parts(np.array(some), remainder, MOST_REASONS)


def test_golden_of_reasons() -> None:
    """6 of the pair and 2 of c raise the score, b lowers it, and 2 are left: shares are of ten.

    The pair was lent by the pool's row 1003, c by 1002, which are the second and the first that can lend.
    """
    found = replace(block((*ALONE, (0, 1)), 0, [0.0, -3.0, 2.0, 6.0]), remainder=np.array([2.0]))
    own: dict[str, list[Any]] = {"a": ["x"], "b": [1.5], "c": [None]}
    usual: dict[str, list[Any]] = {"a": ["y", "z"], "b": [2.5, 3.5], "c": [4, 5]}
    ((pair, single),) = find_reasons(found, own, usual, np.array([1002, 1003]))
    assert (pair.columns, pair.values, pair.usual) == (("a", "b"), ("x", 1.5), ("z", 3.5))
    assert (single.columns, single.values, single.usual) == (("c",), (None,), (4,))
    assert [(each.contribution, each.share) for each in (pair, single)] == [(6, 0.6), (2, 0.2)]
    assert [(each.rank, each.rank_together) for each in (pair, single)] == [(3, 0), (2, 1)]


def test_cells_of_reasons_are_those_of_their_own_row() -> None:
    found = block(ALONE, 0, [1.0, 0, 0], [-1.0, 0, 0], [2.0, 0, 1])
    cells = {"a": [10, 11, 12], "b": [0, 0, 0], "c": [20, 21, 22]}
    reasons = find_reasons(found, cells, {name: range(1000, 1100) for name in "abc"}, np.arange(1000, 1100))
    assert [[each.values for each in row] for row in reasons] == [[(10,)], [], [(12,), (22,)]]
    assert [[each.usual for each in row] for row in reasons] == [[(1000,)], [], [(1020,), (1022,)]]
