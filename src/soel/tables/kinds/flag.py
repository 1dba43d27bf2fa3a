"""Flags: yes and no in the words of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from soel.tables.arrow import pa, pc
from soel.tables.column import Column, Form, Values
from soel.tables.kinds.kind import ColumnSource, Found, Words, see_numbers
from soel.tables.kinds.number import Number
from soel.tables.kinds.number_text import blank_missing, tidy
from soel.tables.raw_table import RawColumn
from soel.types import Floats

N_SPELLINGS = 6  # of yes and no, in small and capital letters
_FLAGS = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("j", "n"), ("oui", "non"),
    ("vrai", "faux"), ("wahr", "falsch"), ("si", "no"), ("sí", "no"), ("sì", "no"), ("✓", "✗"),
)  # fmt: skip


class Flag(Number):
    """1 for yes, 0 for no."""

    name = "flag"
    option = ""
    holds = "yes and no"
    plain_advice = ""

    def sniff(self, source: ColumnSource) -> Found | None:
        """Two words of one language, or what a file stores as booleans."""
        if source.cells.type == "flag":
            return Found(see_numbers(source.cells.values), values=source.cells.values)
        if not source.is_words or len(source.texts.drop_null().slice(0, 200).unique()) > N_SPELLINGS:
            return None
        words = _find_flags(source.words)
        if words is None:
            return None
        form = Form(words=words)
        values = self.parse(Column(source.name, self.name, form), RawColumn("text", source.texts))
        return Found(replace(see_numbers(values), examples=source.words.top[:2]), form, "", values)

    def parse_texts(self, column: Column, texts: Any) -> Floats:
        """1 and 0 by the words of the pool; digits are taken too."""
        texts = blank_missing(tidy(texts))
        known = {**(column.form.words or {"true": 1, "false": 0}), "1": 1, "0": 0}
        at = pc.index_in(pc.utf8_lower(texts), pa.array(list(known), pa.string()))
        strange = pc.and_(pc.is_null(at), pc.is_valid(texts))
        if pc.any(strange).as_py():
            row = pc.index(strange, True).as_py()
            raise self.differs(column, f"text such as {texts[row].as_py()!r} in row {row}")
        codes = np.array([*known.values(), np.nan], np.float64)
        return np.asarray(codes[np.asarray(pc.fill_null(at, len(known)))])

    def show(self, column: Column, values: Values) -> Values:
        """The words of the file."""
        words = {code: word for word, code in column.form.words.items()}
        if not words:
            return values
        return np.array([None if np.isnan(value) else words[int(value)] for value in values.tolist()], object)

    def becomes(self, column: Column) -> str:
        return "0 or 1"


def _find_flags(words: Words) -> dict[str, int] | None:
    """The words of a flag, if these are: 1 for yes, 0 for no."""
    lower = {text.lower() for text in words.top}
    if not lower or len(lower) > 2:
        return None
    for yes, no in _FLAGS:
        if lower <= {yes, no} and (len(lower) == 2 or len(yes) > 1):
            return {yes: 1, no: 0}
    return None
