"""CSV for people: files that a spreadsheet opens without running anything, and that come back as they were.

A cell that a spreadsheet would take for a formula gets an apostrophe in front, which `read_rows` removes.
Plain numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from soel.errors import DataError
from soel.files import replacing_text
from soel.tables.text_files import guess_encoding

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
    lines = list(_lines(path))
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


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of all lines that hold any text."""
    file = io.StringIO(_read_text(path), newline="")
    try:
        reader = csv.reader(file, delimiter=sniff_separator(_first_line(file)))
        for cells in reader:
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{path.name} is not a CSV file: {error}. Save it as CSV UTF-8.") from error


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


def _first_line(file: TextIO) -> str:
    """The first line with any text; the file is wound back to its start."""
    line = next((line for line in file if line.strip()), "")
    file.seek(0)
    return line


def _cell(value: Any) -> str:
    return "" if value is None else neutralise(str(value))


def _is_formula(text: str) -> bool:
    return text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
