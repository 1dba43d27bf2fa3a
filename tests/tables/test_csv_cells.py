"""CSV for people: nothing runs in a spreadsheet, everything comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from soel.errors import DataError, StorageError
from soel.tables.rows import neutralise, read_rows, restore, sniff_separator, write_rows

cells = st.text(max_size=8) | st.text("=+-@\t\r\n';,\"1e", max_size=6)


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "-", "=-1", "-1+1", "'=x"])
def test_formulas_are_neutralised(cell: str) -> None:
    assert neutralise(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["-1", "+2.5", "-1e-3", "-.5", "x=1", "", "it's", "'quoted'", "nan"])
def test_numbers_and_plain_text_stay(cell: str) -> None:
    assert neutralise(cell) == cell
    assert restore(cell) == cell


@given(cells)
def test_restoring_undoes_neutralising(cell: str) -> None:
    assert restore(neutralise(cell)) == cell


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(cells, cells), max_size=4), st.sampled_from(["name", "=a;b;c", "a\tb\tc", 'q"q;;']))
def test_files_come_back_as_they_were(tmp_path: Path, rows: list[tuple[str, str]], name: str) -> None:
    write_rows(tmp_path / "rows.csv", [name, "other"], rows)
    expected = [{name: first, "other": second} for first, second in rows if first or second]
    assert read_rows(tmp_path / "rows.csv") == expected


def test_values_become_text(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.csv", ["x", "y", "z"], [[-1.5, None, "=x"]])
    assert (tmp_path / "a.csv").read_bytes() == b'"x","y","z"\r\n-1.5,,\'=x\r\n'


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff", "\r\n"])
def test_files_from_spreadsheets(tmp_path: Path, separator: str, start: str) -> None:
    lines = ["id,label ,note", '1,anomaly,"a,b"', ",,", "", "2,normal", "3,,,,"]
    quoted = [line.replace(",", separator) for line in lines]
    (tmp_path / "a.csv").write_text(start + "\r\n".join(quoted), encoding="utf-8", newline="")
    assert read_rows(tmp_path / "a.csv") == [
        {"id": "1", "label": "anomaly", "note": f"a{separator}b"},
        {"id": "2", "label": "normal", "note": ""},
        {"id": "3", "label": "", "note": ""},
    ]


def test_separators_in_quotes_do_not_count() -> None:
    assert sniff_separator('"a;b;c","d"') == ","
    assert sniff_separator("one column") == ","


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,a\n1,2\n", "same name: 'a', 'a'"),
        (b"a,\n1,2\n", "without a name"),
        (b"a,b\n1,2\n1,2,3\n", "Line 3 of a.csv has 3 cells, the header 2"),
        (b"a\n\x81\n", "neither UTF-8 nor Windows-1252"),
        ("a\n1".encode("utf-16")[:-1], "damaged, or no text"),
        (b"a\n" + b"x" * 200_000, "not a CSV file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_rows(tmp_path / "a.csv")


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_rows(tmp_path / "a.csv")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written: No such file"):
        write_rows(tmp_path / "no" / "a.csv", ["a"], [])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_rows(path, ["a"], [["old"]])

    def rows() -> Iterator[list[str]]:
        yield ["new"]
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_rows(path, ["a"], rows())
    assert read_rows(path) == [{"a": "old"}]
    assert list(tmp_path.iterdir()) == [path]
