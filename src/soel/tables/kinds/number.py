"""Numbers, as computers or as people write them: decimal and thousands signs, currencies, percent, bounds, a unit.

The text of a column is looked at once for all that it allows, and parsed at once. Flags of two words are numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.arrow import as_mask, is_all, is_any, pa, pc, tidy
from soel.tables.codes import Code, NumericCode
from soel.tables.column import BOUNDS, PLAIN, Column, Form, Values, check_finite
from soel.tables.kinds.kind import (
    ColumnKind,
    ColumnSource,
    Found,
    NumberSigns,
    Words,
    example_of,
    has_fractions,
    is_id_name,
    see_numbers,
)
from soel.tables.missing import are_codes, blank_codes, blank_missing, find_codes, write_code
from soel.tables.raw_table import RawColumn
from soel.types import Floats

FEW_ROWS = 20
N_HEAD = 200  # cells that are tried before all are
MOST = 0.5  # of the cells
N_SPELLINGS = 6  # of yes and no, in small and capital letters
_FLAGS = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"), ("ja", "nein"), ("j", "n"), ("oui", "non"),
    ("vrai", "faux"), ("wahr", "falsch"), ("si", "no"), ("sí", "no"), ("sì", "no"), ("✓", "✗"),
)  # fmt: skip
CURRENCIES = (
    "$", "€", "£", "¥", "₹", "₽", "₩", "฿", "US$", "USD", "EUR", "Euro", "euro", "GBP", "CHF", "JPY", "CNY", "RMB",
    "INR", "SEK", "NOK", "DKK", "kr", "zł", "PLN", "CZK", "Kč", "HUF", "Ft", "R$", "BRL", "CAD", "AUD", "A$", "C$",
    "NZD", "SGD", "HKD", "KRW", "TRY", "RUB", "Rs", "MXN", "ZAR",
)  # fmt: skip
MARKS = (*CURRENCIES, *BOUNDS, "%")  # what may stand around a number
# (decimal, thousands) in the order in which they are preferred where nothing else is known
SIGNS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"))
_DATE = r"^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:\D|$)"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
ADDRESS = rf"^{_BYTE}(?:\.{_BYTE}){{3}}$"
_DOTTED = r"^\d+(?:[.:]\d+){2,}$"  # addresses, versions: codes, even where some look like numbers
_WITH_UNIT = r"^[-+]?[\d.,' ]*\d(?:[eE][-+]?\d+)?\s*(?P<unit>[^\d\s()+.,:'_-][^\d()+:]{0,7})$"
_THREE_DIGITS = r"^-?[1-9]\d{0,2}\.\d{3}$"


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
        if cells.is_text:
            values = self.parse_texts(column, cells.values)
        elif cells.type not in ("time", "clock"):
            values = np.asarray(cells.values)
        elif cells.is_empty:
            values = np.full(len(cells), np.nan)
        else:
            raise self.differs(column, f"dates or times such as {example_of(cells)}")
        return check_finite(column.name, blank_codes(values, column.form.missing))

    def parse_texts(self, column: Column, texts: Any) -> Floats:
        plain = as_floats(texts) if column.form.is_plain else None
        if plain is not None:  # nothing to tidy, which would load pandas for a few rows
            return plain
        texts = blank_missing(tidy(texts))
        values = parse_numbers(texts, column.form)
        if values is not None:
            return values
        raise self.first_misfit(column, texts, pc.invert(pc.match_substring_regex(texts, _number_of(column.form))))

    def first_misfit(self, column: Column, texts: Any, misfits: Any) -> DataError:
        """What to raise for text that cannot be read. misfits: which cells (N,), null for missing ones."""
        row = max(0, pc.index(misfits, True).as_py())
        return self.differs(column, f"text such as {texts[row].as_py()!r} in row {row}")

    def is_as_stored(self, column: Column) -> bool:
        return self.name == Number.name and column.form.is_plain and not column.form.missing

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        return NumericCode.fit(column.name, values, scaling)

    def asked_in_vain(self, source: ColumnSource) -> DataError:
        """Every column that is not of numbers has said so before."""
        return DataError(f"Column {source.name!r} is asked for as numbers, and holds none. Read it otherwise.")


def has_leading_zeros(source: ColumnSource) -> bool:
    """Whether plain whole numbers in text have leading zeros, as codes do."""
    if source.texts is None or source.plain is None or has_fractions(source.plain):
        return False
    return is_any(source.texts, r"^0\d")


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
    doubt = "" if is_settled else _doubt_sign(".", "thousands")
    return None if values is None else _coded(source, values, form, doubt, source.texts)


def _coded(source: ColumnSource, values: Floats, form: Form, doubt: str, texts: Any = None) -> Found:
    """Numbers less the codes for missing values among them, which is said; what else is doubtful is odd.

    A doubt that offers another option stays one, so that the option is asked for.
    """
    codes = () if source.asked == "numeric" else find_codes(values)
    if not codes:
        return Found(see_numbers(values, texts), form, doubt, values)
    n_cells, written = int(are_codes(values, codes).sum()), " / ".join(map(write_code, codes))
    said = f"{n_cells:,} cells are {written}, far from all others: taken for missing; <<numeric>> keeps them as values"
    kept, (first, second) = blank_codes(values, codes), (doubt, said) if "<<" in doubt else (said, doubt)
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
            raise self.first_misfit(column, texts, strange)
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


def as_floats(texts: Any) -> Floats | None:
    """Arrow strings as float64 with NaN for null; None where one of them is no plain number."""
    try:
        texts.slice(0, N_HEAD).cast(pa.float64())  # a refusal takes long on many cells
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    if not values.null_count:
        return np.array(np.from_dlpack(values))  # Arrow's own way to an array would load pandas
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)


def find_numbers(texts: Any) -> NumberSigns | None:
    """What tidy Arrow strings without missing words allow; None where they are not numbers throughout."""
    head = texts.drop_null().slice(0, N_HEAD)
    if is_all(head, ADDRESS) and is_all(texts, ADDRESS):  # some would also be numbers of billions
        return None
    behind = pc.struct_field(pc.extract_regex(head, _WITH_UNIT), "unit").unique().to_pylist()
    unit = "" if len(behind) != 1 or behind[0] in (None, *MARKS) else behind[0]  # the one of all numbers
    marks = (*MARKS, unit) if unit else MARKS
    signs = [each for each in SIGNS if is_all(head, _number(each, marks))]
    signs = [each for each in signs if is_all(texts, _number(each, marks))]
    if not signs:
        return None
    mark = _either(marks)
    around = pc.extract_regex(texts, rf"^\(?[-+]?\s*(?P<a>{mark}).*?(?P<b>{mark})\)?\s*-{{0,2}}\)?$")
    units = {text for part in "ab" for text in pc.struct_field(around, part).unique().to_pylist()} - {"", None}
    if not all(is_all(texts, f"{re.escape(each)}[) -]*$") for each in units & {unit, "%"}):
        return None
    seen = "".join(sign for sign in ".," if is_any(texts, re.escape(sign)))
    return NumberSigns(tuple(signs), tuple(sorted(units)), seen)


def parse_numbers(texts: Any, form: Form) -> Floats | None:
    """Tidy Arrow strings without missing words as float64, NaN for null; None where one does not fit the form."""
    plain = as_floats(texts) if form.is_plain else None
    if plain is not None:
        return plain
    if not is_all(texts, _number_of(form)):
        return None
    negative = pc.match_substring_regex(texts, r"^[^\d]*-|^\(|[^.,-]-$")  # '5,-' is a price
    letters = "".join(sorted({letter for unit in form.units for letter in unit}))
    bare = pc.utf8_rtrim(texts, characters=f"{letters} )-")
    bare = pc.utf8_ltrim(bare, characters=letters.replace(".", "") + " (+-")
    for sign in form.thousands:
        bare = pc.replace_substring(bare, sign, "")
    if form.decimal != ".":
        bare = pc.replace_substring(bare, form.decimal, ".")
    values = as_floats(bare)
    return None if values is None else np.asarray(np.where(as_mask(negative), -values, values))


def _doubt_units(units: Sequence[str]) -> str:
    """What is doubtful about what stands around the numbers."""
    bounds, money = ([unit for unit in units if unit in each] for each in (BOUNDS, CURRENCIES))
    if bounds:
        return f"a number after {bounds[0]!r} is taken as it is written"
    return f"amounts in {' and '.join(money)} are compared as they are" if len(money) > 1 else ""


def choose_form(found: NumberSigns, decimal: str | None, separator: str = "") -> tuple[Form, str]:
    """The form for a column, and the doubt that remains. decimal: the file's sign, where other columns tell it."""
    wanted = decimal or ("," if separator == ";" else ".")
    signs = next((signs for signs in found.signs if signs[0] == wanted), found.signs[0])
    doubt = _doubt_units(found.units)
    unclear = [sign for sign in found.seen if len({_role(sign, each) for each in found.signs}) > 1]
    if unclear and not (doubt or decimal or separator == "," or signs == (".", "")):
        doubt = _doubt_sign(unclear[0], _role(unclear[0], signs))
    return Form(*signs, units=found.units), doubt


