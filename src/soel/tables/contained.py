"""Readers that run in a process of their own with a limit on its memory: sheets, JSON and Feather.

A small file of these can claim any amount of memory, and the libraries that read it end the process when there is no
more. The child writes what it read to its standard output: the rows of a sheet as lines of JSON, other tables as an
uncompressed Arrow stream. It runs this file as a script, so nothing of `soel` is imported here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from functools import reduce
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from xml.etree.ElementTree import iterparse
from xml.parsers.expat import ParserCreate

BASE_BYTES = 1 << 30  # address space of the interpreter, its libraries and small tables
BYTES_PER_BYTE = 16  # of memory for each byte of an unpacked file
CHUNK = 1 << 20
FEW_CELLS = 1 << 22  # sheets up to this extent are read however empty they are
CELLS_PER_FILLED = 50  # of the extent of larger sheets
_DENIED = 3  # the exit code of a child that says what is wrong
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TIMES: dict[str, Any] = {"datetime": datetime, "date": date, "time": time}


class UnreadableError(ValueError):
    """What the child says of a file."""


@contextmanager
def contained(kind: str, path: Path, n_bytes: int, limit: int, sheet: str = "") -> Iterator[IO[bytes]]:
    """What the child wrote, once it has ended well.

    n_bytes: the size of the unpacked file, which its memory is allowed by. limit: of what it writes.
    """
    room = BASE_BYTES + min(BYTES_PER_BYTE * n_bytes, 4 * limit)
    paths = os.pathsep.join(str(Path(each).absolute()) for each in sys.path if each)
    command = [sys.executable, "-P", __file__, kind, str(path), str(room), sheet]
    with TemporaryFile() as out, TemporaryFile() as said:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env=os.environ | {"PYTHONPATH": paths},
        )
        assert child.stdout is not None
        with child.stdout:
            n_written = 0
            while n_written <= limit and (piece := child.stdout.read(CHUNK)):
                out.write(piece)
                n_written += len(piece)
        if n_written > limit:
            child.kill()
        code = child.wait()
        said.seek(0)
        text = said.read(4 * CHUNK).decode("utf-8", "replace").strip()
        if n_written > limit:
            raise UnreadableError(f"it grows beyond {limit:,} bytes when it is read")
        if code == _DENIED and text:
            raise UnreadableError(json.loads(text.splitlines()[-1]))
        if code:
            raise UnreadableError(f"reading it takes more than {room >> 20:,} MiB of memory, or ends the reader")
        out.seek(0)
        yield out


def rows_of(file: IO[bytes]) -> Iterator[list[Any]]:
    """The rows of a sheet from what the child wrote."""
    for line in file:
        yield [_from_json(cell) if isinstance(cell, dict) else cell for cell in json.loads(line)]


def _from_json(cell: Mapping[str, Any]) -> Any:
    ((kind, value),) = cell.items()
    return timedelta(seconds=value) if kind == "timedelta" else _TIMES[kind].fromisoformat(value)


def _to_json(cell: Any) -> Any:
    return {type(cell).__name__: cell.total_seconds() if isinstance(cell, timedelta) else cell.isoformat()}


def _write_rows(path: str, sheet: str) -> None:
    """A line with the names of the sheets, then the rows of the one that is named, or of the only one."""
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(path)
    names = list(book.sheet_names)
    sys.stdout.write(json.dumps(names) + "\n")
    sheet = sheet or (names[0] if len(names) == 1 else "")
    if sheet not in names:
        return
    if path.lower().endswith(".xlsx"):
        _check_extent(path, sheet)
    for row in book.get_sheet_by_name(sheet).to_python(skip_empty_area=True):
        sys.stdout.write(json.dumps(row, default=_to_json) + "\n")


def _check_extent(path: str, sheet: str) -> None:
    """Refuse a sheet that is all but empty: its cells are counted before room is taken for its extent."""
    row = column = n_filled = 0
    top, bottom, left, right = sys.maxsize, 0, sys.maxsize, 0  # of the cells with a value

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        nonlocal row, column, n_filled, top, bottom, left, right
        name = tag.rpartition(" ")[2]
        if name == "row":
            row, column = int(attributes.get("r", row + 1)), 0
        elif name == "c":
            letters = attributes.get("r", "").rstrip("0123456789").upper()
            column = reduce(lambda number, each: 26 * number + ord(each) - 64, letters, 0) if letters else column + 1
        elif name in ("v", "is"):
            n_filled += 1
            top, bottom, left, right = min(top, row), max(bottom, row), min(left, column), max(right, column)

    with zipfile.ZipFile(path) as archive, archive.open(_member_of(archive, sheet)) as file:
        parser = ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = start
        parser.ParseFile(file)
    n_rows, n_columns = bottom - top + 1, right - left + 1
    if n_filled and FEW_CELLS < n_rows * n_columns > CELLS_PER_FILLED * n_filled:
        raise UnreadableError(
            f"sheet {sheet!r} reaches over {n_rows:,} rows and {n_columns:,} columns, but only {n_filled:,} cells are "
            f"filled, the last one in row {bottom:,}; delete stray cells far from the table"
        )


def _member_of(archive: zipfile.ZipFile, sheet: str) -> str:
    """The file of a sheet in a workbook."""
    with archive.open("xl/workbook.xml") as file:
        ids = {e.get("name"): e.get(_RELATION) for _, e in iterparse(file) if e.tag.endswith("}sheet")}
    with archive.open("xl/_rels/workbook.xml.rels") as file:
        targets = {e.get("Id"): e.get("Target", "") for _, e in iterparse(file) if e.tag.endswith("}Relationship")}
    target = targets[ids[sheet]]
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _write_arrow(table: Any) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
        writer.write_table(table)


def _read_feather(path: str) -> Any:
    from pyarrow import feather

    table = feather.read_table(path, memory_map=False)
    table.validate(full=True)  # what the file says of its own layout is not to be believed
    return table


def _read_json_lines(path: str) -> Any:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    with pa.memory_map(path) as file:
        table = arrow_json.read_json(pa.BufferReader(file.read_buffer()))
    table.validate(full=True)  # the reader does not look whether text is UTF-8
    return table


def _read_json(path: str) -> Any:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    rows = json.loads(Path(path).read_bytes())
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError("it holds no list of objects")
    return arrow_json.read_json(pa.BufferReader("\n".join(map(json.dumps, rows)).encode()))


def _main(kind: str, path: str, room: str, sheet: str) -> None:
    try:
        import resource
    except ImportError:  # of Windows, which has no such limit
        pass
    else:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = int(room) if hard == resource.RLIM_INFINITY else min(int(room), hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        if kind == "rows":
            _write_rows(path, sheet)
        else:
            readers = {"feather": _read_feather, "json": _read_json, "json lines": _read_json_lines}
            _write_arrow(readers[kind](path))
        sys.stdout.flush()
    except MemoryError:
        sys.exit(1)
    except RecursionError:
        _deny("its values are nested too deeply")
    except Exception as error:
        _deny(str(error) or type(error).__name__)


def _deny(reason: str) -> None:
    sys.stderr.write(json.dumps(reason) + "\n")
    sys.exit(_DENIED)


if __name__ == "__main__":
    _main(*sys.argv[1:])
