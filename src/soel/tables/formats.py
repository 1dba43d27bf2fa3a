"""Tables in files of other kinds: JSON, Excel, Feather, databases.

Each reader gives an Arrow table with the cells as they are. Packages that not everybody has are named when missing.
"""

from __future__ import annotations

import json
import mmap
import re
import sqlite3
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from soel.checks import is_missing
from soel.errors import ConfigError, DataError
from soel.tables.arrow import decoded_bytes, pa
from soel.tables.column import cell_text
from soel.tables.contained import contained, rows_of
from soel.tables.header import N_HEAD, find_head, note_on_blanks
from soel.tables.limits import FAULTS, Budget, check_header, reading, reason, too_large
from soel.tables.raw_table import Layout
from soel.tables.read_options import ReadOptions
from soel.tables.text_files import plain_file

Reader = Callable[[Path, ReadOptions], tuple[Any, Layout]]
_NO_OBJECT = re.compile(rb"(?:\A|\n)[ \t\r]*([^\s{])")  # Arrow ends the process where all of a file is null
LONGEST_CELL = 1 << 26  # bytes of one value of a database
MOST_SECONDS, SECONDS_A_ROW = 60, 0.001  # that a database may take: to begin with, and more for each row
ROWS_AT_ONCE = 10_000
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")


