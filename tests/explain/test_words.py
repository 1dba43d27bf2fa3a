"""Reasons in sentences: goldens worked by hand, and the rows of an explanation as they print."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel.explain import Explanation, Reason
from soel.explain.words import MOST_SAID, NO_REASON, say_row, say_rows, show_cell
from soel.text import ordinal

HOT = Reason(("pressure",), (np.float64(10.6),), (np.float64(7.1),), 3.2, 0.81, 1, 180, 180)
WORN = Reason(("site", "load"), ("north", np.nan), ("south", 2.0), 0.4, 0.09, 1, 2, 1012)
FAINT = Reason(("m6",), (7.28,), (7.0,), 0.1, 0.12, 2, 3, 3)


def explain(*reasons: tuple[Reason, ...]) -> Explanation:
    n, some = len(reasons), np.zeros(len(reasons))
    ranks = np.zeros(n, np.int64)
    each = (np.zeros((n, 1)), some, np.zeros((n, 1)), ranks, ranks[:, None], ranks[:, None], ranks[:, None], ranks)
    return Explanation(("a",), ((0,),), some, some, *each, reasons=reasons)


def test_golden_of_one_reason() -> None:
    said = "with pressure at 7.1 instead of 10.6 it would rank 180th instead of 1st (81 % of what raises it)"
    assert (str(HOT), repr(HOT)) == (said, f"<Reason: {said}>")
    assert str(WORN).startswith(
        "with site at south instead of north and load at 2 instead of nothing it would rank 2nd instead of 1st"
    )


def test_golden_of_a_row() -> None:
    assert say_row((HOT, WORN)) == (
        f"{HOT}; {WORN}; with all of this as in the most similar ordinary row it would rank 1,012th"
    )
    assert say_row(()) == NO_REASON


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.12, "; most of what raises it (88 %) is in other columns, or in many of them together"),
        (0.49, "; most of what raises it (51 %) is in other columns, or in many of them together"),
        (0.5, ""),
        (0.9, ""),
    ],
)
def test_what_reasons_leave_unsaid_is_said_where_it_is_most(share: float, words: str) -> None:
    reason = replace(FAINT, share=share)
    assert say_row((reason,)) == f"{reason}{words}"


def test_an_explanation_prints_a_line_for_a_row_and_shows_as_one() -> None:
    found = explain((HOT,), ())
    assert str(found) == f"row 0: {HOT}\nrow 1: {NO_REASON}"
    assert repr(found) == "<Explanation (rows: 2, columns: 1); print it to read the reasons>"
    assert str(replace(found, reasons=())) == repr(found)  # before the cells are known

    class Printer:
        said = ""

        def text(self, words: str) -> None:
            self.said += words

    printer = Printer()
    found._repr_pretty_(printer, cycle=False)
    assert printer.said == str(found)


def test_of_many_rows_the_first_are_printed() -> None:
    lines = say_rows([(HOT,)] * (MOST_SAID + 1500)).splitlines()
    assert len(lines) == MOST_SAID + 1
    assert lines[-1] == "... and 1,500 more: take(rows) gives those you want to read"
    assert len(say_rows([(HOT,)] * MOST_SAID).splitlines()) == MOST_SAID


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (np.float64(7.283333333), "7.28333"),
        (1234567.0, "1.23457e+06"),
        (np.datetime64("2024-04-01T23:00:00", "us"), "2024-04-01 23:00:00"),
        (np.datetime64("2024-04-01", "us"), "2024-04-01"),
        (np.datetime64("1970-01-01T10:30", "us"), "10:30:00"),
        (np.datetime64("NaT", "us"), "nothing"),
        (None, "nothing"),
        (np.nan, "nothing"),
        (" blue ", "blue"),
        (7, "7"),
    ],
)
def test_golden_of_cells(cell: Any, text: str) -> None:
    assert show_cell(cell) == text


def test_golden_of_places_and_shares() -> None:
    places = [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111, 1003)]
    assert places == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th", "1,003rd"]
