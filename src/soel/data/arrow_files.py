"""CSV and Parquet files as Arrow tables. Arrow is imported when a file is read, not before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.data.csv_cells import sniff_separator
from soel.data.faults import FAULTS, reason
from soel.data.reading.kinds import Layout
from soel.data.reading.options import DEFAULT, ReadOptions
from soel.data.text_files import check_encoding, guess_encoding, is_packed, unpack, unpacking
from soel.errors import DataError, SchemaError

_SAMPLE_BYTES = 1 << 20


def read_csv(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A CSV file with column names in its first line, every cell as it is written.

    Comma, semicolon or tab separate cells. Empty cells and the usual spellings of NA and null are missing.
    """
    start = _start(path, options.max_unpacked)
    if options.encoding:
        encoding = check_encoding(options.encoding)
    else:
        encoding = guess_encoding(path.name, start, whole=len(start) < _SAMPLE_BYTES)
    table, separator, encoding = _read_text(path, options, start, encoding, guessed=not options.encoding)
    return table, Layout("csv", encoding, separator, notes_on(encoding, options))


def notes_on(encoding: str, options: ReadOptions) -> tuple[str, ...]:
    """What is to be said about an encoding that was guessed and is not UTF-8."""
    if options.encoding or encoding == "utf-8":
        return ()
    return (f"The text is read as {encoding}; --encoding says otherwise.",)


def _read_text(path: Path, options: ReadOptions, start: bytes, encoding: str, guessed: bool) -> tuple[Any, str, str]:
    try:
        header = first_lines(path.name, start, encoding)
        separator = sniff_separator(header)
        names = header_names(path.name, header, separator)
        check_header(path.name, names, header)
        return _as_text(path, options.max_unpacked, encoding, separator, names), separator, encoding
    except DataError:
        raise
    except FAULTS as error:  # Arrow's own errors are ValueErrors
        if "UTF8" in str(error) and guessed and encoding == "utf-8":
            whole = unpack(path, options.max_unpacked) if is_packed(path) else path.read_bytes()
            return _read_text(path, options, start, guess_encoding(path.name, whole, whole=True), guessed=False)
        raise not_a_table(path.name, error, "Save it as CSV UTF-8 with one row per item") from error


def _as_text(path: Path, limit: int, encoding: str, separator: str, names: list[str]) -> Any:
    csv, arrow = _arrow("pyarrow.csv"), _arrow("pyarrow")
    width = sum(map(len, names)) + 8 * len(names)
    read = csv.ReadOptions(
        block_size=min(max(1 << 20, 256 * width), 1 << 26), encoding=encoding.replace("utf-8", "utf8")
    )
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    if not is_packed(path):
        return csv.read_csv(path, read, parse, text_cells(names))
    with unpacking(path, limit) as file:
        return csv.read_csv(arrow.PythonFile(file, "r"), read, parse, text_cells(names))


def _start(path: Path, limit: int) -> bytes:
    with unpacking(path, limit) if is_packed(path) else path.open("rb") as file:
        return file.read(_SAMPLE_BYTES)


def text_cells(names: Collection[str]) -> Any:
    """Options that leave every cell as it is written, but for the spellings of NA and null."""
    text = _arrow("pyarrow").string()
    return _arrow("pyarrow.csv").ConvertOptions(strings_can_be_null=True, column_types=dict.fromkeys(names, text))


def first_lines(file: str, start: bytes, encoding: str) -> str:
    """The line with the column names, which may go on where a name in quotes holds a line break."""
    text = start.decode(encoding, errors="ignore").lstrip("\ufeff")
    at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if text[:at].strip() and text[:at].count('"') % 2 == 0:
            return text[:at].strip("\r\n")
    if not text.strip():
        raise DataError(f"{file} is empty. The first line must hold column names, then one line per item.")
    return text


def header_names(file: str, header: str, separator: str) -> list[str]:
    """The names in the first line."""
    csv, arrow = _arrow("pyarrow.csv"), _arrow("pyarrow")
    content = f"{header}\n".encode()
    try:
        read = csv.ReadOptions(block_size=len(content) + 64)
        parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        return list(csv.read_csv(arrow.BufferReader(content), read, parse).column_names)
    except FAULTS as error:
        raise not_a_table(file, error, "Save it as CSV UTF-8 with one row per item") from error


def read_parquet(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A Parquet file; its own types say how columns are meant."""
    try:
        # Hive-style folder names must not become columns, so the file is opened as a file.
        table = _arrow("pyarrow.parquet").ParquetFile(path).read()
        table.validate(full=True)  # the reader does not look whether text is UTF-8
        return table, Layout("parquet")
    except FAULTS as error:
        raise not_a_table(path.name, error, "Write it again as Parquet") from error


def csv_names(path: Path) -> list[str]:
    """The column names in the head of a CSV file."""
    start = _start(path, DEFAULT.max_unpacked)
    header = first_lines(path.name, start, guess_encoding(path.name, start, whole=len(start) < _SAMPLE_BYTES))
    return header_names(path.name, header, sniff_separator(header))


def parquet_names(path: Path) -> list[str]:
    """The column names in the footer of a Parquet file."""
    try:
        return list(_arrow("pyarrow.parquet").ParquetFile(path).schema_arrow.names)
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


def check_header(file: str, names: list[str], header: str) -> None:
    """Refuse a first line that holds no names, or the same name twice."""
    if all(_is_number(name) for name in names):
        raise DataError(
            f"The first line of {file} holds numbers ({header[:60]!r}), not column names. "
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
