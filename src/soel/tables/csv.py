"""CSV files as text cells, whole or part by part: a part is a range of bytes that ends with a line.

Comma, semicolon, tab or bar separate cells. Lines before the names, units below them and blank lines are left out, and
said (see `header`).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from soel.errors import DataError
from soel.tables.address import Location
from soel.tables.arrow import pa, pa_csv, pc
from soel.tables.header import N_HEAD, Cells, find_head, note_on_blanks
from soel.tables.limits import check_header, not_a_table, reading
from soel.tables.parts import BLOCK_ROWS, DataPart
from soel.tables.raw_table import Layout
from soel.tables.read_options import DEFAULT, ReadOptions
from soel.tables.rows import sniff_separator
from soel.tables.text_files import START_BYTES, WIDE, encoding_of, guess_encoding, plain_file, unpacking_or_plain

PART_BYTES = 1 << 25  # a part ends with the first line after so many
SCAN_BYTES = 1 << 22
_FEW_ROWS = 10_000  # that are looked through one by one
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
_CANDIDATES = ",;\t|"
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # spreadsheets write it into the first line
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_ROW = re.compile(r"Row #(\d+): ")
_ADVICE = "Correct it, or save it as CSV UTF-8 with one row per item, or as Parquet"


@dataclass(frozen=True)
class CsvFile:
    """A CSV file as a format of parts. begin: the byte at which its first row of values begins. said: of its head."""

    place: Location
    file: str
    columns: tuple[str, ...]
    begin: int
    separator: str
    encoding: str
    said: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[DataPart, ...]:
        return tuple(part for part, _ in self._scanned if part.n_rows)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.said, *note_on_blanks(sum(n_blank for _, n_blank in self._scanned)))

    @cached_property
    def _scanned(self) -> list[tuple[DataPart, int]]:
        with self.place.open(self.file) as file:
            file.seek(self.begin)
            return list(find_parts(self.file, file, self.begin))

    def batches(self, part: DataPart) -> Iterator[Any]:
        table = self.read(part)
        for start in range(0, len(table), BLOCK_ROWS):
            yield table.slice(start, BLOCK_ROWS)

    def read(self, part: DataPart) -> Any:
        with self.place.open(self.file) as file:
            file.seek(part.start)
            content = file.read(part.stop - part.start)
        try:
            table = self._parse(content)
        except (ValueError, KeyError) as error:  # Arrow's own errors are ValueErrors
            raise not_a_table(self.file, self._counted(part, content, error), _ADVICE) from error
        if len(table) != part.n_rows:
            raise DataError(
                f"{self.file} has a stray quotation mark after row {part.first_row}, so that its lines cannot be told "
                "apart. Remove it, or save the file as Parquet."
            )
        return table

    def _parse(self, content: bytes, use_threads: bool = True) -> Any:
        names = list(self.columns)
        width = sum(map(len, names)) + 8 * len(names)
        read = pa_csv.ReadOptions(
            use_threads=use_threads,
            column_names=names,
            block_size=min(max(1 << 20, 256 * width), 1 << 26),
            encoding=self.encoding.replace("utf-8", "utf8"),
        )
        parse = pa_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)
        as_text = dict.fromkeys(names, pa.string())
        convert = pa_csv.ConvertOptions(strings_can_be_null=True, column_types=as_text)
        return pa_csv.read_csv(pa.BufferReader(content), read, parse, convert)

    def _counted(self, part: DataPart, content: bytes, error: Exception) -> Exception:
        """The error with the number of the row in the whole file: Arrow counts only without threads."""
        try:
            self._parse(content, use_threads=False)
        except (ValueError, KeyError) as counted:
            error = counted
        return ValueError(_ROW.sub(lambda found: f"row {int(found[1]) - 1 + part.first_row}: ", str(error), count=1))


def open_csv(place: Location, name: str, options: ReadOptions = DEFAULT) -> CsvFile:
    """Find the names and the first row of a file whose lines end with one byte."""
    with place.open(name) as opened:
        start = opened.read(START_BYTES)
    file = _outlined(place, name, start, options)
    if file.encoding.startswith(WIDE):
        raise DataError(f"{name} is {file.encoding} text, which cannot be read in parts. Save it as UTF-8, or Parquet.")
    if len(start) == START_BYTES and b"\n" not in start:
        raise DataError(f"The first line of {name} is longer than a MiB. Is it CSV? Save the file as Parquet.")
    check_header(name, list(file.columns))
    return file


def read_csv(path: Path, options: ReadOptions = DEFAULT) -> tuple[Any, Layout]:
    """A CSV file with a line of column names, every cell as it is written."""
    with unpacking_or_plain(path, options.max_unpacked) as file:
        written = encoding_of(path.name, file.read(START_BYTES), options)
    try:
        return _read_as(path, written, options)
    except DataError as error:
        if "UTF8" not in str(error) or options.encoding or written != "utf-8":
            raise
        with plain_file(path, options.max_unpacked) as plain:
            found = guess_encoding(path.name, plain.read_bytes(), whole=True)
        return _read_as(path, found, options)


def _read_as(path: Path, encoding: str, options: ReadOptions) -> tuple[Any, Layout]:
    """The rows of a file in this encoding."""
    with plain_file(path, options.max_unpacked, encoding) as plain:
        is_recoded = plain != path and encoding.startswith(WIDE)
        with reading(path.name, _ADVICE):
            asked = replace(options, encoding="utf-8" if is_recoded else encoding)
            file = open_csv(Location(str(plain.absolute().parent)), plain.name, asked)
            tables = [file.read(part) for part in file.parts]
    empty = pa.table({name: pa.nulls(0, pa.string()) for name in file.columns})
    table, repeated = _without_names(pa.concat_tables(tables) if tables else empty)
    notes = (*_notes_on(encoding, options), *file.notes, *repeated)
    return table, Layout("csv", encoding, file.separator, notes)


def csv_names(path: Path) -> list[str]:
    """The column names in the head of a CSV file."""
    with unpacking_or_plain(path, DEFAULT.max_unpacked) as file:
        return list(_outlined(Location(""), path.name, file.read(START_BYTES), DEFAULT).columns)


def find_parts(name: str, file: BinaryIO, begin: int) -> Iterator[tuple[DataPart, int]]:
    """The lines of a file, which stands at byte `begin`, as parts with the blank lines in each.

    One pass over its bytes: quotation marks are counted, nothing else is looked at.
    """
    at = line = start = begin  # the bytes read, the beginnings of the open line and of the part
    number = first_row = n_rows = n_blank = 0
    quoted, last = False, b"\n"
    while chunk := file.read(SCAN_BYTES):
        ends, quoted = _line_ends(chunk, quoted)
        if len(ends):
            n_filled = _n_filled(last + chunk, ends + 1, line - at + 1)
            n_rows, n_blank = n_rows + n_filled, n_blank + len(ends) - n_filled
            line = at + int(ends[-1]) + 1
        at, last = at + len(chunk), chunk[-1:]
        if n_rows and line - start >= PART_BYTES:
            yield DataPart(number, name, first_row, n_rows, start, line), n_blank
            number, first_row, start, n_rows, n_blank = number + 1, first_row + n_rows, line, 0, 0
    if n_rows or n_blank or at > line:
        yield DataPart(number, name, first_row, n_rows + (at > line), start, at), n_blank


def _line_ends(chunk: bytes, quoted: bool) -> tuple[np.ndarray, bool]:
    """Where lines end, and whether the chunk ends inside quotation marks."""
    values = np.frombuffer(chunk, np.uint8)
    ends = values == _NEWLINE
    if not quoted and _QUOTE not in chunk:
        return np.flatnonzero(ends), False
    inside = (np.cumsum(values == _QUOTE, dtype=np.uint8) + np.uint8(quoted)) & np.uint8(1)
    return np.flatnonzero(ends & (inside == 0)), bool(inside[-1])


def _n_filled(chunk: bytes, ends: np.ndarray, start: int) -> int:
    """How many lines hold anything. start: where the first of them begins, negative if in an earlier chunk."""
    starts = np.concatenate([[start], ends[:-1] + 1])
    lengths = ends - starts
    short = starts[lengths == 1]  # none of these can begin before this chunk and its one byte in front
    n_bare = int((np.frombuffer(chunk, np.uint8)[short] == _RETURN).sum())
    return len(ends) - int((lengths == 0).sum()) - n_bare


def _outlined(place: Location, name: str, start: bytes, options: ReadOptions) -> CsvFile:
    """A file as its first bytes say."""
    encoding = encoding_of(name, start, options)
    errors = "ignore" if encoding.startswith(WIDE) else "surrogateescape"  # the last letter may be cut
    text = start.decode(encoding, errors)
    lines = list(_first_lines(text, N_HEAD + 1))
    found = _SEPARATOR_LINE.fullmatch(text[slice(*lines[0])].strip("\ufeff\r\n")) if lines else None
    lines = lines[1:] if found else lines
    if not lines:
        raise DataError(f"{name} is empty. The first line must hold column names, then one line per item.")
    shown = [text[first:last].lstrip("\ufeff").strip("\r\n") for first, last in lines]
    separator = found[1] if found else _find_separator(shown)
    rows = [_split(line, separator) for line in shown]
    if len(rows) > N_HEAD or len(text) < lines[-1][1] + 1:
        rows = rows[: max(1, len(rows) - 1)]  # the last one may be cut off
    head = find_head(rows)
    _check_not_spaced(name, shown, head.names)
    end = lines[head.n_before][0] if head.n_before < len(lines) else len(text)
    begin, names = len(text[:end].encode(encoding, errors)), tuple(map(str.strip, head.names))
    return CsvFile(place, name, names, begin, separator, encoding, (*_notes_on(encoding, options), *head.notes))


def _first_lines(text: str, n_most: int) -> Iterator[tuple[int, int]]:
    """Where the first lines with any text begin and end; a line goes on while quotation marks are open."""
    begin = n_found = n_quotes = 0
    for line in _LINE.finditer(text):
        at = line.end()
        n_quotes += line[0].count('"')
        if n_quotes % 2:
            continue
        if text[begin:at].strip("\ufeff \r\n"):
            yield begin, at
            n_found += 1
        if n_found == n_most:
            return
        begin = at
    if text[begin:].strip("\ufeff \r\n"):
        yield begin, len(text)


def _find_separator(lines: list[str]) -> str:
    """That of the first line, where the lines below are as wide; else the one that parts most lines alike."""
    first = sniff_separator(lines[0])
    if len({len(_split(line, first)) for line in lines}) == 1 and len(_split(lines[0], first)) > 1:
        return first
    agreed = {}
    for separator in _CANDIDATES:
        widths = Counter(len(_split(line, separator)) for line in lines)
        width, n_lines = widths.most_common(1)[0]
        agreed[separator] = (n_lines, width) if width > 1 and 2 * n_lines > len(lines) else (0, 0)
    best = max(agreed, key=lambda separator: agreed[separator])
    return best if agreed[best][0] else first


def _split(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell of a size that only Arrow reads
        return line.split(separator)


def _check_not_spaced(file: str, lines: list[str], names: Cells) -> None:
    """Columns that only blanks part look like one column of text: nobody means that."""
    widths = {len(re.split(r"\s{2,}", line.strip())) for line in lines}
    if len(names) == 1 and len(lines) > 2 and len(widths) == 1 and widths.pop() > 1:
        raise DataError(
            f"The columns of {file} are separated by spaces, as in {lines[0][:60]!r}. Use commas, semicolons, tabs or "
            "bars: a spreadsheet imports such a file as 'fixed width' and saves it as CSV."
        )


def _notes_on(encoding: str, options: ReadOptions) -> tuple[str, ...]:
    """What is to be said about an encoding that was guessed and is not UTF-8."""
    if options.encoding or encoding == "utf-8":
        return ()
    return (f"The text is read as {encoding}; <<encoding>> says otherwise.",)


def _without_names(table: Any) -> tuple[Any, tuple[str, ...]]:
    """A table less the lines that repeat its names, as where files were put together."""
    names = table.column_names
    if len(names) < 2 or (len(table) < _FEW_ROWS and not _holds(table.column(0), names[0])):
        return table, ()
    repeats = None
    for at, name in enumerate(names):
        same = pc.equal(pc.utf8_trim_whitespace(table.column(at)), name)
        repeats = same if repeats is None else pc.and_kleene(repeats, same)
        if not pc.any(repeats).as_py():
            return table, ()
    kept = table.filter(pc.invert(pc.fill_null(repeats, False)))
    n = len(table) - len(kept)
    lines = "A line that repeats" if n == 1 else f"{n:,} lines that repeat"
    return kept, (f"{lines} the names of the columns {'is' if n == 1 else 'are'} left out.",)


def _holds(column: Any, text: str) -> bool:
    """Whether a column of texts has this one; without `pyarrow.compute`, which takes a third of a second to load."""
    return any(cell is not None and cell.strip() == text for cell in column.to_pylist())
