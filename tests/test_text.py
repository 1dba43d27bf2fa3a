"""Formatters, messages and tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import soel
from soel.cli.look_columns import as_flag
from soel.errors import ConfigError
from soel.text import (
    ENGLISH,
    Message,
    count,
    format_table,
    name_options,
    number,
    percent,
    percent_range,
    rate,
    texts_in,
    width,
)

FLAG = re.compile(r"(?<![\w`-])--[a-z][a-z-]+")
ELSEWHERE = ("cli", "images/__main__")


def test_numbers_go_right_and_text_left() -> None:
    table = format_table(["method", "AUROC", "n"], [["soel", 0.97123, 20], ["forest", "0.9", 1000], ["none", None, 3]])
    assert table.splitlines() == [
        "method   AUROC     n",
        "------  ------  ----",
        "soel    0.9712    20",
        "forest     0.9  1000",
        "none               3",
    ]


def test_wide_and_combining_characters_keep_the_columns_aligned() -> None:
    lines = format_table(["item", "x"], [["異常", "a"], ["e\u0301", "b"], ["plain", "c"]]).splitlines()
    assert lines[2] == "異常   a"
    assert lines[3] == "e\u0301      b"
    assert len({width(line) for line in lines}) == 1


def test_control_characters_cannot_drive_the_terminal() -> None:
    table = format_table(["id"], [["\x1b[31mred\n\u202eevil"]])
    assert "\\x1b[31mred\\n\\u202eevil" in table
    assert len(table.splitlines()) == 3


@given(st.lists(st.tuples(st.text(max_size=8), st.integers()), max_size=5))
def test_every_row_is_one_line_no_wider_than_the_rule(rows: list[tuple[str, int]]) -> None:
    lines = format_table(["name", "value"], rows).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(width(line) <= width(lines[1]) for line in lines)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1e-6, "< 0.01 %"), (0.00123, "0.12 %"), (0.0099, "0.99 %"), (0.0905, "9 %"), (1.0, "100 %")],
)
def test_small_shares_keep_two_figures(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_a_share_never_rounds_to_certainty(share: float) -> None:
    assert percent(share) not in ("0 %", "100 %")


def test_rates_and_ranges() -> None:
    assert [rate(share) for share in (0.025, 0.1, 0.0001)] == ["2.5 %", "10 %", "0.01 %"]
    assert percent_range(0.05, 0.154) == "5 to 15 %"


@pytest.mark.parametrize(
    ("n", "noun", "text"), [(1, "alarm", "1 alarm"), (0, "query", "0 queries"), (2000, "item", "2,000 items")]
)
def test_counts_agree_with_their_noun(n: int, noun: str, text: str) -> None:
    assert count(n, noun) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("red", "red"), (12.0, "12"), (1234567.0, "1,234,567"), (0.123456, "0.1235"), (float("inf"), "inf")],
)
def test_values_are_shown_in_four_figures(value: str | float, text: str) -> None:
    assert number(value) == text


def test_a_message_is_said_in_every_language() -> None:
    message = Message.of("check.recall", low=0.5, high=0.75)
    assert str(message) == ENGLISH.say(message) == "The alarms hold 50 % to 75 % of all anomalies (recall)."
    assert texts_in("de").say(message) != str(message)
    assert texts_in("de").format(0.025, "rate") == "2,5 %"


def test_options_are_named_as_the_reader_knows_them() -> None:
    error = ConfigError("Read it with <<id-column>>, <<patches=no>> or <<replace=True>>.")
    assert str(error) == "Read it with id_column=, patches='no' or replace=True."
    assert name_options(error.message, as_flag) == "Read it with --id-column, --columns patches=no or --replace."


def strings(tree: ast.Module) -> Iterator[str]:
    """The constants of a module but for docstrings."""
    expressions = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in expressions:
            yield node.value


def test_only_the_command_line_knows_flags() -> None:
    place = Path(soel.__file__).parent
    files = [path for path in place.rglob("*.py") if not path.relative_to(place).as_posix().startswith(ELSEWHERE)]
    assert len(files) > 100
    found = [(path.name, text) for path in files for text in strings(ast.parse(path.read_text())) if FLAG.search(text)]
    assert [each for each in found if not re.search("`(soel|ray) ", each[1])] == []
