"""CSV and Parquet files as Arrow tables. Arrow is imported when a file is read, not before."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any

from soel.data.csv_cells import sniff_separator
from soel.errors import DataError, SchemaError

_SAMPLE_BYTES = 65536
_DECIMAL_COMMA = re.compile(r"\d,\d")
_DECIMAL_POINT = re.compile(r"\d\.\d")


def read_csv(path: Path, as_text: Collection[str]) -> Any:
    """A CSV file in UTF-8 with column names in its first line; `as_text` columns keep their spelling.

    Comma, semicolon or tab separate cells. Empty cells and the usual spellings of NA and null are missing.
    """
    csv = _arrow("pyarrow.csv")
    text = _arrow("pyarrow").string()
    header, separator, decimal = _layout(path)
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = csv.ConvertOptions(
        strings_can_be_null=True, decimal_point=decimal, column_types=dict.fromkeys(as_text, text)
    )
    try:
        table = csv.read_csv(path, parse_options=parse, convert_options=convert)
    except (ValueError, KeyError) as error:  # Arrow's own errors are ValueErrors
        raise not_a_table(path.name, error, "Save it as CSV UTF-8 with one row per item") from error
    check_header(path.name, table.column_names, header)
    check_text(path.name, table.schema)
    return table


def read_parquet(path: Path, as_text: Collection[str]) -> Any:
    """A Parquet file; its own types say how columns are meant."""
    try:
        # Hive-style folder names must not become columns, so the file is opened as a file.
        return _arrow("pyarrow.parquet").ParquetFile(path).read()
    except (ValueError, OSError) as error:
        raise not_a_table(path.name, error, "Write it again as Parquet") from error


def _arrow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise DataError("Reading CSV and Parquet files needs pyarrow. Install soel[tables].") from error


def _layout(path: Path) -> tuple[str, str, str]:
    with path.open("rb") as file:
        return guess_layout(path.name, file.read(_SAMPLE_BYTES))


def guess_layout(name: str, start: bytes) -> tuple[str, str, str]:
    """The first line, the separator and the decimal sign, guessed from the start of the file."""
    sample = start.decode("utf-8-sig", errors="replace")
    lines = [line for line in sample.splitlines() if line.strip()]
    if not lines:
        raise DataError(f"{name} is empty. The first line must hold column names, then one line per item.")
    separator = sniff_separator(lines[0])
    has_comma = separator != "," and _DECIMAL_COMMA.search(sample) and not _DECIMAL_POINT.search(sample)
    return lines[0], separator, "," if has_comma else "."


def check_header(file: str, names: list[str], header: str) -> None:
    """Refuse a first line that holds no names, or the same name twice."""
    if all(_is_number(name) for name in names):
        raise DataError(
            f"The first line of {file} holds numbers ({header[:60]!r}), not column names. "
            "Add a line with a name for each column."
        )
    repeated = sorted({name for name in names if names.count(name) > 1 and name})
    if repeated:
        raise SchemaError(f"Columns of {file} share a name: {', '.join(repeated)}. Give each column its own.")
    if "" in names:
        raise SchemaError(
            f"Column {names.index('') + 1} of {file} has no name. Name it in the first line, "
            "or remove it if it only numbers the rows."
        )


def check_text(file: str, schema: Any) -> None:
    """Refuse cells that are no UTF-8."""
    unreadable = [field.name for field in schema if str(field.type) == "binary"]  # Arrow's type for other bytes
    if unreadable:
        raise DataError(f"{file} is not UTF-8 text in column {', '.join(map(repr, unreadable))}. Save it as UTF-8.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def not_a_table(file: str, error: Exception, advice: str) -> DataError:
    """What to raise for a file that Arrow cannot read."""
    reason = (str(error) or type(error).__name__).splitlines()[0][:200]
    return DataError(f"{file} cannot be read as a table: {reason}. {advice}.")
