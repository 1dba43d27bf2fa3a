"""The same table in files of every kind reads alike, and what is wrong with a file is said in one line."""

from __future__ import annotations

import bz2
import gzip
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from soel.errors import DataError
from soel.tables import formats
from soel.tables.open import copy_as_parquet, read_table
from soel.tables.read_options import ReadOptions

TABLE = pd.DataFrame(
    {"size": [1.5, None, -2.0], "colour": ["red", "blue", None], "day": ["2024-01-31", None, "2024-02-29"]}
)
CSV = TABLE.to_csv(index=False).encode()


def as_zstd(path: Path) -> None:
    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(CSV)


def as_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/t.csv", CSV)


def as_lines(path: Path) -> None:
    rows = TABLE.astype(object).where(TABLE.notna(), None).to_dict("records")
    path.write_text("\n".join(json.dumps(row) for row in rows))


def as_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        TABLE.to_sql("t", connection, index=False)


def as_duckdb(path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1.5 AS size, 'red' AS colour, DATE '2024-01-31' AS day")
        connection.execute("INSERT INTO t VALUES (NULL, 'blue', NULL), (-2, NULL, DATE '2024-02-29')")


KINDS: dict[str, Callable[[Path], Any]] = {
    "t.csv": lambda path: path.write_bytes(CSV),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV)),
    "t.csv.bz2": lambda path: path.write_bytes(bz2.compress(CSV)),
    "t.csv.zst": as_zstd,
    "t.zip": as_zip,
    "t.jsonl": as_lines,
    "t.xlsx": lambda path: TABLE.to_excel(path, index=False, sheet_name="Data"),
    "t.feather": lambda path: pyarrow.feather.write_feather(TABLE, str(path)),
    "t.sqlite": as_sqlite,
    "t.duckdb": as_duckdb,
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_reads_alike(tmp_path: Path, name: str) -> None:
    KINDS[name](tmp_path / name)
    (tmp_path / "copy").mkdir()
    for path in (tmp_path / name, copy_as_parquet(tmp_path / name, tmp_path / "copy", ReadOptions())):
        frame = read_table(path).frame
        np.testing.assert_array_equal(frame.columns["size"], [1.5, np.nan, -2])
        assert frame.columns["colour"].tolist() == ["red", "blue", None]
        expected = np.array(["2024-01-31", "NaT", "2024-02-29"], "datetime64[us]")
        np.testing.assert_array_equal(frame.columns["day"], expected)


def test_a_database_behind_an_address(tmp_path: Path) -> None:
    as_sqlite(tmp_path / "t.db")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE VIEW v AS SELECT size FROM t WHERE size > 0")
    for query in ("SELECT size FROM t WHERE size > 0", "v"):
        copy = copy_as_parquet(f"sqlite:///{tmp_path / 't.db'}", tmp_path, ReadOptions(query=query))
        assert read_table(copy).frame.columns["size"].tolist() == [1.5]


def test_a_column_whose_type_changes_after_many_rows_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "ROWS_AT_ONCE", 2)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t(a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, None), (2, None), (2.5, 7), ("x", 8), (None, 9.5)])
        connection.commit()
    table = pyarrow.parquet.read_table(copy_as_parquet(tmp_path / "t.db", tmp_path, ReadOptions()))
    assert table.column("a").to_pylist() == ["1", "2", "2.5", "x", None]
    assert table.column("b").to_pylist() == [None, None, 7, 8, 9.5]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "windows-1252"])
def test_encodings_are_found_and_said(tmp_path: Path, encoding: str) -> None:
    text = "größe,städte\n1.5,Köln\n2.5,Málaga\n" + ("" if encoding == "latin-1" else "3,„Ulm“\n")
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    frame = read_table(tmp_path / "t.csv").frame
    assert frame.columns["größe"][:2].tolist() == [1.5, 2.5]
    assert frame.columns["städte"][0] == "Köln"
    assert frame.schema is not None
    assert frame.schema.layout.encoding == encoding.removesuffix("-sig")
    assert bool(frame.schema.layout.notes) == (not encoding.startswith("utf-8"))


def test_damaged_utf_8_is_not_taken_for_another_code(tmp_path: Path) -> None:
    rows = "größe,ort\n" + "".join(f"{row},{('Köln', 'Ulm')[row % 2]}\n" for row in range(20))
    content = rows.encode().replace(b"11,Ulm", b"11,Ul\xff")
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"t\.csv is UTF-8 but for 1 places, the first in line 13 .*0xff.*encoding="):
        read_table(tmp_path / "t.csv")
    said = read_table(tmp_path / "t.csv", options=ReadOptions(encoding="windows-1252")).frame
    assert "grÃ¶ÃŸe" in said.columns, "who names the encoding gets it"


