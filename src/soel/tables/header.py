"""Where a table begins in a sheet that people made: what stands before its names and under them.

Rows are lists of cells as text. What is found is told in words, since nobody said so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from soel.tables.missing import MISSING

Cells = Sequence[str]
N_HEAD = 60  # rows that are looked at
_VALUE = re.compile(r"[-+(<>≤≥~]?\s*[$€£]?\s*[.,]?\d")  # numbers, dates and clocks begin so
_FINE = re.compile(r"[-+]?\d*[.,]\d+|[-+]\d+")  # a number that nobody calls a column by
_RULE = frozenset("-=+:_ ")
_BRACKETS = re.compile(r"[\[(].*[\])]")


@dataclass(frozen=True)
class Head:
    """The names of a table, how many rows lie before its first row of values, and what is to be said about both."""

    names: tuple[str, ...]
    n_before: int
    notes: tuple[str, ...] = ()


def find_head(rows: Sequence[Cells]) -> Head:
    """The head of a table from its first rows, none of which is empty."""
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    at = _first_row(rows, width)
    names, below = list(rows[at]), rows[at + 1 :]
    by_place = [f"column {number}" for number in range(1, len(names) + 1)]
    notes = [f"Left out before the table: {_quoted(row[0] for row in rows[:at])}."] if at else []
    valued = _valued(below, len(names))
    if not at and _are_values(names, valued):
        note = "The first line holds values, no names: columns are called by their place, such as 'column 1'."
        return Head(tuple(by_place), 0, (note,))
    n_before = at + 1
    if _continues(names, below):
        group = ""
        for place, cell in enumerate(below[0]):
            group = names[place].strip() or group
            names[place] = f"{group} {cell.strip()}".strip() if cell.strip() else group
        n_before += 1
        notes.append(f"The names of the columns are put together from two lines, such as {names[-1]!r}.")
    elif below and _holds_no_values(below[0], _valued(below[1:], len(names))):
        n_before += 1
        notes.append(f"The line under the names is left out, it holds no values: {_quoted(below[0])}.")
    unnamed = [place for place, name in enumerate(names) if not name.strip()]
    taken = {name.strip() for name in names}
    if unnamed and len(unnamed) < len(names) and not taken & {by_place[place] for place in unnamed}:
        names = [name if name.strip() else called for name, called in zip(names, by_place, strict=True)]
        if any(row[place].strip() for place in unnamed for row in below if len(row) == len(names)):
            notes.append(f"A column without a name is called by its place: {_quoted(names[at] for at in unnamed)}.")
    return Head(tuple(names), n_before, tuple(notes))


def note_on_blanks(n_lines: int) -> tuple[str, ...]:
    """What is to be said about blank lines that were left out."""
    lines = "1 blank line is" if n_lines == 1 else f"{n_lines:,} blank lines are"
    return (f"{lines} left out.",) if n_lines else ()


def _first_row(rows: Sequence[Cells], width: int) -> int:
    """Which row holds the names: the first one that is as wide as the table and mostly filled."""
    least = max(2, width / 2) if width > 1 else 1
    for at, row in enumerate(rows[:-1]):
        n_filled = sum(bool(cell.strip()) for cell in row)
        if n_filled >= least and all(len(each) == width for each in rows[at:]):
            valued = _valued(rows[at + 1 :], width)
            return 0 if any(_VALUE.match(row[place].strip()) for place in valued) else at
    return 0


def _valued(rows: Sequence[Cells], width: int) -> list[int]:
    """Columns in which every cell that is not missing begins like a number or a date."""
    found = []
    for place in range(width):
        cells = [row[place].strip() for row in rows if len(row) == width]
        present = [cell for cell in cells if cell.lower() not in MISSING]
        if present and all(map(_VALUE.match, present)):
            found.append(place)
    return found


def _are_values(names: Cells, valued: Sequence[int]) -> bool:
    """Whether a first row holds values like those below; years may well be names."""
    first = [names[place].strip() for place in valued]
    return all(map(_VALUE.match, first)) and any(map(_FINE.fullmatch, first))


def _continues(names: Cells, below: Sequence[Cells]) -> bool:
    """Whether the row below goes on with the names: it fills what merged cells left empty, and holds no value."""
    if len(below) < 2 or len(below[0]) != len(names) or all(name.strip() for name in names):
        return False
    row = below[0]
    fills = all(name.strip() or cell.strip() for name, cell in zip(names, row, strict=True))
    groups = [place for place in range(1, len(names)) if names[place - 1].strip() and not names[place].strip()]
    is_group = any(row[place - 1].strip() and row[place].strip() for place in groups)
    holds_values = any(_VALUE.match(cell.strip()) for cell in row)
    return fills and is_group and not holds_values and bool(_valued(below[1:], len(names)))


def _holds_no_values(row: Cells, valued: Sequence[int]) -> bool:
    """Whether a row under the names is a rule, or says in what the numbers below are measured."""
    cells = [cell.strip() for cell in row]
    if all(map(_RULE.issuperset, cells)) and any(len(cell) > 2 for cell in cells):
        return True
    above = [cells[place] for place in valued if place < len(cells) and cells[place]]
    is_unit = len(above) > 1 or any(sign in cell for cell in above for sign in "°%/²³[(")
    enough = is_unit and 2 * len(above) >= len(valued) and max(map(len, above)) <= 16
    return enough and not any(_VALUE.match(cell) and not _BRACKETS.fullmatch(cell) for cell in above)


def _quoted(cells: Iterable[str]) -> str:
    shown = [cell.strip() for cell in cells if cell.strip()]
    short = [cell if len(cell) <= 40 else f"{cell[:39]}…" for cell in shown[:3]]
    return ", ".join(map(repr, short)) + (", ..." if len(shown) > 3 else "")
