"""Numbers, as computers or as people write them; flags of two words; codes for missing values among numbers.

A code for a missing value, such as -999, is known by three things together: it is one of those that programs and
questionnaires use, it repeats, and it lies far from all other values of its column. Any of them alone is an ordinary
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from soel.errors import DataError
from soel.tables.arrow import pa, pc
from soel.tables.codes import Code, NumericCode, Scaling
from soel.tables.column import PLAIN, Column, Form, Values, check_finite
from soel.tables.kinds.kind import (
    ColumnKind,
    ColumnSource,
    Found,
    Words,
    example_of,
    has_fractions,
    is_id_name,
    see_numbers,
)
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
N_SPELLINGS = 6  # of yes and no, in small and capital letters
_FLAGS = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("j", "n"), ("oui", "non"),
    ("vrai", "faux"), ("wahr", "falsch"), ("si", "no"), ("sí", "no"), ("sì", "no"), ("✓", "✗"),
)  # fmt: skip
_NINES = (99.0, 999.0, 9999.0, 99999.0, 999999.0)
_POINTED = (999.9, 9999.9)  # of weather stations
_HUGE = (1e20, 1e30, 1e31, 1e34, 1e35, 9.969209968386869e36, 3.4028234663852886e38)  # of grids and of instruments
_NEGATIVE = (9.0, 99.9, 999.25, 32768.0, 2147483648.0)  # the last two: the lowest of whole numbers of their size
CODES = (
    *_NINES, *_POINTED, *_HUGE, *(-code for code in (*_NINES, *_POINTED, *_HUGE, *_NEGATIVE)),
)  # fmt: skip
FEW, ENOUGH, SHARE = 2, 20, 0.002  # cells that a code has at least: 2, and a share of the present ones or 20
N_OTHERS = 20  # cells that have to show where the others lie
FAR = 5.0  # ranges of the other values between them and a code: 99999 as the cap of a gain has 2.6
MOST = 0.9  # of the other values, whose range is enough for a code that alone is below zero
_KNOWN = frozenset(CODES) | frozenset(float(np.float32(code)) for code in CODES)


class Number(ColumnKind):
    """Numbers, read with the signs and units of the pool."""

    name = "number"
    into = "a number"
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


class Flag(Number):
    """1 for yes, 0 for no."""

    name = "flag"
    into = "0 or 1"
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
        words = {code: word for word, code in column.form.words.items()}
        if not words:
            return values
        return np.array([None if np.isnan(value) else words[int(value)] for value in values.tolist()], object)


def _find_flags(words: Words) -> dict[str, int] | None:
    """The words of a flag, if these are: 1 for yes, 0 for no."""
    lower = {text.lower() for text in words.top}
    if not lower or len(lower) > 2:
        return None
    for yes, no in _FLAGS:
        if lower <= {yes, no} and (len(lower) == 2 or len(yes) > 1):
            return {yes: 1, no: 0}
    return None


def find_codes(values: Floats) -> tuple[float, ...]:
    """The codes for missing values among numbers (N,) with NaN, in their order; most columns have none."""
    with np.errstate(invalid="ignore"):
        low, high = (np.fmin.reduce(values), np.fmax.reduce(values)) if len(values) else (np.nan, np.nan)
    if not _KNOWN.intersection((float(low), float(high))):  # what is far from all others is at an end
        return ()
    present = values[~np.isnan(values)]
    counts = {code: int(_are_code(present, code).sum()) for code in CODES}
    codes = [code for code, n in counts.items() if n >= FEW and (n >= ENOUGH or n >= SHARE * len(present))]
    while codes:
        others = present[~are_codes(present, codes)]
        far = [code for code in codes if _is_far(code, others)]
        if len(far) == len(codes):
            break
        codes = far
    return tuple(sorted(codes))


def are_codes(values: Floats, codes: Sequence[float]) -> Values:
    """Which of the numbers (N,) are one of the codes, also as float32 has them."""
    found = np.zeros(len(values), bool)
    for code in codes:
        found |= _are_code(values, code)
    return found


def blank_codes(values: Floats, codes: Sequence[float]) -> Floats:
    """The numbers (N,) with NaN for the codes."""
    return np.where(are_codes(values, codes), np.nan, values) if codes else values


def write_code(code: float) -> str:
    """A code as people write it."""
    return f"{code:.7g}" if abs(code) < 1e15 else f"{code:.2g}"


def doubt_codes(values: Floats, codes: Sequence[float]) -> str:
    """What is said of codes in a column, whose values (N,) still hold them."""
    n_cells = int(are_codes(values, codes).sum())
    written = " / ".join(map(write_code, codes))
    return f"{n_cells:,} cells are {written}, far from all others: taken for missing; <<numeric>> keeps them as values"


def _are_code(values: Floats, code: float) -> Values:
    return np.isin(values, (code, float(np.float32(code))))


def _is_far(code: float, others: Floats) -> bool:
    """Whether a code lies far from all others: by several of their ranges, or as the only sign that is negative.

    Where no other value is below zero, one range is enough, and that of most: a long tail says nothing about the sign.
    A lowest value that dominates, such as 0 in counts, does not make that range small.
    """
    if len(others) < N_OTHERS:
        return False
    low, high = float(others.min()), float(others.max())
    if not low < high:
        return False
    if code < 0 <= low:
        return low - code > float(np.quantile(others[others > low], MOST)) - low
    return max(low - code, code - high) > FAR * (high - low)
