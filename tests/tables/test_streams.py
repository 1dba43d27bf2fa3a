"""Data in parts: every format gives the same rows as reading the file whole, however it is cut."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from soel.errors import DataError, SchemaError
from soel.tables import csv, parts
from soel.tables.batches import Stream, has_more_rows, open_stream
from soel.tables.open import read_table
from soel.tables.parts import column_of
from soel.tables.read_options import ReadOptions

N_ROWS = 1000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of about 100 rows and blocks of 37, so that a small table has many."""
    monkeypatch.setattr(csv, "PART_BYTES", 4000)
    monkeypatch.setattr(csv, "SCAN_BYTES", 501)
    monkeypatch.setattr(parts, "PART_ROWS", 100)
    monkeypatch.setattr(parts, "BLOCK_ROWS", 37)
    monkeypatch.setattr("soel.tables.csv.BLOCK_ROWS", 37)


def numbers() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(N_ROWS, 3)).round(4)


def mixed() -> pa.Table:
    x = numbers()
    words = [None if row % 11 == 0 else ["red", "a, b", 'say "no"', "two\nlines"][row % 4] for row in range(N_ROWS)]
    whole = [row % 5 if row < 800 else row / 8 for row in range(N_ROWS)]
    return pa.table({"key": range(7000, 7000 + N_ROWS), "a": x[:, 0], "word": words, "n": whole, "truth": whole})


def as_parquet(folder: Path, table: pa.Table) -> Path:
    pq.write_table(table, folder / "t.parquet", row_group_size=70)
    return folder / "t.parquet"


def as_folder(folder: Path, table: pa.Table) -> Path:
    place = folder / "t"
    for number, start in enumerate(range(0, len(table), 260)):
        path = place / f"year={number}" / "part.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table.slice(start, 260), path, row_group_size=50)
    (place / "_SUCCESS.parquet").write_bytes(b"no table")
    return place


def as_csv(folder: Path, table: pa.Table) -> Path:
    pyarrow.csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


FORMS: dict[str, Callable[[Path, pa.Table], Path]] = {"parquet": as_parquet, "folder": as_folder, "csv": as_csv}


def rows_of(stream: Stream) -> tuple[dict[str, list[Any]], list[str]]:
    columns: dict[str, list[Any]] = {name: [] for name in stream.features}
    ids: list[str] = []
    for part in stream.parts:
        blocks = list(stream.blocks(part))
        assert blocks[0].first_row == part.first_row == len(ids)
        assert max(block.n_rows for block in blocks) <= 37
        for block in blocks:
            ids += block.ids.to_pylist()
            for name, column in block.frame.columns.items():
                columns[name] += column.tolist()
    return columns, ids


@pytest.mark.parametrize("form", FORMS)
def test_all_rows_come_in_order_with_their_types(tmp_path: Path, form: str) -> None:
    data = FORMS[form](tmp_path, mixed())
    stream = open_stream(data, id_column="key", exclude=["truth"])
    assert stream.features == ("a", "word", "n")
    assert [each.name for each in stream.schema.columns if each.kind == "category"] == ["word"]
    assert stream.n_rows == N_ROWS
    assert len(stream.parts) > 5
    columns, ids = rows_of(stream)
    expected = read_table(as_parquet(tmp_path, mixed()), "key", ["truth"])
    assert ids == expected.ids.tolist()
    for name, column in expected.frame.columns.items():
        assert columns[name] == column.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(tmp_path: Path, order: Any) -> None:
    np.save(tmp_path / "t.npy", np.asarray(numbers(), np.float32, order=order))
    columns, ids = rows_of(open_stream(tmp_path / "t.npy", exclude=["x1"]))
    np.testing.assert_array_equal(np.transpose(list(columns.values())), np.float32(numbers()[:, [0, 2]]))
    assert ids == [str(row) for row in range(N_ROWS)]


def test_an_array_of_words_in_parts(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([["a", "1"], ["b", "2"], ["a", "3"]] * 30))
    stream = open_stream(tmp_path / "t.npy")
    columns, _ = rows_of(stream)
    assert columns == {"x0": ["a", "b", "a"] * 30, "x1": [1, 2, 3] * 30}
    assert column_of(next(stream.batches(stream.parts[0]))[1], "x0")[1].as_py() == "b"


