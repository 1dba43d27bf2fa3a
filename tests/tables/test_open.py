"""Files in every format, and files that are none."""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soel.errors import DataError, SchemaError
from soel.tables.open import read_table
from soel.tables.read_options import ReadOptions

CSV = "id,size,colour,label\n007,1.5,red,0\n008,,blue,1\n009,-2,,\n"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(tmp_path: Path, separator: str, start: str) -> None:
    path = write(tmp_path, "pool.csv", start + CSV.replace(",", separator))
    table = read_table(path, id_column="id", exclude=("label",))
    assert list(table.frame.columns) == ["size", "colour"]
    np.testing.assert_array_equal(table.frame.columns["size"], [1.5, np.nan, -2])
    assert table.frame.columns["colour"].tolist() == ["red", "blue", None]
    assert table.ids.tolist() == ["007", "008", "009"]
    assert table.excluded["label"].tolist() == ["0", "1", None]
    assert table.source == "pool.csv"
    assert table.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()


def test_decimal_commas_are_read_where_they_cannot_separate(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path, "a.csv", "a;b\n1,5;2\n-0,25;3\n")).frame
    assert frame.columns["a"].tolist() == [1.5, -0.25]


def test_quoted_cells_may_hold_anything(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path, "a.csv", 'a,b\n"x,\ny",1\n"z ""q""",2\n')).frame
    assert frame.columns["a"].tolist() == ["x,\ny", 'z "q"']


def test_columns_can_be_declared_categorical(tmp_path: Path) -> None:
    frame = read_table(write(tmp_path, "a.csv", "zip,b\n01,1\n1,2\n"), options=ReadOptions(categorical=("zip",))).frame
    assert frame.columns["zip"].tolist() == ["01", "1"]


def test_parquet_gives_the_same_as_csv(tmp_path: Path) -> None:
    columns = {"size": [1.5, None, -2.0], "colour": ["red", "blue", None]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    parquet, csv = read_table(tmp_path / "a.parquet"), read_table(tmp_path / "a.csv")
    assert parquet.ids.tolist() == csv.ids.tolist()
    assert list(parquet.frame.columns) == ["size", "colour"]


@pytest.mark.parametrize("names", [("X", "y", "key"), ("features",)])
def test_npz(tmp_path: Path, names: tuple[str, ...]) -> None:
    X = np.arange(6.0).reshape(3, 2)
    arrays = dict(zip(names, (X, np.array([0, 1, 0]), np.array(["a", "b", "c"])), strict=False))
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
    table = read_table(tmp_path / "a.npz")
    assert not table.frame.named
    np.testing.assert_array_equal(np.column_stack(list(table.frame.columns.values())), X)
    if "y" in names:
        table = read_table(tmp_path / "a.npz", id_column="key", exclude=("y", "x1"))
        assert table.ids.tolist() == ["a", "b", "c"]
        assert table.excluded["y"].tolist() == [0, 1, 0]
        assert list(table.frame.columns) == ["x0"]


def test_npy(tmp_path: Path) -> None:
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X)
    assert read_table(tmp_path / "a.npy").ids.tolist() == read_table(tmp_path / "a.npz").ids.tolist()


