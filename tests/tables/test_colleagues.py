"""What colleagues write into cells: each of these was misread, or refused without need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from soel.errors import DataError
from soel.tables.column import Column
from soel.tables.kinds import kind_of
from soel.tables.look import look_at
from soel.tables.open import read_table
from soel.tables.raw_table import RawColumn, RawTable
from soel.tables.schema import decide


def read(cells: list[str], name: str = "a") -> tuple[Column, Any]:
    """The reading of a column of text, and its values as new rows get them."""
    column = RawColumn("text", pa.array(cells, pa.string()))
    reading, values = decide(RawTable({name: column}, True))
    again = kind_of(reading[name]).parse(reading[name], column)
    if name in values and reading[name].kind != "id":
        np.testing.assert_array_equal(values[name], again)
    return reading[name], again


def test_a_price_without_pennies_is_not_negative() -> None:
    reading, values = read(["1.234,-", "99,50", "5,--", "12,50-"])
    assert (reading.kind, reading.doubt) == ("number", "")
    assert values.tolist() == [1234, 99.5, 5, -12.5]


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["3. März 2024", "12. Mai 2023"], "2024-03-03"),
        (["2024-05-06 12:00:00 CEST", "2024-12-06 12:00:00 CET"], "2024-05-06T10:00"),
    ],
)
def test_dates_with_names_of_months_and_zones_are_times(cells: list[str], first: str) -> None:
    reading, values = read([*cells, *cells])
    assert (reading.kind, reading.doubt) == ("time", "")
    assert values[0] == np.datetime64(first)


@pytest.mark.parametrize("cells", [["2023-13", "2024-01"], ["Mark 12", "Mark 13"]])
def test_what_only_looks_like_a_month_is_none(cells: list[str]) -> None:
    assert read(cells)[0].kind == "category"


def test_dates_in_two_forms_are_read_and_said() -> None:
    reading, values = read(["31.12.2024", "2024-12-30", "29. Dez 2024", "28.12.2024 11:30"])
    assert reading.kind == "time"
    assert reading.doubt.startswith("dates are written in several forms")
    days = [str(value)[8:10] for value in values]
    assert days == ["31", "30", "29", "28"]


def test_dates_that_do_not_go_together_are_named() -> None:
    with pytest.raises(DataError, match=r"such as '31\.12\.2024' and '12/31/2024'"):
        read(["31.12.2024", "12/31/2024", "30.12.2024"])


def test_one_word_among_dates_is_one_cell() -> None:
    with pytest.raises(DataError, match="mostly dates, but 1 cell is not, such as 'soon' in row 1"):
        read(["2024-12-31", "soon", "2024-12-30"])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"10.{row % 200}.{row * 7 % 200}.{100 + row}" for row in range(60)], "id"),
        (["1.2.3", "1.10.0", "2.0.1"] * 20, "category"),
        ([f"DE{10 + row} {1000 + row} {2000 + row} {3000 + row} 44" for row in range(60)], "id"),
        ([f"+49 171 {1000000 + 37 * row}" for row in range(60)], "id"),
    ],
)
def test_addresses_versions_and_accounts_are_codes(cells: list[str], kind: str) -> None:
    reading, _ = read(cells)
    assert (reading.kind, reading.doubt) == (kind, "")


def test_numbers_of_documents_are_ids() -> None:
    assert read([str(5_100_000_000 + 7 * row) for row in range(60)], "Belegnr")[0].kind == "id"


@pytest.mark.parametrize(("name", "kind"), [("Datum", "time"), ("orderDate", "time"), ("n_updates", "number")])
def test_days_of_a_spreadsheet_are_times_where_the_column_is_called_so(name: str, kind: str) -> None:
    reading, values = read(["45292.5", "45293.25", "45300"], name)
    assert reading.kind == kind
    if kind == "time":
        assert reading.doubt.startswith("its numbers are read as the days of a spreadsheet")
        assert values[0] == np.datetime64("2024-01-01T12:00")


def test_names_of_columns_have_no_blanks_around_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('pump, flow," heat "\n' + "".join(f"p{row}, {row}.5, {row}\n" for row in range(30)))
    table = read_table(tmp_path / "a.csv", "pump")
    assert [*table.frame.columns] == ["flow", "heat"]


def test_names_repeated_in_the_middle_of_a_file_are_left_out(tmp_path: Path) -> None:
    month = "flow,heat\n" + "".join(f"{row}.5,{row % 7}\n" for row in range(30))
    (tmp_path / "a.csv").write_text(month * 3)
    reading = look_at(tmp_path / "a.csv")
    assert reading.layout.notes == ("2 lines that repeat the names of the columns are left out.",)
    assert (reading.n_rows, reading["flow"].kind) == (90, "number")


def test_records_in_records_are_columns_and_lists_are_text(tmp_path: Path) -> None:
    rows = [
        {"id": row, "order": {"sum": f"{row}.5 €", "to": {"zip": row % 7}}, "tags": ["a", "b"][: row % 3]}
        for row in range(30)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "a.json").write_text(json.dumps(rows))
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.json", "a.parquet"):
        reading = look_at(tmp_path / name)
        kinds = {each.name: each.kind for each in reading.columns}
        assert kinds == {"id": "id", "order.sum": "number", "order.to.zip": "number", "tags": "category"}, name
        assert "a, b" in reading["tags"].seen.examples


@pytest.mark.parametrize("content", ["{}", "[]", "[1, 2]", '[{"a": 1}', "[" * 100_000, '[{"a": 1}, {"a": {"b": 2}}]'])
def test_a_json_file_that_is_no_list_of_objects_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match=r"a\.json cannot be read as a table"):
        read_table(tmp_path / "a.json")
