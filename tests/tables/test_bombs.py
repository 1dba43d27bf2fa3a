"""Small files that claim much are refused in one line, by a process that may take 2 GiB of addresses."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from soel.errors import DataError
from soel.session.labels import read_labels
from soel.tables import formats
from soel.tables.open import copy_as_parquet, read_table
from soel.tables.read_options import ReadOptions

READ = """
import resource, sys
from soel.errors import DataError
from soel.tables.open import read_table
from soel.tables.read_options import ReadOptions
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    read_table(sys.argv[1], options=ReadOptions(query=sys.argv[2] or None))
except DataError as error:
    print(error)
print(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""


def write_sheet(path: Path, cells: Iterator[str]) -> None:
    import openpyxl

    empty = io.BytesIO()
    openpyxl.Workbook().save(empty)
    with zipfile.ZipFile(empty) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            if name != "xl/worksheets/sheet1.xml":
                out.writestr(name, source.read(name))
        rows = "".join(cells)
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        sheet = f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'
        out.writestr("xl/worksheets/sheet1.xml", sheet)


def cell(place: str, value: float) -> str:
    row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return f'<row r="{row}"><c r="{place}"><v>{value}</v></c></row>'


def stray_cell(path: Path) -> None:
    write_sheet(path, (cell(place, 1) for place in [*(f"A{row}" for row in range(1, 21)), "XFD1048576"]))


def sparse_sheet(path: Path) -> None:
    write_sheet(path, (cell(place, 1) for place in ("A1", "ALL1", "A200000", "ALL200000")))


def sparse_open_document(path: Path) -> None:
    names = {
        "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
        "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    }
    head = " ".join(f'xmlns:{name}="{space}"' for name, space in names.items())
    one = '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"/>'
    rows = f'<table:table-row table:number-rows-repeated="1048576">{one}</table:table-row>'
    body = f'<office:body><office:spreadsheet><table:table table:name="a">{rows}</table:table></office:spreadsheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
        out.writestr("META-INF/manifest.xml", manifest)
        out.writestr("content.xml", f"<office:document-content {head}>{body}</office:body></office:document-content>")


def long_dictionary(path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), pa.array(["x" * 1_000_000]))
    table = pa.table({"a": column, "b": range(20_000)})
    pyarrow.parquet.write_table(table, path, store_schema=False, compression="zstd")


def nested_dictionary(path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), pa.array(["x" * 1_000_000]))
    table = pa.table({"a": pa.StructArray.from_arrays([words], ["w"]), "b": range(20_000)})
    pyarrow.parquet.write_table(table, path, store_schema=False, compression="zstd")


def repeated_numbers(path: Path) -> None:
    piece = pa.table({f"x{at}": np.zeros(1 << 22, np.int64) for at in range(2)})
    with pyarrow.parquet.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(100):
            writer.write_table(piece)


def packed_feather(path: Path) -> None:
    piece = pa.table({"x": np.zeros(1 << 27)})
    pyarrow.feather.write_feather(piece, str(path), compression="zstd", chunksize=1 << 27)


def wide_lines(path: Path) -> None:
    path.write_text("\n".join(json.dumps({f"k{row}": 1}) for row in range(60_000)))


def wide_list(path: Path) -> None:
    path.write_text(json.dumps([{f"k{row}": 1} for row in range(60_000)]))


def deep_lines(path: Path) -> None:
    path.write_text('{"a": ' * 100_000 + "1" + "}" * 100_000)


def deep_list(path: Path) -> None:
    path.write_text("[" * 100_000 + "]" * 100_000)


