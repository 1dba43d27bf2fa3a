from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soel.errors import DataError
from soel.report.text import format_table, width


def test_numbers_go_right_and_text_left() -> None:
    table = format_table(["method", "AUROC", "n"], [["soel", 0.97123, 20], ["forest", "0.9", 1000], ["none", None, 3]])
    assert table.splitlines() == [
        "method   AUROC     n",
        "------  ------  ----",
        "soel    0.9712    20",
        "forest     0.9  1000",
        "none               3",
    ]


def test_percent_and_spread_count_as_numbers() -> None:
    assert format_table(["share"], [["9 %"], ["93.1 ± 0.4"]]).splitlines()[2] == "       9 %"


def test_wide_and_combining_characters_keep_the_columns_aligned() -> None:
    lines = format_table(["item", "x"], [["異常", "a"], ["e\u0301", "b"], ["plain", "c"]]).splitlines()
    assert lines[2] == "異常   a"
    assert lines[3] == "e\u0301      b"
    assert len({width(line) for line in lines}) == 1


def test_control_characters_cannot_drive_the_terminal() -> None:
    table = format_table(["id"], [["\x1b[31mred\n\u202eevil"]])
    assert "\\x1b[31mred\\n\\u202eevil" in table
    assert len(table.splitlines()) == 3


def test_truth_values_are_words() -> None:
    assert format_table(["alarm"], [[True], [False]]).splitlines()[2:] == ["yes", "no"]


def test_a_table_without_rows_is_its_header() -> None:
    assert format_table(["a", "bc"], []) == "a  bc\n-  --"


def test_a_ragged_row_is_refused() -> None:
    with pytest.raises(DataError, match="2 columns was given a row of 1"):
        format_table(["a", "b"], [["only"]])


@given(st.lists(st.tuples(st.text(max_size=8), st.integers()), max_size=5))
def test_every_row_is_one_line_no_wider_than_the_rule(rows: list[tuple[str, int]]) -> None:
    lines = format_table(["name", "value"], rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(width(line) <= width(lines[1]) for line in lines)
