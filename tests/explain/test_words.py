"""Explanations in words and chips: goldens worked by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel.explain import Explanation, Reason, RowExplanation
from soel.explain.explanation import MOST_ROWS, show_cell
from soel.text import texts_in

HOT = Reason(("pressure",), (np.float64(10.6),), (np.float64(6.49),), 3.2, 0, 1)
SIZE = Reason(("area", "radius", "edge", "hull"), (2022.5, 9.0, 8.0, 7.0), (522.0, 3.0, 2.0, np.nan), 2.0, 1, 1)
SITE = Reason(("site",), ("north",), (None,), 0.4, 2, 0)
ROW = RowExplanation(9.5, 1, True, "#31", 31, 0.5, (HOT, SIZE), 3.8, 125, True)


def test_golden_of_an_alarm() -> None:
    assert str(ROW) == (
        "most like #31, but for pressure 10.6, usually 6.49; area (4 columns: area 2022.5, usually 522; radius 9, "
        "usually 3; edge 8, usually 2; ...): with that as there it would be ordinary (rank 125 instead of 1)"
    ).replace("2022.5", "2,022.5")


def test_golden_of_rows_that_no_small_change_explains() -> None:
    whole = replace(ROW, reasons=(), suffices=False)
    assert str(whole) == "unusual as a whole; the ordinary row most like it is #31"
    assert str(replace(ROW, reasons=(HOT,), suffices=False, changed_rank=2)) == (
        "unusual as a whole: even with the values of #31, which is most like it, in pressure 10.6, "
        "usually 6.49, it would rank 2 instead of 1"
    )
    assert str(replace(whole, like="")) == "unusual, and no ordinary row to compare it with"


def test_golden_of_rows_that_are_no_alarm() -> None:
    near = replace(ROW, is_alarm=False, rank=20, changed_rank=3, reasons=(HOT,))
    said = "no alarm; it would be one with the values of #31 (rank 3 instead of 20): pressure 10.6, usually 6.49"
    assert str(near) == said.replace("usually", "there")
    assert str(replace(near, reasons=(), suffices=False)).startswith("no alarm; no five groups")
    assert str(replace(near, reasons=(), like="")) == "ordinary: no alarm, and not near the threshold"


def test_golden_of_chips() -> None:
    assert [each.chip() for each in (HOT, SIZE, SITE)] == [
        "pressure 10.6 ↑ 6.49",
        "area 2,022.5 ↑ 522 (4 columns)",
        "site north ≠ nothing",
    ]
    assert replace(HOT, direction=-1).chip(texts_in("de")) == "pressure 10,6 ↓ 6,49"


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_no_values_of_different_columns_are_added_up(language: str) -> None:
    t = texts_in(language)
    assert "+" not in ROW.say(t) + SIZE.say(t) + SIZE.chip(t)


def test_an_explanation_prints_a_line_for_a_row_and_shows_as_one() -> None:
    found = Explanation((ROW, replace(ROW, like="", is_alarm=False)), ("pressure",), (("pressure",),))
    assert str(found) == f"row 0: {ROW}\nrow 1: ordinary: no alarm, and not near the threshold"
    assert repr(found) == "<Explanation (rows: 2, columns: 1); print it to read the reasons>"
    lines = str(replace(found, rows=(ROW,) * (MOST_ROWS + 1500))).splitlines()
    assert len(lines) == MOST_ROWS + 1
    assert lines[-1].startswith("... and 1,500 more")
    np.testing.assert_allclose(found.baseline + found.contributions.sum(axis=1) + found.remainder, [9.5, 9.5])


def test_an_explanation_comes_back_from_json_with_the_same_words() -> None:
    kept = json.loads(json.dumps(replace(ROW, reasons=(HOT, SIZE, SITE)).to_json()))
    back = RowExplanation.from_json(kept)
    assert str(back) == str(replace(ROW, reasons=(HOT, SIZE, SITE)))
    assert json.loads(json.dumps(back.to_json())) == kept


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
