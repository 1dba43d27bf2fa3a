"""Rows as files for people: CSV written and read; JSON, Excel and Parquet written; each is there whole or not at all.

A CSV file is opened by a spreadsheet without running anything, and comes back as it was: a cell that would be taken for
a formula gets an apostrophe in front, which `read_rows` removes. Plain numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from soel.errors import ConfigError, DataError
from soel.files import replacing, replacing_text
from soel.tables.arrow import pa, pq
from soel.tables.text_files import guess_encoding

SUFFIXES = (".csv", ".parquet", ".json", ".xlsx")
EXCEL_ROWS = 1_048_575  # below the header
EXCEL_LETTERS = 32_767
_NOT_IN_EXCEL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def check_suffix(out: Path, others: Sequence[str] = ()) -> str:
    """The form that a file's name asks for; a package that it needs is asked for before anything is computed."""
    suffix = out.suffix.lower()
    if suffix not in (*SUFFIXES, *others):
        forms = ", ".join(SUFFIXES) + (", or as a folder without a suffix" if "" in others else "")
        raise ConfigError(f"Scores are written as {forms}, got {out.name!r}; choose one of them.")
    if suffix == ".xlsx":
        _openpyxl()
    return suffix


def check_length(out: Path, n_rows: int) -> None:
    """Refuse what a sheet cannot hold."""
    if out.suffix.lower() == ".xlsx" and n_rows > EXCEL_ROWS:
        raise ConfigError(
            f"An Excel sheet has room for {EXCEL_ROWS:,} rows, and there are {n_rows:,}; write .parquet or .csv."
        )


def write_table(out: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], what: str = "scores") -> None:
    """Write rows as the suffix says: .csv, .json, .parquet or .xlsx. what: the name of the sheet."""
    suffix = out.suffix.lower()
    if suffix == ".csv":
        write_rows(out, names, rows)
    elif suffix == ".json":
        _write_json(out, names, rows)
    elif suffix == ".parquet":
        kept = list(rows)
        write_parquet(out, {name: [row[at] for row in kept] for at, name in enumerate(names)})
    else:
        _write_excel(out, names, rows, what)


def write_parquet(out: Path, columns: Mapping[str, list[Any]]) -> None:
    """Write columns as Parquet."""
    with replacing(out) as file:
        pq.write_table(pa.table(dict(columns)), file)


def _write_json(out: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A list of objects, one a line."""
    with replacing(out) as file:
        start = b"[\n"
        for row in rows:
            entry = dict(zip(names, row, strict=True))
            file.write(start + json.dumps(entry, ensure_ascii=False, default=str).encode())
            start = b",\n"
        file.write(b"\n]\n" if start == b",\n" else b"[]\n")


def _write_excel(out: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], what: str) -> None:
    """One sheet, whose cells are values: no text is taken for a formula."""
    book = _openpyxl().Workbook(write_only=True)
    sheet = book.create_sheet(what)
    make = import_module("openpyxl.cell").WriteOnlyCell
    sheet.freeze_panes = "A2"
    with replacing(out) as file:
        try:
            sheet.append([_excel_cell(make, sheet, name) for name in names])
            for row in rows:
                sheet.append([_excel_cell(make, sheet, value) for value in row])
            with ZipFile(file, "w", ZIP_DEFLATED) as archive:  # closed here: else it complains when it is collected
                import_module("openpyxl.writer.excel").ExcelWriter(book, archive).save()
        except OSError:
            with suppress(Exception):  # of a full temporary folder, too
                sheet.close()
            raise


def _excel_cell(make: Any, sheet: Any, value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    cell = make(sheet, "")
    cell.value = _NOT_IN_EXCEL.sub("\ufffd", str(value))[:EXCEL_LETTERS]
    cell.data_type = "s"
    return cell


def _openpyxl() -> Any:
    try:
        return import_module("openpyxl")
    except ImportError as error:
        raise ConfigError(
            "Writing .xlsx needs the package openpyxl, which is not installed. Install soel[excel], or write .csv."
        ) from error


SEPARATORS = ",;\t"
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - the wide forms start formulas too
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_QUOTED = re.compile(r'"[^"]*"')


def neutralise(text: str) -> str:
    """The cell as it is written."""
    return f"'{text}" if _is_formula(text.lstrip("'")) else text


def restore(text: str) -> str:
    """The cell as it was before it was written."""
    return text[1:] if text.startswith("'") and _is_formula(text.lstrip("'")) else text


def sniff_separator(line: str) -> str:
    """The most frequent of comma, semicolon and tab in a header, outside quotes; comma when there is none."""
    bare = _QUOTED.sub("", line)
    return max(SEPARATORS, key=bare.count)


def write_rows(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file, whole or not at all. None becomes an empty cell."""
    with replacing_text(Path(path), make_parent=False) as file:
        # A quoted header cannot mislead whoever guesses the separator from it.
        csv.writer(file, quoting=csv.QUOTE_ALL).writerow([_cell(name) for name in header])
        csv.writer(file).writerows([_cell(value) for value in row] for row in rows)


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a CSV file by column name. Rows without any text are left out, short rows are filled up."""
    path = Path(path)
    text = _read_text(path)
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sniff_separator(first))
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(cells)]
    except csv.Error as error:
        raise DataError(f"{path.name} is not a CSV file: {error}. Save it as CSV UTF-8.") from error
    if not lines:
        raise DataError(f"{path.name} is empty. The first line must hold column names.")
    header = [restore(name).strip() for name in lines[0][1]]
    if "" in header or len(set(header)) < len(header):
        raise DataError(
            f"{path.name} has columns without a name or with the same name: {', '.join(map(repr, header))}. "
            "Give each column its own."
        )
    return [_row(path, number, header, cells) for number, cells in lines[1:]]


def _row(path: Path, number: int, header: list[str], cells: list[str]) -> dict[str, str]:
    if any(cells[len(header) :]):
        raise DataError(
            f"Line {number} of {path.name} has {len(cells)} cells, the header {len(header)}. "
            "Put text that holds the separator in quotes."
        )
    filled = cells + [""] * (len(header) - len(cells))
    return {name: restore(cell) for name, cell in zip(header, filled, strict=False)}


def _read_text(path: Path) -> str:
    """A file as text, in the encoding that it was saved in: Excel's own is not UTF-8 everywhere."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Check the path.") from error
    with suppress(UnicodeDecodeError):
        return content.decode("utf-8-sig")
    try:
        return content.decode(guess_encoding(path.name, content, whole=True))
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name} is damaged, or no text ({error.reason}). Save it as CSV UTF-8.") from error


def _cell(value: Any) -> str:
    return "" if value is None else neutralise(str(value))


def _is_formula(text: str) -> bool:
    return text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