def test_a_part_can_be_read_alone_and_elsewhere(tmp_path: Path) -> None:
    for make in FORMS.values():
        stream = open_stream(make(tmp_path, mixed()), id_column="key")
        part = stream.parts[-2]
        twin: Stream = pickle.loads(pickle.dumps(stream))
        ids = [item for block in twin.blocks(part) for item in block.ids.to_pylist()]
        assert ids == [str(7000 + row) for row in range(part.first_row, part.first_row + part.n_rows)]


@pytest.mark.parametrize("scheme", ["memory", "file"])
@pytest.mark.parametrize("form", [*FORMS, "npy"])
def test_an_address_gives_the_same_as_a_path(tmp_path: Path, scheme: str, form: str) -> None:
    if form == "npy":
        data = tmp_path / "t.npy"
        np.save(data, numbers())
    else:
        data = FORMS[form](tmp_path, mixed())
    address = f"file://{data}"
    if scheme == "memory":
        address = f"memory://{tmp_path.name}/{data.name}"
        fsspec.filesystem("memory").put(str(data), f"/{tmp_path.name}/{data.name}", recursive=True)
    here, there = open_stream(data), open_stream(address)
    assert rows_of(there) == rows_of(here)
    assert there.fingerprint == here.fingerprint
    assert there.name == here.name


def test_the_fingerprint_tells_files_apart(tmp_path: Path) -> None:
    place = as_folder(tmp_path, mixed())
    before = open_stream(place).fingerprint
    assert open_stream(place).fingerprint == before
    (place / "year=3" / "part.parquet").unlink()
    assert open_stream(place).fingerprint != before