def _doubt_sign(sign: str, role: str) -> str:
    """What is said of a sign that is read in one role and could have the other."""
    other = "a thousands separator" if role == "decimal" else "a decimal sign"
    return f"{sign!r} could also be {other}; <<decimal>> says which sign is the decimal one"


def tells_point(texts: Any) -> bool:
    """Whether a column of plain numbers has a point that cannot separate thousands."""
    pointed = pc.match_substring(texts, ".")
    return bool(pc.any(pc.and_not(pointed, pc.match_substring_regex(texts, _THREE_DIGITS))).as_py())


def check_not_mostly_numbers(name: str, texts: Any, asked: str | None) -> None:
    """Refuse words among numbers or dates, and numbers with a unit: a category for each number is never meant."""
    if asked != "numeric" and is_all(texts, _DOTTED):
        return
    present = as_mask(texts.is_valid())
    numbers = [as_mask(pc.match_substring_regex(texts, _number(each, MARKS))) & present for each in SIGNS]
    others = present & ~max(numbers, key=np.count_nonzero)
    if np.any(numbers, axis=0).sum() > MOST * present.sum():
        if not others.any():  # percentages among numbers without a sign
            others = present & ~as_mask(pc.match_substring(texts, "%"))
        raise _mostly(name, "mostly numbers", texts, others)
    dates = as_mask(pc.match_substring_regex(texts, _DATE)) & present
    if dates.sum() == present.sum():
        first, odd = _odd_pair(texts)
        raise DataError(
            f"Column {name!r} holds dates that do not go together, such as {first!r} and {odd!r}. "
            "Write them in one form, or make the column categorical."
        )
    if dates.sum() > MOST * present.sum():
        raise _mostly(name, "mostly dates", texts, present & ~dates)
    if asked == "numeric":
        raise DataError(
            f"Column {name!r} is asked for as numbers, but {_cells_are_not(int(others.sum()))}, such as "
            f"{texts[int(others.argmax())].as_py()!r}. Correct them, or read the column otherwise."
        )


