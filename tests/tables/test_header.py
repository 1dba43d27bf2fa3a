"""Files with more than a table in them: what stands around it is left out and said, and nothing else is."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from hypothesis import given, strategies as st

from soel.errors import DataError, SchemaError, SoelError
from soel.tables.address import Location
from soel.tables.batches import open_stream
from soel.tables.csv import open_csv, read_csv
from soel.tables.header import find_head
from soel.tables.open import column_names, copy_as_parquet, read_table
from soel.tables.read_options import ReadOptions
from soel.tables.schema import notes_of, warnings_of

ROWS = "".join(f"2024-03-{day:02d};{day * 1.5:.1f};{'ab'[day % 2]}\n" for day in range(1, 29))
TABLE = f"day;flow;pump\n{ROWS}"


def write(folder: Path, text: str, name: str = "a.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def kinds(path: Path) -> dict[str, str]:
    reading = read_table(path).frame.schema
    assert reading is not None
    return {each.name: each.kind for each in reading.columns}


def said(path: Path) -> str:
    reading = read_table(path).frame.schema
    assert reading is not None
    return " ".join(warnings_of(reading))


AROUND = {
    "a title": (f"Pumps in March\n\n{TABLE}", "Left out before the table: 'Pumps in March'."),
    "keys and values": (f'"Account";"12"\n"From";"2024"\n\n{TABLE}', "'Account', 'From'"),
    "comments": (f"# logger 7\n# north\n{TABLE}", "'# logger 7', '# north'"),
    "a padded title": (f"Pumps;;\n{TABLE}", "'Pumps'"),
    "units": (f"day;flow;pump\n;l/min;\n{ROWS}", "holds no values: 'l/min'"),
    "units in brackets": (f"day;flow;pump\n(UTC);[m];(-)\n{ROWS}", "'(UTC)', '[m]', '(-)'"),
    "a rule": (f"day;flow;pump\n---;---;---\n{ROWS}", "'---'"),
    "blank lines": (TABLE.replace("\n2024-03-2", "\n\n\n2024-03-2") + "\n", "19 blank lines are left out."),
    "the separator's name": (f"sep=;\n{TABLE}", ""),
}


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_stands_around_a_table_is_left_out_and_said(tmp_path: Path, name: str, ending: str) -> None:
    text, words = AROUND[name]
    path = write(tmp_path, text.replace("\n", ending))
    table = read_table(path)
    assert kinds(path) == {"day": "time", "flow": "number", "pump": "category"}
    np.testing.assert_array_equal(table.frame.columns["flow"], 1.5 * np.arange(1, 29))
    assert words in said(path)
    assert column_names(path) == ["day", "flow", "pump"]


@pytest.mark.parametrize("name", AROUND)
def test_parts_leave_out_the_same(tmp_path: Path, name: str) -> None:
    parts = open_stream(write(tmp_path, AROUND[name][0]))
    rows = [row for part in parts.parts for _, batch in parts.batches(part) for row in batch["flow"].to_pylist()]
    assert rows == [f"{day * 1.5:.1f}" for day in range(1, 29)]


@pytest.mark.parametrize("name", AROUND)
def test_packed_files_leave_out_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(AROUND[name][0].encode()))
    np.testing.assert_array_equal(read_table(path).frame.columns["flow"], 1.5 * np.arange(1, 29))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "windows-1252"])
def test_the_first_row_is_found_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, f"Größe der Pumpen im März\n\n{TABLE.replace('pump', 'Größe')}", encoding=encoding)
    table = read_table(path)
    assert list(table.frame.columns) == ["day", "flow", "Größe"]
    assert table.frame.n_rows == 28


def test_names_over_two_rows_of_a_sheet_are_put_together(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"] = "Pumps, north"
    sheet.merge_cells("A1:D1")
    sheet.append([])
    sheet.append(["pump", "vibration", None, "oil"])
    sheet.merge_cells("B3:C3")
    sheet.append([None, "x", "y", None])
    for row in range(30):
        sheet.append([f"P-{row}", row + 0.5, row * 2, 60])
    book.save(tmp_path / "a.xlsx")
    table = read_table(tmp_path / "a.xlsx")
    assert list(table.frame.columns) == ["pump", "vibration x", "vibration y", "oil"]
    assert table.frame.n_rows == 30
    assert "'Pumps, north'" in said(tmp_path / "a.xlsx")


def test_bars_with_a_frame_are_a_table(tmp_path: Path) -> None:
    rows = "".join(f"|{row:<4}|{row * 1.5:>6.1f}-|\n" for row in range(100, 130))
    path = write(tmp_path, f"|No  |Value  |\n|----|-------|\n{rows}", "a.txt")
    columns = read_table(path).frame.columns
    np.testing.assert_array_equal(columns["Value"], -1.5 * np.arange(100, 130))
    assert list(columns) == ["No", "Value"]


def test_a_column_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, ",flow\n" + "".join(f"{row},{row}.5\n" for row in range(30)))
    assert kinds(path) == {"column 1": "id", "flow": "number"}
    assert "'column 1'" in said(path)


def test_values_in_the_first_line_are_no_names(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"{row}.5,{'ab'[row % 2]}\n" for row in range(30)))
    assert read_table(path).frame.n_rows == 30
    assert "holds values, no names" in said(path)


def test_years_are_names(tmp_path: Path) -> None:
    path = write(tmp_path, "pump,2023,2024\n" + "".join(f"p{row % 3},{row}.5,{row}\n" for row in range(30)))
    assert list(read_table(path).frame.columns) == ["pump", "2023", "2024"]


ORDINARY = {
    "a word among numbers": "name,paid\nann,cancelled\nbob,3\ncid,4\ndan,5\n",
    "a short last line": f"{TABLE}2024-03-29;4",
    "a short line within": f"day;flow;pump\n{ROWS}2024-03-29;1\n{ROWS}",
    "a repeated name": "flow,flow\n1,2\n3,4\n5,6\n",
    "whole numbers first": "1,2\n3,4\n5,6\n7,8\n",
}


@pytest.mark.parametrize("name", ORDINARY)
def test_faults_of_the_rows_are_still_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises((DataError, SchemaError)):
        read_table(write(tmp_path, ORDINARY[name]))


def test_columns_parted_by_blanks_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = write(tmp_path, "host    bytes\n" + "".join(f"10.0.0.{row}   {row}\n" for row in range(9)), "a.txt")
    with pytest.raises(DataError, match=r"separated by spaces.*commas"):
        read_table(path)


@pytest.mark.parametrize("word", ["Total", "sum", "Mean:", "Summe", "Gesamt"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".xlsx"])
def test_a_last_row_that_begins_like_a_sum_is_a_row(tmp_path: Path, word: str, suffix: str) -> None:
    rows: list[tuple[str, object]] = [("brand", "flow"), *(("ab"[row % 2], row * 1.5) for row in range(9)), (word, 9.5)]
    path, text = tmp_path / f"a{suffix}", "".join(f"{brand},{flow}\n" for brand, flow in rows)
    if suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.worksheets[0].append(row)
        book.save(path)
    else:
        path.write_bytes(gzip.compress(text.encode()) if suffix == ".csv.gz" else text.encode())
    table = read_table(path)
    assert (table.frame.n_rows, table.frame.columns["brand"][-1]) == (10, word)
    if suffix == ".csv":
        assert open_stream(path).n_rows == 10


def test_a_remark_below_the_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Expected 3 columns, got 1"):
        read_table(write(tmp_path, f"{TABLE}\nEnd of report\n"))


def test_repeated_rows_that_are_left_out_are_said(tmp_path: Path) -> None:
    path = write(tmp_path, TABLE + ROWS)
    reading = read_table(path, options=ReadOptions(drop_duplicates=True)).frame.schema
    assert notes_of(reading) == ["28 rows repeat earlier ones and are left out."]


def test_what_was_said_of_a_file_is_said_of_its_copy(tmp_path: Path) -> None:
    path = write(tmp_path, f"Pumps in March\n\n{TABLE}")
    copy = copy_as_parquet(path, tmp_path, ReadOptions())
    assert said(copy) == said(path) == "Left out before the table: 'Pumps in March'."


def test_the_head_of_an_ordinary_table_is_its_first_row() -> None:
    head = find_head([["a", "b"], ["x", "y"], ["z", "w"]])
    assert (head.names, head.n_before, head.notes) == (("a", "b"), 1, ())


def test_the_examples_of_a_column_are_its_ends_as_they_are_written(tmp_path: Path) -> None:
    path = write(tmp_path, "paid;x\n" + "".join(f"{(row - 20) * 75},50 €;{row}\n" for row in range(40)))
    reading = read_table(path).frame.schema
    assert reading is not None
    assert reading["paid"].seen.examples == ("-1500,50 €", "1425,50 €")


PIECES = st.sampled_from(
    [b'"', b",", b";", b"|", b"\n", b"\r", b"\0", b"\xff", b"Total", b"sep=,", b"-" * 9, b" " * 9, b""]
)
SPOILT = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4), PIECES), min_size=1, max_size=6)


@given(st.sampled_from(sorted(AROUND)), SPOILT)
def test_a_spoilt_file_is_refused_or_has_the_same_rows_at_once_and_in_parts(
    tmp_path_factory: pytest.TempPathFactory, name: str, spoilt: list[tuple[float, int, bytes]]
) -> None:
    content = bytearray(AROUND[name][0].encode())
    for share, length, piece in spoilt:
        at = int(share * len(content))
        content[at : at + length] = piece
    folder = tmp_path_factory.getbasetemp()
    (folder / "spoilt.csv").write_bytes(bytes(content))
    try:
        at_once = len(read_csv(folder / "spoilt.csv")[0])
        parts = open_csv(Location(str(folder)), "spoilt.csv")
        in_parts = sum(len(parts.read(part)) for part in parts.parts)
    except SoelError:
        return
    assert at_once == in_parts
