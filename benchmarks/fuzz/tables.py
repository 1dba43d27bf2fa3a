"""Readers of tables and arrays."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from pyarrow import feather, parquet

from benchmarks.fuzz.mutation import ENCODINGS, odd_json, odd_text
from benchmarks.fuzz.target import Build, Target, one_file
from soel.tables.open import read_table
from soel.tables.read_options import ReadOptions

MOST_UNPACKED = 1 << 26
FAR = [(1_048_576, 16_384), (200_000, 1_000), (1, 16_384), (1_048_576, 1), (3_000, 700)]  # places of stray cells


def read(path: Path) -> object:
    """Read it as every verb does, with a limit on what is unpacked."""
    return read_table(path, options=ReadOptions(max_unpacked=MOST_UNPACKED))


def _honest() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": [1.5, 2.25, -3.0] * 9,
            "preis": ["1.234,50 €", "12,00 €", "n/a"] * 9,
            "when": ["31.12.2024 10:00", "01.02.2024 23:59", ""] * 9,
            "word": ["red", "blue, dark", 'say "no"'] * 9,
        }
    )


def _text(separator: str) -> st.SearchStrategy[bytes]:
    """Lines of odd cells, with as many of them as their lengths happen to be."""
    cell = odd_text() | st.sampled_from(["1,5", "1.234,50 €", "12 %", "31.12.2024", '"a', "'"])
    lines = st.lists(st.lists(cell, min_size=1, max_size=5).map(separator.join), max_size=8)
    return st.tuples(lines, st.sampled_from(ENCODINGS)).map(lambda made: "\n".join(made[0]).encode(made[1], "replace"))


def _lines_of_json() -> st.SearchStrategy[bytes]:
    row = st.dictionaries(st.sampled_from(["a", "b", "c"]), odd_json(), max_size=3)
    lines = st.lists(row | odd_json(), max_size=8)
    deep = st.integers(1, 200_000).map(lambda depth: b'{"a":' * depth + b"1" + b"}" * depth)
    wide = st.integers(1, 30_000).map(lambda n: b"\n".join(b'{"k%d": 1}' % row for row in range(n)))
    return lines.map(lambda rows: "\n".join(json.dumps(each) for each in rows).encode()) | deep | wide


def _zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", content)
    return out.getvalue()


def _zstd(content: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as file:
        file.write(content)
    return bytes(out.getvalue().to_pybytes())


def _arrow_tables() -> st.SearchStrategy[pa.Table]:
    """Tables of every type that Arrow has and people store."""
    number = st.integers(-(2**63), 2**63 - 1)
    kinds: Mapping[Any, st.SearchStrategy[Any]] = {
        pa.int64(): number,
        pa.uint64(): st.integers(0, 2**64 - 1),
        pa.int8(): st.integers(-128, 127),
        pa.float32(): st.floats(width=32),
        pa.float64(): st.floats(),
        pa.bool_(): st.booleans(),
        pa.string(): odd_text(),
        pa.large_string(): odd_text(),
        pa.binary(): st.binary(max_size=9),
        pa.date32(): st.integers(-(10**6), 10**6),
        pa.date64(): st.integers(-(10**6), 10**6).map(lambda day: day * 86_400_000),
        pa.time64("us"): st.integers(0, 86_399_999_999),
        pa.timestamp("s"): st.integers(-(2**63) // 1000 + 1, 2**63 // 1000),  # Parquet stores them as milliseconds
        pa.timestamp("ns"): number,
        pa.timestamp("us", "Europe/Berlin"): st.integers(-(10**15), 10**16),
        pa.duration("ms"): number,
        pa.decimal128(20, 3): st.decimals(-(10**12), 10**12, places=3),
        pa.list_(pa.int32()): st.lists(st.integers(0, 9), max_size=3),
        pa.struct({"a": pa.int32()}): st.fixed_dictionaries({"a": st.integers(0, 9)}),
        pa.null(): st.none(),
    }

    @st.composite
    def table(draw: Any) -> pa.Table:
        n_rows = draw(st.integers(0, 6))
        names = draw(st.lists(odd_text(), min_size=0, max_size=4))
        columns = []
        for _ in names:
            kind = draw(st.sampled_from(list(kinds)))
            values = draw(st.lists(st.none() | kinds[kind], min_size=n_rows, max_size=n_rows))
            column = pa.array(values, kind)
            is_coded = kind == pa.string() and draw(st.booleans())
            columns.append(column.dictionary_encode() if is_coded else column)
        return pa.Table.from_arrays(columns, names=[name.encode("utf-8", "replace").decode() for name in names])

    return table()


def _repeated_words() -> st.SearchStrategy[pa.Table]:
    """Few long words that many rows hold: small as a dictionary, and large when it is written out."""
    made = st.tuples(st.integers(1, 100_000), st.integers(0, 1_000_000), st.booleans())

    def table(given: tuple[int, int, bool]) -> pa.Table:
        n_rows, length, nested = given
        words = pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array(["x" * length]))
        return pa.table({"a": pa.StructArray.from_arrays([words], ["w"]) if nested else words, "b": np.arange(n_rows)})

    return made.map(table)


def _as_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def _as_feather(table: pa.Table) -> bytes:
    out = io.BytesIO()
    feather.write_feather(table, out)
    return out.getvalue()


def _workbooks() -> st.SearchStrategy[bytes]:
    openpyxl: Any = import_module("openpyxl")
    illegal = import_module("openpyxl.cell.cell").ILLEGAL_CHARACTERS_RE

    text = odd_text().map(lambda given: illegal.sub("", given).encode("utf-8", "replace").decode())
    cell = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | text
    cell = cell | st.datetimes() | st.sampled_from(["=1/0", "=A1", "#REF!", "=SUM("])
    rows = st.lists(st.lists(cell, max_size=4), max_size=6)
    sheets = st.lists(st.tuples(rows, st.none() | st.sampled_from(FAR)), min_size=1, max_size=2)

    def write(made: list[tuple[list[list[Any]], tuple[int, int] | None]]) -> bytes:
        book = openpyxl.Workbook()
        for number, (rows, stray) in enumerate(made):
            sheet = book.active if number == 0 else book.create_sheet()
            for row in rows:
                sheet.append(row)
            if stray is not None:
                sheet.cell(*stray, value=1)
        out = io.BytesIO()
        book.save(out)
        return out.getvalue()

    return sheets.map(write)


def _databases(folder: Path) -> st.SearchStrategy[bytes]:
    value = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | odd_text() | st.binary(max_size=9)
    name = odd_text().filter(lambda given: "\0" not in given and given.isprintable())
    columns = st.lists(name, min_size=1, max_size=4, unique_by=str.casefold)
    long = st.none() | st.integers(0, 1 << 31).map(lambda n: f"zeroblob({n})") | st.just("printf('%.*c', 1e9, 'x')")
    made = st.tuples(name, columns, st.lists(st.lists(value, min_size=4, max_size=4), max_size=6), long)

    def write(given: tuple[str, list[str], list[list[Any]], str | None]) -> bytes:
        table, columns, rows, computed = given
        path = folder / "made.sqlite"
        path.unlink(missing_ok=True)
        quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in (table, *columns)]
        connection = sqlite3.connect(path)
        try:
            more = [] if computed is None else [f'"long column" AS ({computed})']
            connection.execute(f"CREATE TABLE {quoted[0]} ({', '.join([*quoted[1:], *more])})")
            marks = ", ".join("?" * len(columns))
            safe = [[_storable(cell) for cell in row[: len(columns)]] for row in rows]
            named = ", ".join(quoted[1:])
            connection.executemany(f"INSERT INTO {quoted[0]} ({named}) VALUES ({marks})", safe)
            connection.commit()
        except sqlite3.Error:
            pass  # a name that SQLite does not take: an empty database is odd enough
        finally:
            connection.close()
        return path.read_bytes()

    return made.map(write)


def _storable(cell: Any) -> Any:
    return cell.encode("utf-8", "replace").decode() if isinstance(cell, str) else cell


def _arrays() -> st.SearchStrategy[Any]:
    kind = st.one_of(st_numpy.scalar_dtypes(), st_numpy.array_dtypes(max_size=3), st.just(np.dtype(object)))
    shape = st_numpy.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)

    @st.composite
    def array(draw: Any) -> Any:
        dtype = draw(kind)
        if dtype.hasobject:
            return np.array([draw(odd_text()), None], object)
        return draw(st_numpy.arrays(dtype, draw(shape)))

    return array()


def _as_npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def _as_npz(arrays: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def _packed_npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _archives() -> st.SearchStrategy[bytes]:
    names = st.sampled_from(["X", "y", "a", "../x", "ids"])
    packed = st.integers(1, 1 << 17).map(lambda n: _packed_npz(X=np.zeros((n, 600), np.int8)))
    return st.dictionaries(names, _arrays(), max_size=3).map(_as_npz) | packed


def _text_reader(name: str, pack: Callable[[bytes], bytes] = bytes, separator: str = ",") -> Build:
    def build(folder: Path) -> Target:
        path = folder / name
        path.write_bytes(pack(_honest().to_csv(index=False, sep=separator).encode()))
        return one_file(path, read, _text(separator).map(pack))

    return build


def _reader(
    name: str, write: Callable[[Path], object], made: Callable[[Path], st.SearchStrategy[bytes]]
) -> Callable[[Path], Target]:
    def build(folder: Path) -> Target:
        write(folder / name)
        return one_file(folder / name, read, made(folder))

    return build


def _write_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    _honest().to_sql("t", connection, index=False)
    connection.commit()
    connection.close()


READERS: Mapping[str, Build] = {
    "t.csv": _text_reader("t.csv"),
    "t.tsv": _text_reader("t.tsv", separator="\t"),
    "t.csv.gz": _text_reader("t.csv.gz", gzip.compress),
    "t.csv.bz2": _text_reader("t.csv.bz2", bz2.compress),
    "t.csv.zst": _text_reader("t.csv.zst", _zstd),
    "t.zip": _text_reader("t.zip", _zipped),
    "t.jsonl": _reader(
        "t.jsonl", lambda path: _honest().to_json(path, orient="records", lines=True), lambda _: _lines_of_json()
    ),
    "t.json": _reader(
        "t.json",
        lambda path: _honest().to_json(path, orient="records"),
        lambda _: _lines_of_json().map(lambda lines: b"[" + b",".join(lines.splitlines()) + b"]"),
    ),
    "t.parquet": _reader(
        "t.parquet",
        lambda path: _honest().to_parquet(path),
        lambda _: (_arrow_tables() | _repeated_words()).map(_as_parquet),
    ),
    "t.feather": _reader(
        "t.feather",
        lambda path: _honest().to_feather(path),
        lambda _: (_arrow_tables() | _repeated_words()).map(_as_feather),
    ),
    "t.xlsx": _reader("t.xlsx", lambda path: _honest().to_excel(path, index=False), lambda _: _workbooks()),
    "t.sqlite": _reader("t.sqlite", _write_sqlite, _databases),
    "t.npy": _reader(
        "t.npy", lambda path: np.save(path, np.arange(60.0).reshape(20, 3)), lambda _: _arrays().map(_as_npy)
    ),
    "t.npz": _reader(
        "t.npz",
        lambda path: np.savez_compressed(path, X=np.arange(60.0).reshape(20, 3), y=np.zeros(20)),
        lambda _: _archives(),
    ),
}
