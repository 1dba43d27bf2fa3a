"""CSV: a part is a range of bytes that ends with a line, found in one pass over the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from soel.errors import DataError
from soel.tables.address import Place
from soel.tables.arrow_files import check_header, not_a_table, text_cells
from soel.tables.batches import BLOCK_ROWS, Part
from soel.tables.csv_lines import SCAN_BYTES, Run, find_runs
from soel.tables.csv_outline import outline_csv
from soel.tables.options import DEFAULT, ReadOptions
from soel.tables.text_files import check_encoding, guess_encoding

_HEADER_BYTES = 1 << 20
_ROW = re.compile(r"Row #(\d+): ")
_ADVICE = "Correct it, or save the file as Parquet"


@dataclass(frozen=True)
class CsvParts:
    """A file with column names in its first line; its cells are read as they are written."""

    place: Place
    file: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    separator: str
    encoding: str
    notes: tuple[str, ...] = ()

    def batches(self, part: Part) -> Iterator[Any]:
        """The rows of a part as Arrow tables."""
        table = self.read(part)
        for start in range(0, len(table), BLOCK_ROWS):
            yield table.slice(start, BLOCK_ROWS)

    def read(self, part: Part) -> Any:
        """A whole part."""
        with self.place.open(self.file) as file:
            file.seek(part.start)
            content = file.read(part.stop - part.start)
        try:
            table = self._parse(content, use_threads=True)
        except (ValueError, KeyError) as error:  # Arrow's own errors are ValueErrors
            raise self._fault(part, content, error) from error
        if len(table) != part.n_rows:
            raise DataError(
                f"{self.file} has a stray quotation mark after row {part.first_row}, so that its lines cannot be told "
                "apart. Remove it, or save the file as Parquet."
            )
        return table

    def _parse(self, content: bytes, use_threads: bool) -> Any:
        csv, arrow = import_module("pyarrow.csv"), import_module("pyarrow")
        return csv.read_csv(
            arrow.BufferReader(content),
            csv.ReadOptions(
                use_threads=use_threads,
                column_names=list(self.columns),
                block_size=SCAN_BYTES,
                encoding=self.encoding.replace("utf-8", "utf8"),
            ),
            csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            text_cells(self.columns),
        )

    def _fault(self, part: Part, content: bytes, error: Exception) -> DataError:
        """What is wrong, with the number of the row in the whole file: Arrow counts only without threads."""
        try:
            self._parse(content, use_threads=False)
        except (ValueError, KeyError) as counted:
            error = counted
        text = _ROW.sub(lambda found: f"row {int(found[1]) - 1 + part.first_row}: ", str(error), count=1)
        return not_a_table(self.file, ValueError(text), _ADVICE)


def open_csv(place: Place, name: str, options: ReadOptions = DEFAULT) -> CsvParts:
    """Find the lines of the file."""
    with place.open(name) as file:
        start = file.read(_HEADER_BYTES)
        encoding = _encoding(name, start, options)
        if len(start) == _HEADER_BYTES and b"\n" not in start:
            raise DataError(f"The first line of {name} is longer than a MiB. Is it CSV? Save the file as Parquet.")
        outline = outline_csv(name, start, encoding)
        check_header(name, list(outline.names))
        size = file.seek(0, 2)
        file.seek(outline.begin)
        parts = _number_parts(name, find_runs(file, outline.begin, size))
    return CsvParts(place, name, outline.names, parts, outline.separator, encoding, outline.notes)


def _encoding(name: str, start: bytes, options: ReadOptions) -> str:
    """An encoding in which a line ends with one byte, as the cut into parts needs it."""
    if options.encoding:
        encoding = check_encoding(options.encoding)
    else:
        encoding = guess_encoding(name, start, whole=len(start) < _HEADER_BYTES)
    if encoding.startswith(("utf-16", "utf-32")):
        raise DataError(f"{name} is {encoding} text, which cannot be read in parts. Save it as UTF-8, or as Parquet.")
    return encoding


def _number_parts(name: str, runs: Iterable[Run]) -> tuple[Part, ...]:
    parts: list[Part] = []
    first_row = 0
    for run in runs:
        parts.append(Part(len(parts), name, first_row, run.n_rows, run.start, run.stop))
        first_row += run.n_rows
    return tuple(parts)
