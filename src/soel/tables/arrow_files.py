"""CSV and Parquet files as Arrow tables. Arrow is imported when a file is read, not before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.errors import DataError, SchemaError
from soel.tables.budget import Budget, decoded_bytes, too_large
from soel.tables.csv_lines import CountedLines
from soel.tables.csv_outline import Outline, outline_csv
from soel.tables.faults import FAULTS, reason
from soel.tables.nested import flat_names
from soel.tables.options import DEFAULT, ReadOptions
from soel.tables.outline import note_on_blanks
from soel.tables.schema import Layout
from soel.tables.text_files import check_encoding, check_unpacked, guess_encoding, is_packed, unpack, unpacking

_NOTES = b"soel.notes"
_SAMPLE_BYTES = 1 << 20
_FEW_ROWS = 10_000  # that are looked through one by one


def read_csv(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A CSV file with a line of column names, every cell as it is written.

    Comma, semicolon, tab or bar separate cells. Lines before the names, units below them and blank lines are left out,
    and said. Empty cells and the usual spellings of NA and null are missing.
    """
    start = _start(path, options.max_unpacked)
    if options.encoding:
        encoding = check_encoding(options.encoding)
    else:
        encoding = guess_encoding(path.name, start, whole=len(start) < _SAMPLE_BYTES)
    return _read_text(path, options, start, encoding, guessed=not options.encoding)


def notes_on(encoding: str, options: ReadOptions) -> tuple[str, ...]:
    """What is to be said about an encoding that was guessed and is not UTF-8."""
    if options.encoding or encoding == "utf-8":
        return ()
    return (f"The text is read as {encoding}; <<encoding>> says otherwise.",)


def _read_text(path: Path, options: ReadOptions, start: bytes, encoding: str, guessed: bool) -> tuple[Any, Layout]:
    try:
        outline = outline_csv(path.name, start, encoding)
        check_header(path.name, list(outline.names))
        table, n_blank = _rows(path, options.max_unpacked, start, encoding, outline)
        table, repeated = _without_names(table)
        notes = (*outline.notes, *repeated, *note_on_blanks(n_blank))
        return table, Layout("csv", encoding, outline.separator, (*notes_on(encoding, options), *notes))
    except DataError:
        raise
    except FAULTS as error:  # Arrow's own errors are ValueErrors
        if "UTF8" in str(error) and guessed and encoding == "utf-8":
            whole = unpack(path, options.max_unpacked) if is_packed(path) else path.read_bytes()
            return _read_text(path, options, start, guess_encoding(path.name, whole, whole=True), guessed=False)
        raise not_a_table(path.name, error, "Save it as CSV UTF-8 with one row per item") from error


def _rows(path: Path, limit: int, start: bytes, encoding: str, outline: Outline) -> tuple[Any, int]:
    """The rows of values, and how many blank lines are among them."""
    arrow = _arrow("pyarrow")
    if is_packed(path):
        check_unpacked(path, limit)
    with unpacking(path, limit) if is_packed(path) else path.open("rb") as file:
        file.read(outline.begin)
        lines = CountedLines(file)
        return _as_text(arrow.PythonFile(lines, "r"), start, encoding, outline), lines.n_blank


def _without_names(table: Any) -> tuple[Any, tuple[str, ...]]:
    """A table less the lines that repeat its names, as where files were put together."""
    names = table.column_names
    if len(names) < 2 or (len(table) < _FEW_ROWS and not _holds(table.column(0), names[0])):
        return table, ()
    compute = _arrow("pyarrow.compute")
    repeats = None
    for at, name in enumerate(names):
        same = compute.equal(compute.utf8_trim_whitespace(table.column(at)), name)
        repeats = same if repeats is None else compute.and_kleene(repeats, same)
        if not compute.any(repeats).as_py():
            return table, ()
    kept = table.filter(compute.invert(compute.fill_null(repeats, False)))
    n = len(table) - len(kept)
    lines = "A line that repeats" if n == 1 else f"{n:,} lines that repeat"
    return kept, (f"{lines} the names of the columns {'is' if n == 1 else 'are'} left out.",)


def _holds(column: Any, text: str) -> bool:
    """Whether a column of texts has this one; without `pyarrow.compute`, which takes a third of a second to load."""
    return any(cell is not None and cell.strip() == text for cell in column.to_pylist())


def _as_text(source: Any, start: bytes, encoding: str, outline: Outline) -> Any:
    csv, arrow = _arrow("pyarrow.csv"), _arrow("pyarrow")
    names = list(outline.names)
    width = sum(map(len, names)) + 8 * len(names)
    read = csv.ReadOptions(
        column_names=names,
        block_size=min(max(1 << 20, 256 * width), 1 << 26),
        encoding=_without_mark(encoding, start),
    )
    try:
        parse = csv.ParseOptions(delimiter=outline.separator, newlines_in_values=True)
        return csv.read_csv(source, read, parse, text_cells(names))
    except ValueError as error:
        if "Empty CSV file" not in str(error):
            raise
        return arrow.table({name: arrow.array([], arrow.string()) for name in names})


