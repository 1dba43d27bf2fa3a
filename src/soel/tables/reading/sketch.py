"""A first look at columns of text: whether they are numbers, and what they tell of the file's decimal sign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from soel.tables.reading.cells import Cells
from soel.tables.reading.numbers import Numbers, as_floats, blank_missing, find_numbers, tidy
from soel.types import Floats

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_ADDRESS = rf"^{_BYTE}(?:\.{_BYTE}){{3}}$"
_THREE_DIGITS = r"^-?[1-9]\d{0,2}\.\d{3}$"


@dataclass(frozen=True)
class Sketch:
    """What a first look at a column of text keeps; its cells would be a second table.

    is_plain: whether all are numbers as computers write them. is_tidy: whether they are so without being tidied.
    numbers: what else they allow as numbers. are_words: whether they were asked for as words, none of which is missing.
    """

    is_plain: bool = False
    is_tidy: bool = False
    numbers: Numbers | None = None
    are_words: bool = False


@dataclass(frozen=True)
class Draft:
    """A column of text on its way. texts: tidy, null for missing. plain: its values, if all are plain numbers.

    numbers: what else it allows as numbers.
    """

    texts: Any
    plain: Floats | None
    numbers: Numbers | None


def sketch_text(column: Cells, asked: str | None) -> Sketch:
    """What a column of text allows. asked: the option that names it, if there is one."""
    if asked in ("categorical", "text"):
        return Sketch(are_words=True)
    if as_floats(column.values) is not None:
        return Sketch(is_plain=True, is_tidy=True)
    texts = blank_missing(tidy(column.values))
    is_plain = as_floats(texts) is not None
    return Sketch(is_plain, False, None if is_plain or are_addresses(texts) else find_numbers(texts))


def are_addresses(texts: Any) -> bool:
    """Whether all tidy texts are IPv4 addresses, such as 192.168.100.101, which would also be a number of billions."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(texts, _ADDRESS)).as_py())


def draft_text(column: Cells, sketch: Sketch) -> Draft:
    """The cells of a column again, as its sketch says."""
    texts = column.values if sketch.is_tidy else tidy(column.values)
    texts = texts if sketch.is_tidy or sketch.are_words else blank_missing(texts)
    return Draft(texts, as_floats(texts) if sketch.is_plain else None, sketch.numbers)


def find_file_decimal(sketches: Mapping[str, Sketch], cells: Mapping[str, Cells]) -> str | None:
    """The decimal sign of those columns that have only one; None where there is none, or where they contradict."""
    found = [sketch.numbers for sketch in sketches.values() if sketch.numbers is not None]
    signs = {numbers.decimal for numbers in found} - {None}
    if not any(numbers.seen for numbers in found):
        return None
    if any(sketch.is_plain and tells_point(draft_text(cells[name], sketch).texts) for name, sketch in sketches.items()):
        signs.add(".")
    return signs.pop() if len(signs) == 1 else None


def tells_point(texts: Any) -> bool:
    """Whether a column of plain numbers has a point that cannot part thousands."""
    import pyarrow.compute as pc

    pointed = pc.match_substring(texts, ".")
    return bool(pc.any(pc.and_not(pointed, pc.match_substring_regex(texts, _THREE_DIGITS))).as_py())