def read_json_lines(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """One JSON object a line."""
    with reading(path.name, "Write one JSON object a line, with the same types in all of them"):
        with plain_file(path, options.max_unpacked) as plain:
            with plain.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if found := _NO_OBJECT.search(content):
                    raise ValueError(f"{found[1].decode('ascii', 'replace')!r} begins a line, where an object should")
            table = _read_contained("json lines", plain, options)
        return table.rename_columns([str(name) for name in table.column_names]), Layout("json lines", "utf-8")


def read_json(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A JSON file that is one list of objects."""
    with reading(path.name, "Write a list of objects, [{...}, {...}], or one object a line"):
        return _read_contained("json", path, options), Layout("json", "utf-8")


def read_feather(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A Feather or Arrow file."""
    with reading(path.name, "Write it again as Feather"):
        return _read_contained("feather", path, options), Layout("feather")


def _read_contained(kind: str, path: Path, options: ReadOptions) -> Any:
    """What the child process reads, as an Arrow table."""
    with contained(kind, path, path.stat().st_size, options.max_unpacked) as file:
        budget, batches, reader = Budget(path.name, options.max_unpacked), [], pa.ipc.open_stream(file)
        for batch in reader:
            budget.take(decoded_bytes(batch))
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema)


def read_excel(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """A sheet of a workbook: the one that is named, or its only one. What stands around the table is left out."""
    _package("python_calamine", "Excel files", "soel[excel]")
    with reading(path.name, "Save it again as .xlsx, or as CSV"):
        n_bytes = path.stat().st_size
        if zipfile.is_zipfile(path):  # the old format of Excel is not packed
            with zipfile.ZipFile(path) as archive:
                n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > options.max_unpacked:
            raise too_large(path.name, options.max_unpacked)
        with contained("rows", path, n_bytes, options.max_unpacked, options.sheet or "") as file:
            sheet = _choose(path.name, json.loads(file.readline()), options.sheet, "sheet", "<<sheet>>")
            all_rows = list(rows_of(file))
    rows = [row for row in all_rows if any(cell not in ("", None) for cell in row)]
    if not rows:
        raise DataError(f"Sheet {sheet!r} of {path.name} is empty. The first row must hold column names.")
    head = find_head([["" if cell is None else cell_text(cell) for cell in row] for row in rows[:N_HEAD]])
    check_header(path.name, list(head.names))
    table = _from_rows(head.names, ([None if cell == "" else cell for cell in row] for row in rows[head.n_before :]))
    return table, Layout("excel", notes=(*head.notes, *note_on_blanks(len(all_rows) - len(rows))))


def read_database(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    """The rows that a query selects from a SQLite or DuckDB file, or those of its only table; nothing is written.

    A view is read only where it is named: it can ask for any amount of work.
    """
    if path.suffix.lower() == ".duckdb":
        return _read_duckdb(path, options)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    clock = _Clock()
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(options.max_unpacked, LONGEST_CELL))
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(clock.has_stopped, 10_000)
            listed = connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')")
            found = sorted((name, kind) for name, kind in listed if not name.startswith("sqlite_"))
            tables, views = ([name for name, kind in found if kind == each] for each in ("table", "view"))
            cursor = connection.execute(_query(path.name, tables, options.query, views))
            names = [each[0] for each in cursor.description or ()]
            budget = Budget(path.name, options.max_unpacked)
            return _from_rows(names, clock.timed(cursor), budget), Layout("sqlite")
    except DataError:
        raise
    except (sqlite3.Error, *FAULTS) as error:
        why = clock.reason if clock.has_stopped() else reason(error)
        raise DataError(f"{path.name} cannot be read as a SQLite file: {why}. Check the file and <<query>>.") from error


class _Clock:
    """Ends a query whose rows come too slowly: a value may be computed, by as much work as the file says."""

    reason = "its rows come too slowly"

    def __init__(self) -> None:
        self._end = time.monotonic() + MOST_SECONDS

    def has_stopped(self) -> bool:
        return time.monotonic() > self._end

    def timed(self, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """The same rows, until they have taken too long; SQLite asks by itself only between steps of its program."""
        for row in rows:
            self._end += SECONDS_A_ROW
            if self.has_stopped():
                raise sqlite3.OperationalError(self.reason)
            yield row


def _read_duckdb(path: Path, options: ReadOptions) -> tuple[Any, Layout]:
    duckdb = _package("duckdb", "DuckDB files", "soel[duckdb]")
    room = f"{max(options.max_unpacked >> 20, 64)}MiB"
    config = {"enable_external_access": "false", "memory_limit": room, "lock_configuration": "true"}
    try:
        with duckdb.connect(str(path), read_only=True, config=config) as connection:
            timer = threading.Timer(MOST_SECONDS, connection.interrupt)
            timer.daemon = True
            timer.start()
            try:
                tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
                listed = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
                cursor = connection.execute(_query(path.name, tables, options.query, [name for (name,) in listed]))
            finally:
                timer.cancel()
            names = [each[0] for each in cursor.description or ()]
            rows = (row for rows in iter(lambda: cursor.fetchmany(1000), []) for row in rows)
            return _from_rows(names, rows, Budget(path.name, options.max_unpacked)), Layout("duckdb")
    except DataError:
        raise
    except Exception as error:
        why = reason(error)
        raise DataError(f"{path.name} cannot be read as a DuckDB file: {why}. Check it and <<query>>.") from error


READ_ONLY = {
    "postgresql": "SET TRANSACTION READ ONLY",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "oracle": "SET TRANSACTION READ ONLY",
    "mssql": "SET IMPLICIT_TRANSACTIONS ON",  # no such transaction: what is never committed is undone
}


def read_address(address: str, options: ReadOptions) -> tuple[Any, Layout]:
    """The rows that a query selects from a database behind an SQLAlchemy address, in a transaction that only reads."""
    sqlalchemy = import_module("sqlalchemy")
    try:
        engine = sqlalchemy.create_engine(address)
        shown = engine.url.render_as_string(hide_password=True)
    except Exception as error:
        raise ConfigError(f"The address of the database cannot be used: {reason(error)}.") from error
    if engine.dialect.name == "sqlite":  # as a file, whose queries are bounded
        engine.dispose()
        return read_database(Path(engine.url.database or ":memory:"), options)
    if engine.dialect.name not in READ_ONLY:
        engine.dispose()
        raise ConfigError(
            f"{shown}: only databases that can be opened for reading are queried: sqlite, {', '.join(READ_ONLY)}. "
            "Export the rows as Parquet or CSV."
        )
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(READ_ONLY[engine.dialect.name])
            found = sqlalchemy.inspect(connection)
            query = sqlalchemy.text(_query(shown, found.get_table_names(), options.query, found.get_view_names()))
            result = connection.execution_options(stream_results=True).execute(query)
            return _from_rows(list(result.keys()), result, Budget(shown, options.max_unpacked)), Layout("database")
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{shown} cannot be read: {reason(error)}. Check the address and <<query>>.") from error
    finally:
        engine.dispose()


def _query(name: str, tables: Sequence[str], asked: str | None, views: Sequence[str] = ()) -> str:
    """What to run: the query that was asked for, or all rows of a table, or of a view that is named."""
    if asked is not None and asked not in (*tables, *views):
        words = asked.strip().split()
        if not words or words[0].lower() not in ("select", "with", "values", "table", "from"):
            raise DataError(
                f"{name} has no table {asked!r}. Choose among: {', '.join(map(repr, tables[:20]))}, or write a SELECT."
            )
        if ";" in asked.strip().rstrip(";"):
            raise DataError(f"The query of {name} holds several statements, or ';' in a text. Give one SELECT.")
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


def _from_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], budget: Budget | None = None) -> Any:
    """An Arrow table from rows of Python objects; a column of mixed cells becomes text."""
    columns: list[list[Any]] = [[] for _ in names]
    left = iter(rows)
    while piece := list(islice(left, ROWS_AT_ONCE)):  # which are soon let go: objects take many times their bytes
        if budget is not None:
            budget.take(sum(8 + (len(cell) if isinstance(cell, str | bytes) else 0) for row in piece for cell in row))
        for at, chunks in enumerate(columns):
            chunks.append(_column([row[at] if at < len(row) else None for row in piece]))
    return pa.table([_joined(chunks) for chunks in columns], names=list(names))


def _column(cells: list[Any]) -> Any:
    try:
        return pa.array(cells)
    except (ValueError, TypeError, OverflowError):  # of several types
        return pa.array([None if is_missing(cell) else cell_text(cell) for cell in cells], pa.string())


def _joined(chunks: list[Any]) -> Any:
    tables = [pa.table([chunk], names=["a"]) for chunk in chunks]
    try:
        return pa.concat_tables(tables, promote_options="permissive").column(0) if chunks else pa.nulls(0)
    except (ValueError, TypeError):  # of several types
        return _column([cell for chunk in chunks for cell in chunk.to_pylist()])


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
