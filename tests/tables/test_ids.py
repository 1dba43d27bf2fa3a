"""Ids that follow a row wherever it stands."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from soel.errors import DataError
from soel.tables.frame import read_frame
from soel.tables.ids import check_ids, content_ids

rows = st.lists(st.tuples(st.sampled_from([0.0, 1.5, np.nan]), st.sampled_from(["a", "b", None])), min_size=1)


@given(rows, st.randoms())
def test_ids_are_unique_and_do_not_depend_on_the_order(rows: list[Any], random: Any) -> None:
    rows = [(1.0, x, c) for x, c in rows]
    ids = content_ids(read_frame(pd.DataFrame(rows, columns=["k", "x", "c"])))
    shuffled = random.sample(rows, len(rows))
    assert len(set(ids)) == len(rows)
    assert set(content_ids(read_frame(pd.DataFrame(shuffled, columns=["k", "x", "c"])))) == set(ids)


def test_equal_rows_are_numbered() -> None:
    first, second, third = content_ids(read_frame(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]])))
    assert first[:16] == second[:16] != third[:16]
    assert (first[16:], second[16:], third[16:]) == ("-0", "-1", "-0")
    assert int(first[:16], 16) >= 0


def test_ids_never_change_between_versions() -> None:
    frame = read_frame(pd.DataFrame({"x": [1.5, None], "c": ["red", None]}))
    assert content_ids(frame).tolist() == ["cc970a8c3d64f090-0", "14119e5247d6cc8c-0"]


def test_equal_values_give_equal_ids_in_every_library() -> None:
    values = {"x": [0.0, 1.0], "c": ["a", None]}
    expected = content_ids(read_frame(pd.DataFrame(values))).tolist()
    assert content_ids(read_frame(pl.DataFrame(values))).tolist() == expected
    assert content_ids(read_frame(pl.DataFrame({**values, "x": [-0.0, 1.0]}))).tolist() == expected


def test_a_missing_category_is_not_the_text_of_its_name() -> None:
    ids = content_ids(read_frame(pd.DataFrame({"c": [None, "None", "x"]})))
    assert len({row_id[:16] for row_id in ids}) == 3


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = read_frame(np.arange(20).reshape(10, 2))
    whole = content_ids(frame).tolist()
    monkeypatch.setattr("soel.tables.ids._BLOCK_ROWS", 3)
    assert content_ids(frame).tolist() == whole


def test_given_ids_are_text() -> None:
    assert check_ids("id", [1, " b ", "003"]).tolist() == ["1", "b", "003"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", None, " "], r"'id' is empty in row 1 \(2 in all\)"),
        (["a", "b", "a"], "'id' is not unique: 'a' stands in 2 rows"),
    ],
)
def test_given_ids_must_tell_rows_apart(cells: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_ids("id", cells)
