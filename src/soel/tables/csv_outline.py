"""The outline of a CSV file: its separator, its names, and the byte at which its rows of values begin."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from soel.errors import DataError
from soel.tables.csv_cells import sniff_separator
from soel.tables.outline import N_HEAD, find_head

_CANDIDATES = ",;\t|"
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # spreadsheets write it into the first line
_MARKED = {"utf-16": (b"\xff\xfe", b"\xfe\xff"), "utf-32": (b"\xff\xfe\0\0", b"\0\0\xfe\xff")}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_SPACES = re.compile(r"\s{2,}")


@dataclass(frozen=True)
class Outline:
    """How a CSV file is laid out. begin: the byte at which its first row of values begins."""

    separator: str
    names: tuple[str, ...]
    begin: int
    notes: tuple[str, ...] = ()


def outline_csv(file: str, start: bytes, encoding: str) -> Outline:
    """The outline of a file from its first bytes."""
    text = start.decode(encoding, errors=_errors(encoding))
    lines = list(_lines(text, N_HEAD + 1))
    found = _SEPARATOR_LINE.fullmatch(text[slice(*lines[0])].strip("\ufeff\r\n")) if lines else None
    lines = lines[1:] if found else lines
    if not lines:
        raise DataError(f"{file} is empty. The first line must hold column names, then one line per item.")
    shown = [text[first:last].lstrip("\ufeff").strip("\r\n") for first, last in lines]
    separator = found[1] if found else _find_separator(shown)
    rows = [_cells(line, separator) for line in shown]
    if len(rows) > N_HEAD or len(text) < lines[-1][1] + 1:
        rows = rows[: max(1, len(rows) - 1)]  # the last one may be cut off
    head = find_head(rows)
    _check_not_spaced(file, shown, head.names)
    end = lines[head.n_before][0] if head.n_before < len(lines) else len(text)
    names = tuple(map(str.strip, head.names))
    return Outline(separator, names, _n_bytes(text[:end], encoding, start), head.notes)


def _lines(text: str, n_most: int) -> Iterator[tuple[int, int]]:
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
    if len({len(_cells(line, first)) for line in lines}) == 1 and len(_cells(lines[0], first)) > 1:
        return first
    agreed = {}
    for separator in _CANDIDATES:
        widths = Counter(len(_cells(line, separator)) for line in lines)
        width, n_lines = widths.most_common(1)[0]
        agreed[separator] = (n_lines, width) if width > 1 and 2 * n_lines > len(lines) else (0, 0)
    best = max(agreed, key=lambda separator: agreed[separator])
    return best if agreed[best][0] else first


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell of a size that only Arrow reads
        return line.split(separator)


def _n_bytes(text: str, encoding: str, start: bytes) -> int:
    n_bytes = len(text.encode(encoding, errors=_errors(encoding)))
    if encoding in _MARKED and not start.startswith(_MARKED[encoding]):
        return n_bytes - len(_MARKED[encoding][0])
    return n_bytes


def _errors(encoding: str) -> str:
    """How the last letter, which may be cut off, is treated: as bytes that come back as they were."""
    return "ignore" if encoding.startswith(("utf-16", "utf-32")) else "surrogateescape"


def _check_not_spaced(file: str, lines: list[str], names: tuple[str, ...]) -> None:
    """Columns that only blanks part look like one column of text: nobody means that."""
    widths = {len(_SPACES.split(line.strip())) for line in lines}
    if len(names) == 1 and len(lines) > 2 and len(widths) == 1 and widths.pop() > 1:
        raise DataError(
            f"The columns of {file} are parted by blanks, as in {lines[0][:60]!r}. Part them by commas, semicolons, "
            "tabs or bars: a spreadsheet imports such a file as 'fixed width' and saves it as CSV."
        )