def _without_mark(encoding: str, start: bytes) -> str:
    """The encoding of what follows the mark of byte order, for Arrow."""
    if encoding in ("utf-16", "utf-32"):
        return f"{encoding}-be" if start.startswith((b"\xfe\xff", b"\0\0\xfe\xff")) else f"{encoding}-le"
    return encoding.replace("utf-8", "utf8")


def _start(path: Path, limit: int) -> bytes:
    with unpacking(path, limit) if is_packed(path) else path.open("rb") as file:
        return file.read(_SAMPLE_BYTES)


def text_cells(names: Collection[str]) -> Any:
    """Options that leave every cell as it is written, but for the spellings of NA and null."""
    text = _arrow("pyarrow").string()
    return _arrow("pyarrow.csv").ConvertOptions(strings_can_be_null=True, column_types=dict.fromkeys(names, text))


def read_parquet(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A Parquet file; its own types say how columns are meant. What it holds is counted before text is written out."""
    parquet, arrow = _arrow("pyarrow.parquet"), _arrow("pyarrow")
    try:
        # Hive-style folder names must not become columns, so the file is opened as a file.
        with parquet.ParquetFile(path) as file:
            schema, texts = file.schema_arrow, text_leaves(file)
            check_parquet_size(path.name, file, options.max_unpacked)
        budget, batches = Budget(path.name, options.max_unpacked), []
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches():
                budget.take(decoded_bytes(batch))
                batches.append(batch)
        table = arrow.Table.from_batches([written_out(batch, schema) for batch in batches], schema)
        table.validate(full=True)  # the reader does not look whether text is UTF-8
        notes = json.loads((schema.metadata or {}).get(_NOTES, b"[]"))
        return table, Layout("parquet", notes=tuple(map(str, notes)))
    except DataError:
        raise
    except FAULTS as error:
        raise not_a_table(path.name, error, "Write it again as Parquet") from error


def text_leaves(file: Any) -> list[str]:
    """The columns of a Parquet file that hold text, which are read as dictionaries: a page can repeat long words."""
    leaves = (file.schema.column(at) for at in range(len(file.schema)))
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


def check_parquet_size(name: str, file: Any, limit: int) -> None:
    """Refuse a file whose footer says that its rows take more than the limit, each number as a float64."""
    if 8 * file.metadata.num_rows * file.metadata.num_columns > limit:
        raise too_large(name, limit)


def written_out(batch: Any, schema: Any) -> Any:
    """A batch of a Parquet file with the types of its schema: text as text."""
    arrays = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(batch.columns, schema.types, strict=True)
    ]
    return _arrow("pyarrow").RecordBatch.from_arrays(arrays, schema=schema)


def with_notes(table: Any, notes: Sequence[str]) -> Any:
    """A table that is to be written as Parquet, with what was said of the file that it came from."""
    return table.replace_schema_metadata({_NOTES: json.dumps(list(notes)).encode()})


def csv_names(path: Path) -> list[str]:
    """The column names in the head of a CSV file."""
    start = _start(path, DEFAULT.max_unpacked)
    encoding = guess_encoding(path.name, start, whole=len(start) < _SAMPLE_BYTES)
    return list(outline_csv(path.name, start, encoding).names)


def parquet_names(path: Path) -> list[str]:
    """The column names in the footer of a Parquet file."""
    try:
        return flat_names(_arrow("pyarrow.parquet").ParquetFile(path).schema_arrow)
    except FAULTS as error:
        raise not_a_table(path.name, error, "Write it again as Parquet") from error


def _arrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise DataError("CSV and Parquet files need pyarrow, which is not installed: pip install pyarrow.") from error


def check_distinct(file: str, names: Iterable[str]) -> None:
    """Refuse columns that share a name."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise SchemaError(
            f"Columns of {file} share a name: {', '.join(map(repr, repeated))}. Give each column its own."
        )


def check_header(file: str, names: list[str]) -> None:
    """Refuse a first line that holds no names, or the same name twice."""
    if all(_is_number(name) for name in names):
        raise DataError(
            f"The first line of {file} holds numbers ({', '.join(names)[:60]!r}), not column names. "
            "Add a line with a name for each column."
        )
    check_distinct(file, [name for name in names if name])
    if "" in names:
        raise SchemaError(
            f"Column {names.index('') + 1} of {file} has no name. Name it in the first line, "
            "or remove it if it only numbers the rows."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def not_a_table(file: str, error: Exception, advice: str) -> DataError:
    """What to raise for a file that Arrow cannot read."""
    return DataError(f"{file} cannot be read as a table: {reason(error)}. {advice}.")