def test_an_encoding_that_shows_late_in_a_file(tmp_path: Path) -> None:
    rows = [f"{row},plain" for row in range(200_000)]
    (tmp_path / "t.csv").write_bytes("\n".join(["n,w", *rows, "7,Köln"]).encode("latin-1"))
    frame = read_table(tmp_path / "t.csv", options=ReadOptions(categorical=("w",))).frame
    assert frame.columns["w"][-1] == "Köln"
    said = read_table(tmp_path / "t.csv", options=ReadOptions(encoding="cp1250", categorical=("w",))).frame
    assert said.schema is not None
    assert not said.schema.layout.notes


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        ("t.csv.gz", {"max_unpacked": 10}, "more than 10 bytes when it is unpacked.*max_unpacked="),
        ("t.zip", {"max_unpacked": 10}, "more than 10 bytes"),
        ("t.xlsx", {"sheet": "Other"}, "no sheet 'Other'. Choose among: Data"),
        ("t.sqlite", {"query": "u"}, "no table 'u'. Choose among: 't'"),
        ("t.sqlite", {"query": "SELECT absent FROM t"}, "no such column: absent"),
        ("t.csv", {"encoding": "klingon"}, "no encoding 'klingon'"),
    ],
)
def test_what_is_asked_for_wrongly_is_said(tmp_path: Path, make: str, options: Any, message: str) -> None:
    KINDS[make](tmp_path / make)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / make, options=ReadOptions(**options))


def test_several_sheets_tables_and_members_have_to_be_chosen(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        TABLE.to_excel(book, sheet_name="a", index=False)
        TABLE[["size"]].to_excel(book, sheet_name="b", index=False)
    with pytest.raises(DataError, match=r"2 sheets \(a, b\). Choose one with sheet="):
        read_table(tmp_path / "t.xlsx")
    assert list(read_table(tmp_path / "t.xlsx", options=ReadOptions(sheet="b")).frame.columns) == ["size"]
    with sqlite3.connect(tmp_path / "t.db") as connection:
        TABLE.to_sql("t", connection, index=False)
        TABLE.to_sql("u", connection, index=False)
    with pytest.raises(DataError, match=r"2 tables .*query="):
        read_table(tmp_path / "t.db")
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.csv", CSV)
    with pytest.raises(DataError, match=r"holds 2 files \(a.csv, b.csv\)"):
        read_table(tmp_path / "t.zip")


def test_an_array_is_not_unpacked_before_its_size_is_known(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 100)), other=np.zeros(5_000_000), y=np.zeros(1000))
    assert read_table(tmp_path / "t.npz", exclude=["y"]).frame.n_rows == 1000
    with pytest.raises(DataError, match=r"array 'X' of 800,\d+ bytes when it is unpacked"):
        read_table(tmp_path / "t.npz", options=ReadOptions(max_unpacked=100_000))
    with pytest.raises(DataError, match=r"'other' of t.npz has not one value per row"):
        read_table(tmp_path / "t.npz", exclude=["other"])


@pytest.mark.parametrize("character", ["\0", "\n", "\x1b", "\u202e"])
def test_ids_with_control_characters_are_refused(tmp_path: Path, character: str) -> None:
    pd.DataFrame({"k": ["a", f"b{character}c"], "x": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="holds a control character in row 1"):
        read_table(tmp_path / "t.parquet", id_column="k")


def test_repeated_rows_can_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("k,a,b\n1,2,x\n2,2,x\n3,2,y\n4,2,x\n")
    table = read_table(tmp_path / "t.csv", id_column="k", options=ReadOptions(drop_duplicates=True))
    assert table.ids.tolist() == ["1", "3"]
    assert table.frame.n_rows == 2


def test_twenty_thousand_columns_take_time_that_grows_with_them(tmp_path: Path) -> None:
    import time

    seconds = []
    for width in (1000, 8000):
        header = ",".join(f"c{at}" for at in range(width))
        line = ",".join(f"{at % 97}.25" for at in range(width))
        (tmp_path / "t.csv").write_text("\n".join([header, *[line] * 20]))
        began = time.process_time()
        assert len(read_table(tmp_path / "t.csv").frame.columns) == width
        seconds.append(time.process_time() - began)
    assert seconds[1] < 20 * seconds[0]  # eight times as many columns; a square would be 64 times


@pytest.mark.parametrize(("name", "pack"), [("t.csv.gz", gzip.compress), ("t.csv.bz2", bz2.compress)])
def test_a_table_beyond_the_limit_is_refused_before_its_cells_take_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, pack: Callable[[bytes], bytes]
) -> None:
    content = b"a,b\n" + b"1,2\n" * (1 << 19)  # more than the first look takes
    (tmp_path / name).write_bytes(pack(content))
    assert read_table(tmp_path / name, options=ReadOptions(max_unpacked=len(content))).frame.n_rows == 1 << 19
    monkeypatch.setattr(pyarrow.csv, "read_csv", lambda *_: pytest.fail("cells were read"))
    with pytest.raises(DataError, match=f"more than {len(content) - 1:,} bytes"):
        read_table(tmp_path / name, options=ReadOptions(max_unpacked=len(content) - 1))
