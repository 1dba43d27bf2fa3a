"""What a wide table is seen through, and which rows stand for a pool: by hand, at the edges, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel.detect.incontext.pretrained import Pretrained
from soel.detect.incontext.samples import (
    MOST_COLUMNS,
    choose_rows,
    column_order,
    keys,
    wide_views,
)
from soel.types import Floats


def table(n_rows: int, width: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(n_rows, width)).astype(np.float32)


@pytest.mark.parametrize(
    ("width", "sizes"),
    [(MOST_COLUMNS + 1, [31, 30]), (2 * MOST_COLUMNS, [60, 60]), (2 * MOST_COLUMNS + 1, [41, 40, 40])],
)
def test_groups_are_nearly_equal_and_as_few_as_can_be(width: int, sizes: list[int]) -> None:
    views = wide_views(table(20, width), 0)
    assert views[1:].sum(axis=(1, 2)).tolist() == sizes
    for view, size in zip(views[1:], sizes, strict=True):
        assert view[:, :size].sum(axis=0).tolist() == [1] * size, "one column for each"


def test_a_column_without_a_spread_is_in_no_group_and_on_no_axis() -> None:
    x = table(40, 2 * MOST_COLUMNS)
    x[:, 7] = 5
    views = wide_views(x, 0)
    assert not views[1:, 7].any()
    np.testing.assert_allclose(views[0, 7], 0, atol=1e-6)


def test_along_the_axes_a_table_looks_the_same_in_any_unit() -> None:
    x = table(200, MOST_COLUMNS + 5)
    units = np.logspace(-2, 2, MOST_COLUMNS + 5).astype(np.float32)
    np.testing.assert_allclose((x * units) @ wide_views(x * units, 0)[0], x @ wide_views(x, 0)[0], atol=5e-3)


def test_a_wide_table_of_equal_rows_is_read_and_nothing_stands_out() -> None:
    x = np.repeat(table(1, MOST_COLUMNS + 10), 12, axis=0)
    assert len(wide_views(x, 0)) == 1, "there is no column to look at, only axes"
    for pool in (x, x[:1]):
        scores = Pretrained.fit(pool, np.full(len(pool), -1, np.int8), 0).score(pool)
        np.testing.assert_allclose(scores, 0, atol=1e-3)


KEYS = np.array([5, 1, 9, 3, 7, 2], np.uint64)


@pytest.mark.parametrize(("n_rows", "wanted"), [(2, [1, 0]), (4, [1, 5, 0, 4]), (5, [1, 5, 3, 0, 4]), (6, None)])
def test_who_stands_for_a_pool_by_hand(n_rows: int, wanted: list[int] | None) -> None:
    labels = np.array([0, -1, 1, -1, 0, -1], np.int8)  # half of the places are for labels, those with low keys first
    assert choose_rows(KEYS, labels, n_rows).tolist() == (wanted or [1, 5, 3, 0, 4, 2])


def test_of_equal_rows_the_label_decides_not_the_place() -> None:
    assert choose_rows(np.full(3, 4, np.uint64), np.array([1, -1, 0], np.int8), 3).tolist() == [1, 2, 0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_the_same_rows_stand_for_a_pool_in_any_order(seed: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (20, 2)).astype(np.float32)  # with equal rows
    labels = rng.integers(-1, 2, 20).astype(np.int8)
    rows, order = choose_rows(keys(x, 7), labels, n_rows), rng.permutation(20)
    again = order[choose_rows(keys(x[order], 7), labels[order], n_rows)]
    np.testing.assert_array_equal(x[rows], x[again])
    np.testing.assert_array_equal(labels[rows], labels[again])
    n_free = int((labels < 0).sum())
    assert len(rows) == min(n_rows, 20)
    if n_rows < 20:
        most = max(n_rows // 2, n_rows - n_free)
        assert (labels[rows] >= 0).sum() == min(20 - n_free, most)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_columns_have_their_order_wherever_they_stood_and_however_rows_lie(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (4, 5)).astype(np.float32)
    rows, columns = rng.permutation(4), rng.permutation(5)
    turned = x[rows][:, columns]
    # Columns of the same values in another order of rows are not told apart; their sorted values are the same.
    wanted, found = np.sort(x, axis=0)[:, column_order(x)], np.sort(turned, axis=0)[:, column_order(turned)]
    np.testing.assert_array_equal(wanted, found)


def test_a_key_knows_in_which_column_a_value_stands_and_not_its_sign_of_zero() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]], np.float32)
    first, second, third = keys(rows).tolist()
    assert first == third != second