def test_labels_do_not_change_the_ids(tmp_path: Path) -> None:
    before = read_table(write(tmp_path, "a.csv", "a,label\n1,0\n2,1\n"), exclude=("label",))
    after = read_table(write(tmp_path, "b.csv", "a,label\n1,1\n2,1\n"), exclude=("label",))
    assert before.ids.tolist() == after.ids.tolist()
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.docx", b"x", "'.docx', which says no known format"),
        ("a.xlsx", b"x", "a.xlsx cannot be read as a table"),
        ("a.csv.gz", b"x", "a.csv.gz cannot be unpacked"),
        ("a.csv.zip", b"x", "a.csv.zip cannot be unpacked"),
        ("a.jsonl", b"{]", "a.jsonl cannot be read as a table"),
        ("a.jsonl", b"null", "a.jsonl cannot be read as a table: 'n' begins a line"),
        ("a.jsonl", b'{"a": 1}\n  null\n', "a.jsonl cannot be read as a table: 'n' begins a line"),
        ("a.feather", b"x", "a.feather cannot be read as a table"),
        ("a.sqlite", b"x" * 200, "a.sqlite cannot be read as a SQLite file"),
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"\n \n", "a.csv is empty"),
        ("a.csv", b"a,b\n", r"0 sample\(s\)"),
        ("a.csv", b"a,b\n1,2,3\n", "cannot be read as a table: .*Expected 2 columns, got 3"),
        ("a.csv", b"a,b\nx\x81,2\n", "neither UTF-8 nor Windows-1252 text.*encoding="),
        ("a.csv", "a,b\nx,2\n".encode("utf-16-le"), "zero bytes.*encoding='utf-16-le'"),
        ("a.csv", b"1,2\n3,4\n", "holds numbers .*not column names"),
        ("a.csv", b",\n0,3\n", "Column 1 of a.csv has no name"),
        ("a.csv", b"a,a\n0,3\n", "share a name: 'a'"),
        ("a.csv", b"\x1b[2J,\x1b[2J\n0,3\n", r"share a name: '\\x1b\[2J'"),
        ("a.csv", b"a,b\n1,2\n1e999,3\n", "'a' holds infinity"),
        ("a.parquet", b"not parquet", "cannot be read as a table"),
        ("a.npz", b"not an archive", "cannot be read as an array"),
        ("a.npy", b"not an array", "cannot be read as an array"),
    ],
)
def test_what_is_no_table_is_said(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, name, content))


@pytest.mark.parametrize(("shape", "message"), [((3, 0), r"0 feature\(s\)"), ((0, 3), r"0 sample\(s\)")])
@pytest.mark.parametrize("by_column", [False, True])
def test_an_array_without_rows_or_columns_is_said(
    tmp_path: Path, shape: tuple[int, int], message: str, by_column: bool
) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": by_column, "shape": shape})
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "a.npy")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_table(tmp_path / "a.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize("save", [np.save, np.savez])
def test_objects_are_never_unpickled(tmp_path: Path, save: Any) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "sprung",)

    path = tmp_path / ("a.npy" if save is np.save else "a.npz")
    save(path, np.array([[Trap()]], object))
    with pytest.raises(DataError, match=r"Python objects|allow_pickle=False"):
        read_table(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("lie", [b"(10, 100000000000), }", b"(10, 1000000000000), ", b"(10, -1), }          "])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_header_that_lies_about_its_size_is_refused(tmp_path: Path, suffix: str, lie: bytes) -> None:
    path = tmp_path / f"a{suffix}"
    X = np.zeros((10, 10))
    np.save(path, X) if suffix == ".npy" else np.savez(path, X=X)
    honest = b"(10, 10), }          "
    assert len(lie) == len(honest)
    content = path.read_bytes()
    assert honest in content
    path.write_bytes(content.replace(honest, lie))
    with pytest.raises(DataError, match="cannot be read as an array"):
        read_table(path)


def test_several_arrays_without_x(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(DataError, match=r"no array called X \(its arrays: a, b\)"):
        read_table(tmp_path / "a.npz")


@pytest.mark.parametrize("arguments", [{"id_column": "nr"}, {"exclude": ("nr",)}])
@pytest.mark.parametrize("suffix", ["csv", "npy"])
def test_unknown_columns_are_named(tmp_path: Path, arguments: Any, suffix: str) -> None:
    np.save(tmp_path / "a.npy", np.eye(2))
    write(tmp_path, "a.csv", "x0,x1\n1,2\n")
    with pytest.raises(SchemaError, match=rf"a.{suffix} has no column 'nr'. .* x0, x1"):
        read_table(tmp_path / f"a.{suffix}", **arguments)


def test_the_room_imports_no_frame_library() -> None:
    heavy = "{'pandas', 'polars', 'pyarrow', 'torch'}"
    code = f"import sys, soel.tables.open, soel.tables.encoder; assert not {heavy} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
