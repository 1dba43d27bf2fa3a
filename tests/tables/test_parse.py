"""Columns of new rows by their reading: plain numbers are read at once, and as those that need tidying."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from soel.errors import DataError, SchemaError
from soel.tables.arrow import tidy
from soel.tables.column import Column, Form, Values
from soel.tables.kinds import kind_of
from soel.tables.kinds.number import parse_numbers
from soel.tables.missing import blank_missing
from soel.tables.raw_table import RawColumn


def parse_column(column: Column, cells: RawColumn) -> Values:
    return kind_of(column).parse(column, cells)


def texts(*words: str | None) -> RawColumn:
    return RawColumn("text", pa.array(words, pa.string()))


@pytest.mark.parametrize(
    "words",
    [
        ("1.5", "-2", "3e5"),
        ("1.5", None, "0.1"),
        ("nan", "NaN", "7"),
        (" 1.5", "2 ", "n/a"),
        ("\u22125", "+5", "5."),
        ("", "-", "1"),
        (),
    ],
)
def test_what_needs_no_tidying_reads_as_what_does(words: tuple[str | None, ...]) -> None:
    cells = texts(*words)
    found = parse_column(Column("a", "number"), cells)
    expected = parse_numbers(blank_missing(tidy(cells.values)), Form())
    assert expected is not None
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float64
    assert found.flags.writeable


def test_infinite_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="holds infinity"):
        parse_column(Column("a", "number"), texts("1", "inf"))


def test_plain_digits_of_a_column_with_another_form_are_read_by_that_form() -> None:
    german = Column("a", "number", form=Form(decimal=",", thousands="."))
    assert parse_column(german, texts("1.234", "2")).tolist() == [1234.0, 2.0]
    yes = Column("a", "flag", form=Form(words={"5": 1, "7": 0}))
    assert parse_column(yes, texts("5", "7")).tolist() == [1.0, 0.0]
    with pytest.raises(SchemaError, match="such as '12'"):
        parse_column(Column("a", "duration", form=Form(layout="days and clock")), texts("12", "13"))