def test_lines_are_found_wherever_the_scan_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '\ufeff\r\n"a",b\r\n\r\n"x\r\n\r\ny",1\r\n2,3\r\n\r\n\r\n"4,""",5\r\n6,7'
    (tmp_path / "t.csv").write_bytes(text.encode())
    monkeypatch.setattr(csv, "PART_BYTES", 1)
    for size in range(1, 40):
        monkeypatch.setattr(csv, "SCAN_BYTES", size)
        columns, _ = rows_of(open_stream(tmp_path / "t.csv", options=ReadOptions(categorical=("a",))))
        assert columns == {"a": ["x\r\n\r\ny", "2", '4,"', "6"], "b": [1, 3, 5, 7]}, size


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({900: "9,oops,1"}, "from row 871 on: Column 'size' .*'oops' in row 29"),
        ({900: "9,1"}, "row 900: Expected 3 columns, got 2"),
    ],
)
def test_a_line_that_breaks_the_rule_is_named(tmp_path: Path, rows: dict[int, str], message: str) -> None:
    lines = ["i,size,b", *(rows.get(row, f"{row},{row}.5,1") for row in range(N_ROWS))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream = open_stream(tmp_path / "t.csv")
    with pytest.raises(DataError, match=message):
        rows_of(stream)


def test_a_stray_quotation_mark_is_an_error_and_loses_no_row(tmp_path: Path) -> None:
    rows = [f'{row},5" wide,1' if row == 900 else f"{row},narrow,1" for row in range(N_ROWS)]
    (tmp_path / "t.csv").write_text("\n".join(["i,size,b", *rows]) + "\n")
    with pytest.raises(DataError, match="stray quotation mark after row 663"):
        rows_of(open_stream(tmp_path / "t.csv"))


def test_text_that_spelled_numbers_must_go_on_so(tmp_path: Path) -> None:
    cells = [str(3 * row) for row in range(N_ROWS)]
    cells[990:] = ["word"] * 10
    stream = open_stream(as_parquet(tmp_path, pa.table({"a": cells, "b": numbers()[:, 0]})))
    assert [each.kind for each in stream.schema.columns] == ["number", "number"]
    with pytest.raises(DataError, match=r"counted from row 980 on: Column 'a' .*'word' in row 10"):
        rows_of(stream)


def test_a_text_column_that_begins_empty_holds_words(tmp_path: Path) -> None:
    cells = [None] * 500 + ["word"] * 500
    stream = open_stream(as_parquet(tmp_path, pa.table({"a": pa.array(cells, pa.string()), "b": numbers()[:, 0]})))
    assert rows_of(stream)[0]["a"] == cells


def test_infinite_values_and_empty_ids_are_named(tmp_path: Path) -> None:
    x = numbers()[:, 0]
    x[777] = np.inf
    with pytest.raises(DataError, match=r"counted from row 774 on: .*in row 3"):
        rows_of(open_stream(as_parquet(tmp_path, pa.table({"a": x}))))
    keys = [None if row == 5 else "k" for row in range(N_ROWS)]
    with pytest.raises(DataError, match=r"id column 'k' is empty in row 5"):
        rows_of(open_stream(as_parquet(tmp_path, pa.table({"k": keys, "a": numbers()[:, 0]})), id_column="k"))


def test_damaged_and_odd_files_are_named(tmp_path: Path) -> None:
    place = as_folder(tmp_path, mixed())
    bad = place / "year=2" / "part.parquet"
    whole = bad.read_bytes()
    bad.write_bytes(whole[:100])
    with pytest.raises(DataError, match=r"year=2/part.parquet cannot be read as a table"):
        open_stream(place)
    bad.write_bytes(whole[:50] + bytes(2000) + whole[2050:])
    stream = open_stream(place)
    with pytest.raises(DataError, match=r"year=2/part.parquet cannot be read as a table"):
        rows_of(stream)
    pq.write_table(pa.table({"a": [1.0], "other": [2]}), bad)
    with pytest.raises(SchemaError, match=r"year=2/part.parquet has other columns"):
        open_stream(place)


def test_arrays_that_are_none_or_cut_off(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", numbers())
    content = (tmp_path / "t.npy").read_bytes()
    (tmp_path / "t.npy").write_bytes(content[:-5])
    with pytest.raises(DataError, match=r"claims the shape \(1000, 3\)"):
        rows_of(open_stream(tmp_path / "t.npy"))
    (tmp_path / "t.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match="cannot be read as an array"):
        open_stream(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros((2, 3, 4)))
    with pytest.raises(DataError, match=r"shape \(2, 3, 4\)"):
        open_stream(tmp_path / "t.npy")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://nowhere/t.parquet", "does not exist"),
        ("nowhere.csv", "does not exist"),
        ("strange://t.csv", "cannot be opened"),
    ],
)
def test_what_is_not_there_is_said(address: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_stream(address)


def test_folders_and_suffixes_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"without a \.parquet file"):
        open_stream(tmp_path)
    (tmp_path / "t.npz").write_bytes(b"x")
    with pytest.raises(DataError, match="cannot be read in parts"):
        open_stream(tmp_path / "t.npz")
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        open_stream(tmp_path / "t.csv")
    with pytest.raises(SchemaError, match="no column 'c'"):
        open_stream(as_parquet(tmp_path, mixed()), exclude=["c"])


def test_files_are_counted_without_reading_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", numbers())
    for path in (as_parquet(tmp_path, mixed()), as_csv(tmp_path, mixed()), tmp_path / "t.npy"):
        assert has_more_rows(path, N_ROWS - 1)
        assert not has_more_rows(path, N_ROWS)
    (tmp_path / "t.parquet").write_bytes(b"no table")
    for name in ("t.parquet", "nowhere.csv", "t.npz"):
        assert not has_more_rows(tmp_path / name, 2)


MEMORY = """
import sys
from soel.tables.batches import open_stream

def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

import numpy, narwhals, pyarrow.compute, pyarrow.csv, pyarrow.parquet
before, most = anonymous(), 0
stream = open_stream(sys.argv[1])
for part in stream.parts:
    for block in stream.blocks(part):
        most = max(most, anonymous() - before)
print(most)
"""


def test_memory_does_not_grow_with_the_row_group(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random(2_500_000)
    pq.write_table(
        pa.table({f"c{at}": x for at in range(10)}),
        tmp_path / "t.parquet",
        row_group_size=3_000_000,
        use_dictionary=False,
    )
    assert pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).total_byte_size >= 200e6
    said = subprocess.run([sys.executable, "-c", MEMORY, tmp_path / "t.parquet"], capture_output=True, check=True)
    assert int(said.stdout) < 110_000  # kB; a whole row group would be twice as much
