"""Plain tables for a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from numbers import Real

from soel.errors import DataError

NUMERIC = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?( ?%)?( ?± ?[\d.,]+)?")


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """An aligned table: columns of numbers to the right, text to the left, wide characters counted as two."""
    _check_widths(header, rows)
    lines = [[show(cell) for cell in header], *([show(cell) for cell in row] for row in rows)]
    columns = list(zip(*lines, strict=True))
    sizes = [max(map(width, column)) for column in columns]
    right = [_is_numeric(column[1:]) for column in columns]
    lines.insert(1, ["-" * size for size in sizes])
    return "\n".join("  ".join(_pad(*cell) for cell in zip(line, sizes, right, strict=True)).rstrip() for line in lines)


def show(cell: object) -> str:
    """A cell as text: four figures for a fraction, nothing for None, control characters made visible."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, Real) and not float(cell).is_integer():
        return f"{float(cell):.4g}"
    return "".join(_visible(character) for character in str(cell))


def width(text: str) -> int:
    """Columns that a terminal gives the text."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    """Data must not move the cursor or reverse the line: escape what a terminal would obey."""
    obeyed = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\u202a\u202b\u202d\u202e"
    return character.encode("unicode_escape").decode("ascii") if obeyed else character


def _is_numeric(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(NUMERIC.fullmatch(cell) or cell in ("nan", "inf", "-inf") for cell in filled)


def _pad(text: str, size: int, right: bool) -> str:
    space = " " * (size - width(text))
    return space + text if right else text + space


def _check_widths(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    wrong = [len(row) for row in rows if len(row) != len(header)]
    if wrong:
        raise DataError(
            f"A table with {len(header)} columns was given a row of {wrong[0]} cells. "
            "Give every row one cell per column."
        )
