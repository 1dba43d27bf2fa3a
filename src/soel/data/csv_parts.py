"""CSV: a part is a range of bytes that ends with a line, found in one pass over the file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from soel.data.arrow_files import check_header, check_text, guess_layout, not_a_table
from soel.data.csv_lines import SCAN_BYTES, Run, find_runs, header_end
from soel.data.parts import BLOCK_ROWS, Part
from soel.data.places import Place
from soel.errors import DataError

_HEADER_BYTES = 1 << 20
_ROW = re.compile(r"Row #(\d+): ")
_ADVICE = "Correct it, or save the file as Parquet"


@dataclass(frozen=True)
class CsvParts:
    """A file with column names in its first line. types: what each column is read as, decided by the first part."""

    place: Place
    file: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    separator: str
    decimal: str
    types: Mapping[str, Any]

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
            table = self._parsed(content, use_threads=True)
        except (ValueError, KeyError) as error:  # Arrow's own errors are ValueErrors
            raise self._fault(part, content, error) from error
        check_text(self.file, table.schema)
        if len(table) != part.n_rows:
            raise DataError(
                f"{self.file} has a stray quotation mark after row {part.first_row}, so that its lines cannot be told "
                "apart. Remove it, or save the file as Parquet."
            )
        return table

    def _parsed(self, content: bytes, use_threads: bool) -> Any:
        csv, arrow = import_module("pyarrow.csv"), import_module("pyarrow")
        return csv.read_csv(
            arrow.BufferReader(content),
            csv.ReadOptions(use_threads=use_threads, column_names=list(self.columns), block_size=SCAN_BYTES),
            csv.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            csv.ConvertOptions(strings_can_be_null=True, decimal_point=self.decimal, column_types=dict(self.types)),
        )

    def _fault(self, part: Part, content: bytes, error: Exception) -> DataError:
        """What is wrong, with the number of the row in the whole file: Arrow counts only without threads."""
        try:
            self._parsed(content, use_threads=False)
        except (ValueError, KeyError) as counted:
            error = counted
        text = _ROW.sub(lambda found: f"row {int(found[1]) - 1 + part.first_row}: ", str(error), count=1)
        return not_a_table(self.file, ValueError(text), _ADVICE)


def open_csv(place: Place, name: str, as_text: Collection[str]) -> CsvParts:
    """Find the lines of the file; `as_text` columns keep their spelling."""
    with place.open(name) as file:
        start = file.read(_HEADER_BYTES)
        header, separator, decimal = guess_layout(name, start)
        begin = header_end(start)
        if begin is None and len(start) == _HEADER_BYTES:
            raise DataError(f"The first line of {name} is longer than a MiB. Is it CSV? Save the file as Parquet.")
        begin = len(start) if begin is None else begin
        names = _header_names(name, start[:begin], separator)
        check_header(name, names, header)
        file.seek(begin)
        parts = _numbered(name, find_runs(file, begin))
    found = CsvParts(place, name, tuple(names), parts, separator, decimal, _text(set(as_text) & set(names)))
    return replace(found, types=_types(found)) if parts else found


def _types(found: CsvParts) -> dict[str, Any]:
    """The types of the first part, for all parts: whole numbers may go on with fractions."""
    arrow = import_module("pyarrow")
    kinds = arrow.types
    schema = found.read(found.parts[0]).schema
    return {f.name: arrow.float64() if kinds.is_integer(f.type) or kinds.is_null(f.type) else f.type for f in schema}


def _text(names: Collection[str]) -> dict[str, Any]:
    return dict.fromkeys(names, import_module("pyarrow").string())


def _numbered(name: str, runs: Iterable[Run]) -> tuple[Part, ...]:
    parts: list[Part] = []
    first_row = 0
    for run in runs:
        parts.append(Part(len(parts), name, first_row, run.n_rows, run.start, run.stop))
        first_row += run.n_rows
    return tuple(parts)


def _header_names(name: str, header: bytes, separator: str) -> list[str]:
    csv, arrow = import_module("pyarrow.csv"), import_module("pyarrow")
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    try:
        return list(csv.read_csv(arrow.BufferReader(header), parse_options=parse).column_names)
    except (ValueError, KeyError) as error:
        raise not_a_table(name, error, "Save it as CSV UTF-8 with one row per item") from error
