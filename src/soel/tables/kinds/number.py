"""Numbers: as computers write them, or as people do, with signs and currencies; codes for missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from soel.errors import DataError
from soel.tables.arrow import pc
from soel.tables.codes import Code, NumericCode, Scaling
from soel.tables.column import PLAIN, Column, Form, Values, check_finite
from soel.tables.kinds.kind import ColumnKind, ColumnSource, Found, example_of, has_fractions, is_id_name, see_numbers
from soel.tables.kinds.missing import blank_codes, doubt_codes, find_codes
from soel.tables.kinds.number_text import (
    as_floats,
    blank_missing,
    check_not_mostly_numbers,
    choose_form,
    doubt_sign,
    misfit,
    parse_numbers,
    tells_point,
    tidy,
)
from soel.tables.raw_table import RawColumn
from soel.types import Floats

FEW_ROWS = 20
_LEADING_ZERO = r"^0\d"


class Number(ColumnKind):
    """Numbers, read with the signs and units of the pool."""

    name = "number"
    option = "numeric"
    holds = "numbers"
    plain_advice = "Give numbers, or NaN where the value is missing"

    def sniff(self, source: ColumnSource) -> Found | None:
        """Numbers, unless they only name the rows; text that mostly holds numbers is refused."""
        if source.numbers is not None:
            form, doubt = choose_form(source.numbers, source.file.decimal, source.file.separator)
            values = parse_numbers(source.texts, form)
            assert values is not None
            return _coded(source, values, form, doubt, source.texts)
        if source.plain is None:
            if source.texts is not None:
                check_not_mostly_numbers(source.name, source.texts, source.asked)
            return None
        pointed = _with_point_for_thousands(source)
        if pointed is not None:
            return pointed
        if source.asked != "numeric" and has_leading_zeros(source):
            return None
        doubt = "whole numbers beyond 2^53 are rounded to 16 digits" if source.lost else ""
        found = _coded(source, source.plain, PLAIN, doubt)
        is_name = source.asked != "numeric" and not found.form.missing and names_rows(source) is not None
        return None if is_name else found

    def parse(self, column: Column, cells: RawColumn) -> Values:
        """Numbers by the form of the pool, NaN for its codes."""
        return check_finite(column.name, blank_codes(self._parse(column, cells), column.form.missing))

    def _parse(self, column: Column, cells: RawColumn) -> Floats:
        if cells.type in ("number", "flag", "duration"):
            return np.asarray(cells.values)
        if cells.type in ("text", "category"):
            return self.parse_texts(column, cells.values)
        if np.isnat(cells.values).all():
            return np.full(len(cells), np.nan)
        raise self.differs(column, f"dates or times such as {example_of(cells)}")

    def parse_texts(self, column: Column, texts: Any) -> Floats:
        """Arrow strings as numbers."""
        plain = as_floats(texts) if column.form.is_plain else None
        if plain is not None:  # nothing to tidy, which would load pandas for a few rows
            return plain
        texts = blank_missing(tidy(texts))
        values = parse_numbers(texts, column.form)
        if values is not None:
            return values
        row = misfit(texts, column.form) or 0
        raise self.differs(column, f"text such as {texts[row].as_py()!r} in row {row}")

    def is_as_stored(self, column: Column) -> bool:
        return self.name == Number.name and column.form.is_plain and not column.form.missing

    def fit(self, column: Column, values: Values, scaling: Scaling) -> Code:
        return NumericCode.fit(column.name, values, scaling)

    def becomes(self, column: Column) -> str:
        return "a number"

    def asked_in_vain(self, source: ColumnSource) -> DataError:
        """Every column that is not of numbers has said so before."""
        return DataError(f"Column {source.name!r} is asked for as numbers, and holds none. Read it otherwise.")


def has_leading_zeros(source: ColumnSource) -> bool:
    """Whether plain whole numbers in text have leading zeros, as codes do."""
    if source.texts is None or source.plain is None or has_fractions(source.plain):
        return False
    return bool(pc.any(pc.match_substring_regex(source.texts, _LEADING_ZERO)).as_py())


def names_rows(source: ColumnSource) -> str | None:
    """Why plain numbers only name the rows, empty where that is sure; None where they do not."""
    values = source.plain
    if values is None or not source.file.named or not source.whole or len(np.unique(values)) < len(values):
        return None
    if np.isnan(values).any():
        return None
    if is_id_name(source.name) and len(values) >= 5:
        return ""
    low, high = values.min(), values.max()
    if len(values) >= FEW_ROWS and low in (0, 1) and high - low == len(values) - 1:
        return "it only numbers the rows; <<numeric>> takes it as a number"
    return "its numbers are too long to compute with, and all differ" if source.lost else None


def _with_point_for_thousands(source: ColumnSource) -> Found | None:
    """Plain numbers in a file with decimal commas, whose point separates thousands."""
    if source.texts is None or source.file.decimal != "," or tells_point(source.texts):
        return None
    if not pc.any(pc.match_substring(source.texts, ".")).as_py():
        return None
    form, texts = Form(",", "."), tidy(source.texts)
    values = parse_numbers(texts, form)
    is_settled = source.file.said or source.file.separator == ";"
    doubt = "" if is_settled else doubt_sign(".", "thousands")
    return None if values is None else _coded(source, values, form, doubt, source.texts)


def _coded(source: ColumnSource, values: Floats, form: Form, doubt: str, texts: Any = None) -> Found:
    """Numbers less the codes for missing values among them, which is said; what else is doubtful is odd.

    A doubt that offers another option stays one, so that the option is asked for.
    """
    codes = () if source.asked == "numeric" else find_codes(values)
    if not codes:
        return Found(see_numbers(values, texts), form, doubt, values)
    kept, said = blank_codes(values, codes), doubt_codes(values, codes)
    first, second = (doubt, said) if "<<" in doubt else (said, doubt)
    seen = replace(see_numbers(kept, texts), oddities=(second,) if second else ())
    return Found(seen, replace(form, missing=codes), first, kept)
