"""Columns that tell no row from another: ids, constants, and what is left out."""

from __future__ import annotations

import numpy as np

from soel.tables.codes import Code, NumericCode, Scaling
from soel.tables.column import Column, Values
from soel.tables.kinds.categorical import fit_words
from soel.tables.kinds.kind import (
    FEW_ROWS,
    LONG,
    MAX_CATEGORIES,
    NEARLY_ALL,
    ColumnKind,
    ColumnSource,
    Found,
    are_codes,
    is_id_name,
    see_numbers,
    see_words,
)
from soel.tables.kinds.number import Number, names_rows
from soel.tables.raw_table import RawColumn

WORDS = "words"  # the layout of a constant that is no number


class Id(ColumnKind):
    """Names of rows."""

    name = "id"
    into = "nothing: an id"
    changed_by = ("id-column", "numeric", "categorical")
    is_used = False
    names_rows = True

    def sniff(self, source: ColumnSource) -> Found | None:
        """Numbers that only name the rows; codes that nearly all differ."""
        why = names_rows(source)
        if why is not None and source.plain is not None:
            return Found(see_numbers(source.plain), doubt=why)
        words, seen = source.words, see_words(source.words, len(source.cells))
        if words.share < NEARLY_ALL:
            return None
        if is_id_name(source.name) and words.n_cells >= FEW_ROWS and source.words_a_cell < LONG:
            return Found(seen)
        if words.n_distinct <= MAX_CATEGORIES or not (are_codes(words) or source.words_a_cell < 2):
            return None
        is_code = any(map(str.isdigit, "".join(words.top))) or len(set(map(len, words.top))) == 1
        doubt = "nearly all values differ, so it is taken for a name of the row; <<categorical>> takes it as it is"
        return Found(seen, doubt="" if is_code else doubt)


class Constant(Number):
    """One value throughout; a number, or words, as the layout of its form says."""

    name = "constant"
    into = "nothing: constant"
    option = ""
    changed_by = ("ignore",)
    holds = "a number"

    def sniff(self, source: ColumnSource) -> Found | None:
        return None  # what is constant is seen after it was read

    def parse(self, column: Column, cells: RawColumn) -> Values:
        return cells.as_words() if column.form.layout == WORDS else super().parse(column, cells)

    def fit(self, column: Column, values: Values, scaling: Scaling) -> Code:
        if values.dtype == np.float64:
            return NumericCode.fit(column.name, values, scaling)
        return fit_words(column.name, values, scaling)


class Ignored(ColumnKind):
    """What is empty, or not wanted."""

    name = "ignored"
    into = "nothing"
    changed_by = ()
    is_used = is_kept = False
