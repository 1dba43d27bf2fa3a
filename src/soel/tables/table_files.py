"""Tables in files of other kinds: JSON, Excel, Feather, databases, a Hugging Face dataset on disk.

Each reader gives an Arrow table with the cells as they are. Packages that not everybody has are named when missing.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.checks import is_missing
from soel.errors import ConfigError, DataError
from soel.tables.arrow_files import check_header, not_a_table
from soel.tables.columns import cell_text
from soel.tables.faults import FAULTS, reason
from soel.tables.options import ReadOptions
from soel.tables.outline import N_HEAD, find_head, note_on_blanks
from soel.tables.schema import Layout
from soel.tables.text_files import is_packed, unpack

Reader = Callable[[Path, ReadOptions], tuple[Any, Layout]]
_NO_OBJECT = re.compile(rb"(?:\A|\n)[ \t\r]*([^\s{])")  # Arrow ends the process where all of a file is null
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")


def read_json_lines(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """One JSON object a line."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    try:
        content = pa.py_buffer(unpack(path, options.max_unpacked)) if is_packed(path) else _map_file(path)
        if found := _NO_OBJECT.search(memoryview(content)):
            raise ValueError(f"{found[1].decode('ascii', 'replace')!r} begins a line, where an object should")
        source = pa.BufferReader(content)
        table = arrow_json.read_json(source)
        table.validate(full=True)  # the reader does not look whether text is UTF-8
        return table.rename_columns([str(name) for name in table.column_names]), Layout("json lines", "utf-8")
    except FAULTS as error:
        raise not_a_table(
            path.name, error, "Write one JSON object a line, with the same types in all of them"
        ) from error