def _mostly(name: str, what: str, texts: Any, others: NDArray[np.bool_]) -> DataError:
    row = int(others.argmax())
    return DataError(
        f"Column {name!r} is {what}, but {_cells_are_not(int(others.sum()))}, such as {texts[row].as_py()!r} in "
        f"row {row}. Correct them, leave them empty where the value is missing, or make the column categorical."
    )


def _cells_are_not(n: int) -> str:
    return "1 cell is not" if n == 1 else f"{n:,} cells are not"


def _odd_pair(texts: Any) -> tuple[str, str]:
    """The first cell, and one whose digits are grouped differently, where there is one."""
    cells = texts.drop_null().unique().to_pylist()
    shapes = [re.sub(r"\d+", lambda found: str(len(found[0])), cell) for cell in cells]
    return cells[0], next((c for c, shape in zip(cells, shapes, strict=True) if shape != shapes[0]), cells[-1])


def _role(sign: str, signs: tuple[str, str]) -> str:
    return "decimal" if sign == signs[0] else "thousands" if sign == signs[1] else ""


def _number_of(form: Form) -> str:
    return _number((form.decimal, form.thousands), form.units)


def _number(signs: tuple[str, str], marks: Iterable[str]) -> str:
    """The pattern of a number with these signs and one of the marks before or behind; in brackets it is negative."""
    before, after = _either(mark for mark in marks if mark in (*CURRENCIES, *BOUNDS)), _either(marks)
    body = rf"(?:{_body(*signs)})(?:[eE][-+]?\d+)?"
    pattern = rf"[-+]?\s*{before}\s*[-+]?\s*{body}\s*{after}\s*-{{0,2}}"
    return rf"^(?:{pattern}|\({pattern}\))$"


def _either(marks: Iterable[str]) -> str:
    longest_first: Sequence[str] = sorted(marks, key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, longest_first))})?" if longest_first else ""


def _body(decimal: str, thousands: str) -> str:
    """The digits of a number: groups of three from the right; between commas, two and then three as in India."""
    point = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        sign, group = re.escape(thousands), r"\d{2,3}" if thousands == "," else r"\d{3}"
        whole = rf"(?:[1-9]\d{{0,2}}(?:{sign}{group})*{sign}\d{{3}}|\d+)"
    return rf"(?:{whole}(?:{point}\d*)?|{point}\d+)"
