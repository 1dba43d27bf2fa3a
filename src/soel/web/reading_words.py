"""What the reading of a table says of its columns, in the language of the page.

The room `data` says it in English, for a terminal; here each sentence is known by its form. What to type on a command
line is left out: the page has a choice instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from soel.text import Texts

_NUMBERS: dict[str, Callable[[str], Any]] = {"share": float, "n": lambda value: int(value.replace(",", ""))}
_OPTIONS = re.compile(r"[:;][^:;]*<<.*$")
_SENTENCES = {
    key: re.compile(pattern)
    for key, pattern in {
        "reading.leading_zeros": "numbers with leading zeros are taken for codes",
        "reading.rounded": r"whole numbers beyond 2\^53 are rounded to 16 digits",
        "reading.row_numbers": "it only numbers the rows",
        "reading.long_numbers": "its numbers are too long to compute with, and all differ",
        "reading.perhaps_names": "it could also be names that say nothing",
        "reading.all_differ": "nearly all values differ, so it is taken for a name of the row",
        "reading.label": "(?:it )?looks like a label",
        "reading.day_first": "dates are read with the day first",
        "reading.month_first": "dates are read with the month first",
        "reading.unit": "'(?P<unit>.+)' is taken for a unit",
        "reading.currencies": "amounts in (?P<names>.+) are compared as they are",
        "reading.some_units": "'(?P<unit>.+)' stands beside some of the numbers only",
        "reading.bound": "a number after '(?P<sign>.+)' is taken as it is written",
        "reading.sign_thousands": "'(?P<sign>.)' could also be a thousands separator",
        "reading.sign_decimal": "'(?P<sign>.)' could also be a decimal sign",
        "reading.several_forms": "dates are written in several forms",
        "reading.tolerance": "what follows '±' is left out",
        "reading.missing_codes": r"(?P<n>[\d,]+) cells are (?P<codes>.+), far from all others: taken for missing",
        "reading.serial": "its numbers are read as the days of a spreadsheet",
        "reading.repeated_names": r".+ that repeats? the names of the columns (?:is|are) left out\.",
        "reading.empty": "empty",
        "reading.mostly_empty": r"mostly empty: (?P<share>[\d.]+) % of the cells are missing",
        "reading.constant": "constant",
        "reading.id": "looks like an id",
        "reading.same_as": "the same as (?P<name>.+)",
        "reading.leaks": "tells the labels by itself",
        "reading.encoding": r"The text is read as (?P<name>\S+)",
        "reading.before": r"Left out before the table: (?P<cells>.+)\.",
        "reading.blank_lines": r"(?P<n>[\d,]+) blank lines? (?:is|are) left out\.",
        "reading.repeated_out": r"(?P<n>[\d,]+) rows? repeats? .* left out\.",
        "reading.below_names": r"The line under the names is left out, it holds no values: (?P<cells>.+)\.",
        "reading.two_lines": r"The names of the columns are put together from two lines, such as (?P<name>.+)\.",
        "reading.by_place": r"A column without a name is called by its place: (?P<names>.+)\.",
        "reading.no_names": r"The first line holds values, no names: .+",
    }.items()
}


def reading_words(sentence: str, texts: Texts) -> str:
    """A sentence about a column or a file as the page says it; one that is not known stays as it is."""
    bare = _OPTIONS.sub("", sentence)
    for key, pattern in _SENTENCES.items():
        if found := pattern.fullmatch(bare):
            return texts(key, **{name: _NUMBERS.get(name, str)(value) for name, value in found.groupdict().items()})
    return bare
