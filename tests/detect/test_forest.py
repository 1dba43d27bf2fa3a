"""Trees of the pretrained detector: paths and depths worked by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from soel.detect.incontext.row_features import DEPTH, EULER, N_TREES, SAMPLE_ROWS, Forest, _depths

N_INNER = 2**DEPTH - 1
FIRST_LEAF, LAST_LEAF = N_INNER, 2 * N_INNER


def depths_of(*leaves: int) -> torch.Tensor:
    depths: torch.Tensor = _depths(torch.tensor(leaves)[None, None], N_INNER)[0, 0]
    return depths


def test_borders_lie_between_the_values_that_reach_a_node() -> None:
    x = torch.rand(2, 300, 3, generator=torch.Generator().manual_seed(1))
    forest = Forest.grow(x, torch.Generator().manual_seed(2))
    assert forest.columns.shape == forest.borders.shape == (2, N_TREES, N_INNER)
    root = forest.columns[..., 0]
    for task in range(2):
        values = x[task][:, root[task]]  # (300, R)
        assert (forest.borders[task, :, 0] >= values.amin(0)).all()
        assert (forest.borders[task, :, 0] <= values.amax(0)).all()
    assert set(forest.columns.unique().tolist()) == {0, 1, 2}


def test_equal_rows_are_never_parted() -> None:
    x = torch.full((1, 20, 2), 3.0)
    forest = Forest.grow(x, torch.Generator().manual_seed(0))
    assert (forest.nodes(x)[..., -1] == FIRST_LEAF).all()
    wanted = DEPTH + 2 * (math.log(19) + EULER) - 2 * 19 / 20
    torch.testing.assert_close(forest.isolation(forest.nodes(x)), torch.full((1, 20), wanted))


def test_a_tree_is_grown_on_a_sample_and_repeats() -> None:
    x = torch.randn(1, SAMPLE_ROWS + 100, 2, generator=torch.Generator().manual_seed(0))
    first, second, other = (Forest.grow(x, torch.Generator().manual_seed(seed)) for seed in (4, 4, 5))
    assert torch.equal(first.borders, second.borders)
    assert not torch.equal(first.borders, other.borders)
    many = 2 * (math.log(SAMPLE_ROWS - 1) + EULER) - 2 * (SAMPLE_ROWS - 1) / SAMPLE_ROWS
    torch.testing.assert_close(first.depths[..., 0], torch.full((1, N_TREES), many))


def slow_depth(leaf: int, leaves: list[int]) -> float:
    """Down from the root to a leaf: how soon a row stands alone, or what further cuts would take."""
    path = [leaf]
    while path[-1]:
        path.append((path[-1] - 1) // 2)
    for depth, node in enumerate(reversed(path)):
        first = last = node
        for _ in range(DEPTH - depth):
            first, last = 2 * first + 1, 2 * last + 2
        n_rows = sum(first <= each <= last for each in leaves)
        if n_rows <= 1:
            return depth
    return DEPTH + (1 if n_rows == 2 else 2 * (math.log(n_rows - 1) + EULER) - 2 * (n_rows - 1) / n_rows)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(FIRST_LEAF, LAST_LEAF), min_size=1, max_size=12), st.integers(FIRST_LEAF, LAST_LEAF))
def test_depths_of_any_tree_are_those_of_a_walk_down(leaves: list[int], other: int) -> None:
    depths = depths_of(*leaves, *leaves[:2])
    for leaf in {*leaves, other, FIRST_LEAF}:
        assert float(depths[leaf]) == pytest.approx(slow_depth(leaf, [*leaves, *leaves[:2]]), abs=1e-5)


def test_every_row_of_the_sample_ends_where_it_was_counted() -> None:
    x = torch.randn(1, 60, 2, generator=torch.Generator().manual_seed(1))
    forest = Forest.grow(x, torch.Generator().manual_seed(0))
    leaves = forest.nodes(x)[0, :, :, -1]  # all rows are in the sample
    for tree in range(3):
        again = _depths(leaves[None, tree : tree + 1], N_INNER)[0, 0]
        torch.testing.assert_close(again, forest.depths[0, tree])