def read_json(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A JSON file that is one list of objects."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    try:
        rows = json.loads(path.read_bytes())
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise ValueError("it holds no list of objects")
        lines = "\n".join(json.dumps(row) for row in rows).encode()
        del rows
        table = arrow_json.read_json(pa.BufferReader(lines))
        return table, Layout("json", "utf-8")
    except (RecursionError, *FAULTS) as error:
        raise not_a_table(path.name, error, "Write a list of objects, [{...}, {...}], or one object a line") from error


def _map_file(path: Path) -> Any:
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


def read_feather(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A Feather or Arrow file."""
    from pyarrow import feather

    try:
        table = feather.read_table(path, memory_map=False)
        table.validate(full=True)  # what the file says of its own layout is not to be believed
        return table, Layout("feather")
    except FAULTS as error:
        raise not_a_table(path.name, error, "Write it again as Feather") from error


def read_excel(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A sheet of an Excel file: the one that is named, or its only one. What stands around the table is left out."""
    calamine = _package("python_calamine", "Excel files", "soel[excel]")
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        names = list(book.sheet_names)
        sheet = _choose(path.name, names, options.sheet, "sheet", "<<sheet>>")
        rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=True)
    except DataError:
        raise
    except Exception as error:  # the package has errors of its own for each kind of damage
        raise not_a_table(path.name, error, "Save it again as .xlsx") from error
    n_rows = len(rows)
    rows = [row for row in rows if any(cell not in ("", None) for cell in row)]
    n_blank = n_rows - len(rows)
    if not rows:
        raise DataError(f"Sheet {sheet!r} of {path.name} is empty. The first row must hold column names.")
    head = find_head([_texts(row) for row in rows[:N_HEAD]])
    check_header(path.name, list(head.names))
    table = _from_rows(head.names, ([None if cell == "" else cell for cell in row] for row in rows[head.n_before :]))
    return table, Layout("excel", notes=(*head.notes, *note_on_blanks(n_blank)))


def _texts(row: Sequence[Any]) -> list[str]:
    return ["" if cell is None else cell_text(cell) for cell in row]


def read_database(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """The rows that a query selects from a SQLite or DuckDB file, or those of its only table; nothing is written."""
    if path.suffix.lower() == ".duckdb":
        return _read_duckdb(path, options)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with sqlite3.connect(uri, uri=True) as connection:
            listed = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
            tables = [name for (name,) in listed if not name.startswith("sqlite_")]
            cursor = connection.execute(_query(path.name, tables, options.query))
            names = [each[0] for each in cursor.description or ()]
            return _from_rows(names, cursor), Layout("sqlite")
    except DataError:
        raise
    except (sqlite3.Error, *FAULTS) as error:
        raise DataError(
            f"{path.name} cannot be read as a SQLite file: {reason(error)}. Check the file and <<query>>."
        ) from error


def _read_duckdb(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    duckdb = _package("duckdb", "DuckDB files", "soel[duckdb]")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            cursor = connection.execute(_query(path.name, tables, options.query))
            names = [each[0] for each in cursor.description or ()]
            return _from_rows(names, cursor.fetchall()), Layout("duckdb")
    except DataError:
        raise
    except Exception as error:
        raise DataError(
            f"{path.name} cannot be read as a DuckDB file: {reason(error)}. Check it and <<query>>."
        ) from error


def read_address(address: str, options: ReadOptions) -> tuple[Any, Layout]:
    """The rows that a query selects from a database behind an SQLAlchemy address."""
    sqlalchemy = import_module("sqlalchemy")
    try:
        engine = sqlalchemy.create_engine(address)
        shown = engine.url.render_as_string(hide_password=True)
    except Exception as error:
        raise ConfigError(f"The address of the database cannot be used: {reason(error)}.") from error
    try:
        with engine.connect() as connection:
            tables = sqlalchemy.inspect(connection).get_table_names()
            result = connection.execute(sqlalchemy.text(_query(shown, tables, options.query)))
            return _from_rows(list(result.keys()), result), Layout("database")
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{shown} cannot be read: {reason(error)}. Check the address and <<query>>.") from error
    finally:
        engine.dispose()


def read_dataset_folder(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A Hugging Face dataset as `save_to_disk` writes it: Arrow files in a folder; of several splits, one is chosen."""
    import pyarrow as pa

    if (path / "dataset_dict.json").exists():
        splits = sorted(each.name for each in path.iterdir() if (each / "state.json").exists())
        return read_dataset_folder(path / _choose(path.name, splits, options.sheet, "split", "<<sheet>>"), options)
    tables = []
    for file in sorted(path.glob("*.arrow")):
        try:
            with pa.memory_map(str(file)) as source:
                tables.append(pa.ipc.open_stream(source).read_all())
                tables[-1].validate(full=True)
        except FAULTS as error:
            raise not_a_table(file.name, error, "Save the dataset again") from error
    if not tables:
        raise DataError(f"{path} is a dataset without an .arrow file. Save it again with save_to_disk.")
    return pa.concat_tables(tables), Layout("dataset")


def is_dataset_folder(path: Path) -> bool:
    """Whether a folder is a dataset of Hugging Face."""
    return path.is_dir() and any((path / name).exists() for name in ("state.json", "dataset_dict.json"))


def _query(name: str, tables: Sequence[str], asked: str | None) -> str:
    """What to run: the query that was asked for, or all rows of a table."""
    if asked is not None and asked not in tables:
        words = asked.strip().split()
        if not words or words[0].lower() not in ("select", "with", "values", "table", "from"):
            raise DataError(
                f"{name} has no table {asked!r}. Choose among: {', '.join(map(repr, tables[:20]))}, or write a SELECT."
            )
        return asked
    table = asked or _choose(name, tables, None, "table", "<<query>>")
    return 'SELECT * FROM "{}"'.format(table.replace('"', '""'))


def _choose(name: str, names: Sequence[str], asked: str | None, what: str, option: str) -> str:
    if asked is not None and asked in names:
        return asked
    if asked is None and len(names) == 1:
        return names[0]
    shown = ", ".join(names[:20]) or "none"
    if asked is not None:
        raise DataError(f"{name} has no {what} {asked!r}. Choose among: {shown}.")
    raise DataError(f"{name} has {len(names)} {what}s ({shown}). Choose one with {option}.")


def _from_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """An Arrow table from rows of Python objects; a column of mixed cells becomes text."""
    import pyarrow as pa

    cells: list[list[Any]] = [[] for _ in names]
    for row in rows:
        for at, column in enumerate(cells):
            column.append(row[at] if at < len(row) else None)
    return pa.table([_column(column) for column in cells], names=list(names))


def _column(cells: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(cells)
    except (ValueError, TypeError):  # of several types
        return pa.array([None if is_missing(cell) else cell_text(cell) for cell in cells], pa.string())


def _package(name: str, what: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise DataError(f"Reading {what} needs {name}, which is not installed. Run: pip install '{extra}'.") from error


READERS: dict[str, Reader] = {
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".xlsx": read_excel,
    ".xls": read_excel,
    ".ods": read_excel,
    ".feather": read_feather,
    ".arrow": read_feather,
    **dict.fromkeys(DATABASES, read_database),
}
PACKABLE = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
