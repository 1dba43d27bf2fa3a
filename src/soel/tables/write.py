"""Rows as files: CSV, JSON and Excel row by row, whatever their number; each is there whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from soel.errors import ConfigError, DataError
from soel.files import replacing
from soel.tables.csv_cells import write_rows

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
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError("Parquet needs pyarrow, which is not installed; write .csv instead.") from error
    with replacing(out) as file:
        parquet.write_table(pyarrow.table(dict(columns)), file)


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
