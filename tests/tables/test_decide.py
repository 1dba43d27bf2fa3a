"""How columns are read: worked examples for every form, and the laws of reading."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from soel.errors import DataError, SchemaError
from soel.tables.frame import Frame, read_frame
from soel.tables.read_options import ReadOptions
from soel.tables.schema import Schema


def read(cells: list[Any], name: str = "a", **options: Any) -> Frame:
    """One column beside another one, so that it may be left out."""
    return read_frame(pd.DataFrame({name: pd.Series(cells, dtype=object), "z": 1.5}), ReadOptions(**options))


def values(frame: Frame, name: str = "a") -> list[Any]:
    return list(frame.columns[name].tolist())


def kind(frame: Frame, name: str = "a") -> str:
    assert frame.schema is not None
    return frame.schema[name].kind


def doubt(frame: Frame, name: str = "a") -> str:
    assert frame.schema is not None
    return frame.schema[name].doubt


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "2,25", "-0,75"], [1.5, 2.25, -0.75]),
        (["$1,234.56", "$12.00", "-$3.50", "($4.00)"], [1234.56, 12, -3.5, -4]),
        (["1.234,56 €", "12,00 €"], [1234.56, 12]),
        (["12 %", "5%", "0.5 %"], [12, 5, 0.5]),
        (["1 234", "12 345", "7"], [1234, 12345, 7]),
        (["1\u202f234,5", "7,25"], [1234.5, 7.25]),
        (["1'234.50", "12.00"], [1234.5, 12]),
        (["12,34,567", "1,234,000"], [1234567, 1234000]),
        (["5-", "6", "\u22127"], [-5, 6, -7]),
        (["5 kg", "3 kg"], [5, 3]),
        (["3 widgets", "4 widgets"], [3, 4]),
        (["1,5E+03", "2,5"], [1500, 2.5]),
        (["3", "?", "n.a.", "-", ""], [3, None, None, None, None]),
        (["1:23:45", "0:05:00"], [5025, 300]),
        (["PT2H30M", "P1DT2H"], [9000, 93600]),
        (["3 days 04:05:06", "1 day 00:00:01"], [273906, 86401]),
        (["yes", "No", "NO", None], [1, 0, 0, None]),
        (["ja", "nein"], [1, 0]),
        (["TRUE", "false"], [1, 0]),
        ([True, False, None], [1, 0, None]),
    ],
)
def test_what_means_a_number_is_one(cells: list[Any], numbers: list[float | None]) -> None:
    frame = read(cells)
    np.testing.assert_allclose(values(frame), [np.nan if n is None else n for n in numbers], rtol=1e-12)
    assert not doubt(frame)


@pytest.mark.parametrize(
    ("cells", "second"),
    [
        (["2024-01-31", "2024-02-29 12:30:05.25"], dt.datetime(2024, 2, 29, 12, 30, 5, 250000)),
        (["31.12.2024", "01.02.2024 14:05"], dt.datetime(2024, 2, 1, 14, 5)),
        (["01/02/2024", "12/31/2024"], dt.datetime(2024, 12, 31)),
        (["13/02/2024", "12/11/2024"], dt.datetime(2024, 11, 12)),
        (["3 Jan 2024", "14-Dez-2023"], dt.datetime(2023, 12, 14)),
        (["Jan 3, 2024", "March 14th, 2024 3:00 PM"], dt.datetime(2024, 3, 14, 15)),
        (["2024-01-01T10:00:00Z", "2024-01-01T10:00:00+02:00"], dt.datetime(2024, 1, 1, 8)),
        (["Tue, 3 Jan 2023 10:00:00", "Wed, 4 Jan 2023 00:00:00"], dt.datetime(2023, 1, 4)),
        (["20240131", "20240229", "20231231"], dt.datetime(2024, 2, 29)),
        (["11:30 PM", "1:05 am"], dt.datetime(1970, 1, 1, 1, 5)),
        (["08:15", "17:45"], dt.datetime(1970, 1, 1, 17, 45)),
    ],
)
def test_what_means_a_time_is_one(cells: list[Any], second: dt.datetime) -> None:
    frame = read(cells)
    assert kind(frame) == "time"
    assert values(frame)[1] == second
    assert not doubt(frame)


def test_seconds_since_1970_are_times_in_a_column_of_that_name() -> None:
    seconds = [1.7e9, 1.7e9 + 60, 1.7e9 + 61]
    assert kind(read(seconds, "created_at"), "created_at") == "time"
    assert kind(read(seconds, "distance"), "distance") == "number"
    assert kind(read([x * 1000 for x in seconds], "timestamp"), "timestamp") == "time"


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["20,781", "1,250", "950"], "could also be a decimal sign; <<decimal>>"),
        (["01/02/2024", "02/03/2024"], "month first; <<dates=dmy>>"),
        (["$5", "€6"], "amounts in $ and € are compared"),
        (["007", "008", "123"], "leading zeros are taken for codes; <<numeric>>"),
        (list(range(30)), "only numbers the rows; <<numeric>>"),
    ],
)
def test_what_could_be_read_otherwise_is_said(cells: list[Any], said: str) -> None:
    assert said in doubt(read(cells))


def test_other_columns_tell_what_a_sign_means() -> None:
    german = pd.DataFrame({"a": ["1.234", "12.500"], "b": ["0,5", "7,25"]})
    np.testing.assert_array_equal(values(read_frame(german)), [1234, 12500])
    english = pd.DataFrame({"a": ["1,234", "12,500"], "b": ["0.5", "7.25"]})
    assert not doubt(read_frame(english))
    np.testing.assert_array_equal(values(read_frame(english)), [1234, 12500])
    said = read_frame(english[["a"]], ReadOptions(decimal=","))
    np.testing.assert_array_equal(values(said), [1.234, 12.5])


def names(n: int) -> list[str]:
    return [f"{first} {second}" for first in "ABCDEFGHIJ" for second in "KLMNOPQRST"][:n]


@pytest.mark.parametrize(
    ("cells", "name", "expected"),
    [
        (["red", "blue", "red"], "colour", "category"),
        (["A12", "B13", "A12"], "code", "category"),
        ([f"u-{n}" for n in range(50)], "who", "id"),
        ([f"{n * 7919 % 10007}" for n in range(50)], "customer_id", "id"),
        ([n * 3 + 5 for n in range(50)], "orderId", "id"),
        ([f"a short note about item number {n} of many" for n in range(50)], "memo", "text"),
        (names(50) * 4, "name", "category"),
        (["x"] * 9, "site", "constant"),
        ([None] * 9, "empty", "ignored"),
    ],
)
def test_words_are_told_apart(cells: list[Any], name: str, expected: str) -> None:
    assert kind(read(cells, name), name) == expected


def test_a_column_that_is_called_a_label_is_doubted() -> None:
    assert "<<label-column>>" in doubt(read([0, 1, 0, 1, 1], "is_fraud"), "is_fraud")
    assert not doubt(read([0.5, 1, 0, 7, 1], "target"), "target")


def test_options_win() -> None:
    table = pd.DataFrame({"n": ["007", "008"], "d": [1, 2], "w": ["a b", "c"], "t": [20240101, 20240102], "i": [1, 2]})
    options = ReadOptions(numeric=("n",), categorical=("d",), text=("w",), time=("t",), ignore=("i",))
    frame = read_frame(table, options)
    assert [kind(frame, str(name)) for name in table] == ["number", "category", "text", "time", "ignored"]
    assert list(frame.columns) == ["n", "d", "w", "t"]
    assert list(read_frame(table, ReadOptions(only=("d", "w"))).columns) == ["d", "w"]


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        (["1", "2", "huge"], {}, "mostly numbers, but 1 cell is not, such as 'huge' in row 2"),
        (["7.5", "8.5", None, "1.2.3"], {}, "mostly numbers, but 1 cell is not, such as '1.2.3' in row 3"),
        (["7.5", "8", "7.5.2024"], {}, "mostly numbers, but 1 cell is not, such as '7.5.2024' in row 2"),
        (["7.5", "8.25", "12,5"], {}, "mostly numbers, but 1 cell is not, such as '12,5' in row 2"),
        (["7,5", "8,25", "12.5", "3"], {}, "mostly numbers, but 1 cell is not, such as '12.5' in row 2"),
        (["7.5", "12,5"] * 50, {}, "mostly numbers, but 50 cells are not, such as '12,5' in row 1"),
        (["7.5", "8,5", "9.5", "huge"], {}, "mostly numbers, but 2 cells are not, such as '8,5' in row 1"),
        (["12 %", "0.34", "56 %"], {}, "mostly numbers, but 1 cell is not, such as '0.34' in row 1"),
        (["1.2k", "900", "300"], {}, "mostly numbers, but 1 cell is not, such as '1.2k' in row 0"),
        ([None, "1.5", "1.2.3", "a", "b"], {"numeric": ("a",)}, "as numbers, but 3 cells are not, such as '1.2.3'"),
        (["1.1.2024", "2.1.2024", "soon"], {}, "mostly dates, but 1 cell is not, such as 'soon' in row 2"),
        (["a", "b"], {"time": ("a",)}, "asked for as a time"),
        (["x"], {"ignore": ("b",)}, "no column 'b'. Choose among its columns: a, z"),
    ],
)
def test_what_cannot_be_read_is_said(cells: list[Any], options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(cells, **options)


@pytest.mark.parametrize(
    ("pool", "new", "message"),
    [
        (["1.5", "2.5"], ["1,5"], "'a' held numbers in the pool and holds text such as '1,5' in row 0 now"),
        (["1,5", "2,5"], ["1.5"], r"'a' held numbers in the pool \(such as '1,5'\) and holds text such as '1.5'"),
        (["31.12.2024", "1.1.2025"], ["2024-12-31"], "held dates or times"),
        (["yes", "no"], ["maybe"], "held yes and no in the pool .* 'maybe' in row 0"),
        (["1:30", "2:10"], ["90 s"], "held lengths of time"),
        ([1.5, 2.5], [dt.datetime(2020, 1, 1)], "held numbers in the pool and holds dates"),
    ],
)
def test_new_rows_that_read_differently_are_refused(pool: list[Any], new: list[Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read_frame(pd.DataFrame({"a": new, "z": 1.5}), schema=read(pool).schema)


def test_new_rows_may_write_what_is_missing_in_other_words() -> None:
    frame = read_frame(pd.DataFrame({"a": ["n/a", "1,25"], "z": 1.5}), schema=read(["1,5", "2,5"]).schema)
    np.testing.assert_array_equal(values(frame), [np.nan, 1.25])


@pytest.mark.parametrize(
    "pool",
    [
        ["28,42", "1,5", "k.A."],
        ["28,42 mg", "1,5 mg"],
        ["12 %", "0,5 %", "5 %"],
        ["$1,234.56", "$2.00"],
        ["1.5", "2"],
        [1.5, 2.5],
        ["ja", "nein"],
        ["1:23:45", "0:05:00"],
        ["31.12.2024", "01.02.2024"],
        ["20240131", "20240229", "20231231"],
    ],
)
@pytest.mark.parametrize("gap", ["k.A.", None, np.nan, "", pd.NaT])
@pytest.mark.parametrize("n_rows", [1, 4])
def test_new_rows_may_hold_nothing_but_missing_cells(pool: list[Any], gap: Any, n_rows: int) -> None:
    known = read(pool)
    for column in (pd.Series([gap] * n_rows, dtype=object), pd.Series([gap] * n_rows)):
        frame = read_frame(pd.DataFrame({"a": column, "z": 1.5}), schema=known.schema)
        assert frame.columns["a"].dtype == known.columns["a"].dtype
        assert pd.isna(frame.columns["a"]).all()


STYLES = {
    "plain": lambda x: f"{x:.3f}",
    "comma": lambda x: f"{x:.3f}".replace(".", ","),
    "english": lambda x: f"{x:,.2f}",
    "german": lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
    "french": lambda x: f"{x:,.2f}".translate(str.maketrans(",.", "\u202f,")),
    "swiss": lambda x: f"{x:,.2f}".replace(",", "'"),
    "dollars": lambda x: f"${x:,.2f}" if x >= 0 else f"-${-x:,.2f}",
    "accounts": lambda x: f"{x:,.2f} EUR" if x >= 0 else f"({-x:,.2f}) EUR".replace(") EUR", " EUR)"),
    "percent": lambda x: f"{x:.1f} %",
    "kilograms": lambda x: f"{x:.3g} kg",
    "scientific": lambda x: f"{x:.6E}",
    "trailing minus": lambda x: f"{abs(x):.2f}{'-' if x < 0 else ''}",
}


def number_in(text: str, style: str) -> float:
    """What a person reads: the digits that were written."""
    plain = text.replace("\u202f", "").replace("'", "").replace(" kg", "").replace(" %", "").replace("$", "")
    negative = plain.startswith("(") or plain.endswith("-")
    plain = plain.replace(" EUR", "").strip("()").rstrip("-")
    plain = plain.replace(".", "").replace(",", ".") if style in ("german", "french") else plain
    plain = plain.replace(",", ".") if style == "comma" else plain.replace(",", "")
    return -float(plain) if negative else float(plain)


floats = st.floats(-1e6, 1e6).map(lambda x: round(x, 2))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(STYLES)), st.lists(floats, min_size=2, max_size=9))
def test_numbers_come_back_in_whatever_style_they_were_written(style: str, xs: list[float]) -> None:
    xs = [*xs, 1234567.25, -0.5]  # says what the signs mean: without such a cell nobody can know
    texts = [STYLES[style](x) for x in xs]
    expected = [number_in(text, style) for text in texts]
    np.testing.assert_allclose(values(read(texts)), expected, rtol=1e-12)


cells = st.sampled_from(
    ["1", "1.5", "1,5", "1,234", "$5", "5 kg", "5 g", "", "n/a", "31.12.2024", "01/02/2024", "13:30", "yes", "no",
     "red", "a few words of text", "007", "2h 3m", "12 %", None]
)  # fmt: skip


def test_the_example_of_equal_numbers_does_not_depend_on_which_comes_first() -> None:
    one, other = (read(column) for column in (["$5", "$5", "5 €"], ["5 €", "$5", "$5"]))
    assert one.schema == other.schema


@settings(max_examples=150, deadline=None)
@given(st.lists(cells, min_size=1, max_size=12), st.randoms(), st.booleans())
def test_the_order_of_rows_does_not_matter_and_reading_again_gives_the_same(
    column: list[Any], random: Any, alike: bool
) -> None:
    column = [column[0]] * 3 + column[:2] if alike else column
    order = random.sample(range(len(column)), len(column))
    try:
        frame = read(column)
    except DataError as error:
        with pytest.raises(type(error)):
            read([column[at] for at in order])
        return
    assert frame.schema is not None
    shuffled = read([column[at] for at in order])
    assert shuffled.schema == frame.schema
    stored = Schema.from_json(json.loads(json.dumps(frame.schema.to_json(), allow_nan=False)))
    assert stored == frame.schema
    again = read_frame(pd.DataFrame({"a": pd.Series(column, dtype=object), "z": 1.5}), schema=stored)
    for name, expected in frame.columns.items():
        np.testing.assert_array_equal(again.columns[name], expected)


ADDRESSES = [f"192.168.100.{last}" for last in range(101, 161)]
POINTED = [f"{whole}.{whole}" for whole in range(101, 161)]


def test_a_column_of_addresses_does_not_change_how_numbers_are_read() -> None:
    frame = read_frame(pd.DataFrame({"source": ADDRESSES, "load": POINTED}))
    assert values(frame, "load") == [float(text) for text in POINTED]


@pytest.mark.parametrize("cells", [ADDRESSES, ["1.10.100", "2.10.101", "1.12.100"] * 8, ["1.2.2024", "3.4.2024"] * 8])
def test_addresses_versions_and_dates_are_no_numbers(cells: list[str]) -> None:
    assert kind(read(cells)) != "number"


def test_columns_that_contradict_each_other_are_read_each_by_itself() -> None:
    frame = read_frame(
        pd.DataFrame({"price": ["1,5", "2,25"], "rate": ["0.25", "0.5"], "load": ["101.101", "102.102"]})
    )
    assert values(frame, "price") == [1.5, 2.25]
    assert values(frame, "load") == [101.101, 102.102]


def test_a_point_that_another_column_makes_a_thousands_separator_is_doubted() -> None:
    frame = read_frame(pd.DataFrame({"price": ["1,5", "2,25"], "load": ["101.101", "102.102"]}))
    assert values(frame, "load") == [101101, 102102]
    assert "could also be a decimal sign" in doubt(frame, "load")
