"""A reading in words: how a column is read, what it becomes, and the option that changes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soel.tables.reading.kinds import Reading, TableReading
from soel.tables.reading.missing_codes import write_code
from soel.tables.reading.units import BOUNDS
from soel.tables.reading.words import MAX_CATEGORIES

_BLOCKS = "▁▂▃▄▅▆▇█"
_SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "_": "underscore"}
_OTHER: dict[str, tuple[str, ...]] = {
    "number": ("--categorical", "--ignore"),
    "flag": ("--categorical", "--ignore"),
    "category": ("--text", "--ignore"),
    "time": ("--categorical", "--ignore"),
    "duration": ("--categorical", "--ignore"),
    "text": ("--categorical", "--ignore"),
    "id": ("--id-column", "--numeric", "--categorical"),
    "constant": ("--ignore",),
    "ignored": (),
}


def describe_kind(reading: Reading) -> str:
    """The kind with how it is written, such as 'number, decimal comma, in €'."""
    form = reading.form
    parts: list[str] = [reading.kind]
    if form.decimal != ".":
        parts.append(f"decimal {_SIGNS[form.decimal]}")
    if form.thousands:
        parts.append(f"thousands by {_SIGNS[form.thousands]}")
    bounds = [unit for unit in form.units if unit in BOUNDS]
    if len(form.units) > len(bounds):
        parts.append(f"in {', '.join(unit for unit in form.units if unit not in bounds)}")
    if bounds:
        parts.append(f"some with {', '.join(bounds)}")
    if form.words:
        parts.append("/".join(sorted(form.words, key=lambda word: -form.words[word])))
    if form.missing:
        parts.append(f"{' / '.join(map(write_code, form.missing))} for missing")
    if form.order:
        parts.append({"dmy": "day first", "mdy": "month first", "ymd": "year first"}[form.order])
    elif form.layout and reading.kind in ("time", "duration"):
        parts.append(form.layout)
    return ", ".join(parts)


def describe_features(reading: Reading) -> str:
    """What the column becomes."""
    kind = reading.kind
    if kind == "category":
        many = reading.seen.n_distinct > MAX_CATEGORIES
        if many:
            return "its frequency"
        return "1 category" if reading.seen.n_distinct == 1 else f"{reading.seen.n_distinct} categories"
    return {
        "number": "a number",
        "flag": "0 or 1",
        "time": "hour, weekday, month, gap",
        "duration": "seconds" if reading.form.layout else "a number",
        "text": "length, digits, words",
        "constant": "nothing: constant",
        "id": "nothing: an id",
        "ignored": "nothing",
    }[kind]


def options_for(reading: Reading) -> tuple[str, ...]:
    """The options that change how the column is read."""
    return (*(("--numeric",) if reading.form.missing else ()), *_OTHER[reading.kind])


def draw_bars(bars: Sequence[int]) -> str:
    """A small picture: one block a bar, as high as it is frequent."""
    highest = max(bars, default=0)
    if not highest:
        return ""
    return "".join(" " if not bar else _BLOCKS[round((len(_BLOCKS) - 1) * bar / highest)] for bar in bars)


def warnings_of(reading: TableReading) -> list[str]:
    """What has to be said loudly: what was guessed, and which columns could be meant otherwise."""
    doubts = [f"Column {each.name!r} is read as {describe_kind(each)}: {each.doubt}." for each in reading.doubtful]
    return [*notes_of(reading), *doubts]


def notes_of(reading: TableReading | None) -> list[str]:
    """How a file was read, and what was left out of it: lines before the table, blank lines, repeated rows."""
    if reading is None:
        return []
    n_left_out = reading.n_duplicates if reading.drop_duplicates else 0
    rows = (
        "1 row repeats an earlier one and is" if n_left_out == 1 else f"{n_left_out:,} rows repeat earlier ones and are"
    )
    return [*reading.layout.notes, *([f"{rows} left out."] if n_left_out else [])]


def document_of(reading: TableReading) -> dict[str, Any]:
    """All of it as plain values, for `--json`."""
    columns = [
        {
            **each.to_json(),
            "read_as": describe_kind(each),
            "becomes": describe_features(each),
            "sure": each.is_sure,
            "changed_by": ", ".join(options_for(each)),
        }
        for each in reading.columns
    ]
    return {**reading.to_json(), "columns": columns, "warnings": warnings_of(reading)}