def in_database(*statements: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    return write


def packed_array(path: Path) -> None:
    np.savez_compressed(path, X=np.zeros((1 << 20, 600), np.int8))


def array_of_nothing(path: Path) -> None:
    header = b"{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000, 1000), }"
    path.write_bytes(b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n")


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
BOMBS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "a stray cell": ("t.xlsx", stray_cell, "1,048,576 rows and 16,384 columns, but only 21 cells are filled"),
    "a sparse sheet": ("t.xlsx", sparse_sheet, "200,000 rows and 1,000 columns, but only 4"),
    "repeated cells": ("t.ods", sparse_open_document, "Cell limit exceeded"),
    "long words": ("t.parquet", long_dictionary, "more than 4,294,967,296 bytes"),
    "long words in records": ("t.parquet", nested_dictionary, "more than 4,294,967,296 bytes"),
    "repeated numbers": ("t.parquet", repeated_numbers, "more than 4,294,967,296 bytes"),
    "packed feather": ("t.feather", packed_feather, "takes more than .* MiB of memory"),
    "a key a line": ("t.jsonl", wide_lines, "takes more than .* MiB of memory"),
    "a key an object": ("t.json", wide_list, "takes more than .* MiB of memory"),
    "deep lines": ("t.jsonl", deep_lines, "cannot be read"),
    "a deep list": ("t.json", deep_list, "nested too deeply"),
    "an endless view": ("t.db", in_database(f"CREATE VIEW v AS {ENDLESS}"), r"0 tables"),
    "blobs of zeros": (
        "t.db",
        in_database("CREATE TABLE t(a)", "INSERT INTO t VALUES (zeroblob(900000000))"),
        "too big",
    ),
    "a generated column": (
        "t.db",
        in_database(
            "CREATE TABLE t(a, b AS (printf('%.*c', 60000000, 'x')))",
            f"INSERT INTO t {ENDLESS} LIMIT 100",
        ),
        "takes more memory|out of memory|more than|MemoryError",
    ),
    "a packed array": ("t.npz", packed_array, "array 'X' of 5,033,164,800 bytes"),
    "an array of nothing": ("t.npy", array_of_nothing, r"claims the shape \(1000000000, 1000\)"),
}


def test_a_file_of_labels_has_a_lower_limit(tmp_path: Path) -> None:
    table = pa.table({"item_id": np.zeros(1 << 23, np.int64), "label": np.zeros(1 << 23, np.int64)})
    pyarrow.parquet.write_table(table, tmp_path / "labels.parquet", compression="zstd")
    with pytest.raises(DataError, match=r"labels\.parquet has more than 67,108,864 bytes"):
        read_labels(tmp_path / "labels.parquet")


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_that_claims_much_is_refused(tmp_path: Path, bomb: str) -> None:
    name, write, message = BOMBS[bomb]
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 5_000_000 or bomb == "blobs of zeros"
    command = [sys.executable, "-c", READ, str(tmp_path / name), "t" if "column" in bomb else ""]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    said, peak = ended.stdout.strip().rsplit("\n", 1)
    assert len(said.splitlines()) == 1
    assert re.search(message, said)
    assert int(peak) < 2 << 20  # KiB


@pytest.mark.parametrize(
    "statement", [f"CREATE VIEW v AS {ENDLESS}", f"CREATE VIEW v AS SELECT count(*) FROM ({ENDLESS})"]
)
def test_a_view_that_never_ends_is_read_where_it_is_named_and_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    in_database("CREATE TABLE t(a)", "INSERT INTO t VALUES (1)", statement)(tmp_path / "t.db")
    assert read_table(tmp_path / "t.db").frame.n_rows == 1, "the only table is chosen, not the view"
    monkeypatch.setattr(formats, "MOST_SECONDS", 0.2)
    options = ReadOptions(query="v", max_unpacked=1_000_000)
    with pytest.raises(DataError, match=r"its rows come too slowly|more than 1,000,000 bytes"):
        read_table(tmp_path / "t.db", options=options)
    with pytest.raises(DataError, match=r"its rows come too slowly|more than 1,000,000 bytes"):
        copy_as_parquet(f"sqlite:///{tmp_path / 't.db'}", tmp_path, options)


def test_a_database_whose_every_row_is_slow_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = "CREATE TABLE t(a, b AS (length(printf('%.*c', 20000000 + a, 'x'))))"  # SQLite asks nobody meanwhile
    in_database("CREATE TABLE t(a)", *["INSERT INTO t VALUES (1)"] * 20)(tmp_path / "quick.db")
    in_database(slow, *["INSERT INTO t(a) VALUES (1)"] * 200)(tmp_path / "slow.db")
    monkeypatch.setattr(formats, "MOST_SECONDS", 0.1)
    options = ReadOptions(query="SELECT a, b FROM t")
    with pytest.raises(DataError, match="its rows come too slowly"):
        read_table(tmp_path / "slow.db", options=options)
    assert read_table(tmp_path / "quick.db").frame.n_rows == 20


@pytest.mark.parametrize("query", ["WITH x AS (SELECT 1) DELETE FROM t", "DELETE FROM t", "SELECT 1; DROP TABLE t"])
def test_a_query_by_an_address_only_reads(tmp_path: Path, query: str) -> None:
    in_database("CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")(tmp_path / "t.db")
    with pytest.raises(DataError, match=r"readonly|write a SELECT|several statements"):
        copy_as_parquet(f"sqlite:///{tmp_path / 't.db'}", tmp_path, ReadOptions(query=query))
    assert read_table(tmp_path / "t.db").frame.n_rows == 1


def test_a_query_of_duckdb_reads_no_other_file(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1.5 AS a")
        connection.execute("CREATE VIEW v AS SELECT 2.5 AS a")
    secret = f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')"
    with pytest.raises(DataError, match="disabled"):
        read_table(tmp_path / "t.duckdb", options=ReadOptions(query=secret))
    assert read_table(tmp_path / "t.duckdb").frame.columns["a"].tolist() == [1.5]
    assert read_table(tmp_path / "t.duckdb", options=ReadOptions(query="v")).frame.columns["a"].tolist() == [2.5]


def test_a_table_beyond_memory_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("soel.tables.open.frame_from", fail)
    with pytest.raises(DataError, match=r"t\.csv takes more memory than there is"):
        read_table(tmp_path / "t.csv")
