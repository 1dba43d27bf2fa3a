"""Numbers in text: decimal and thousands signs, currencies, percent, bounds, a unit; found from all, parsed at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.arrow import pa, pc
from soel.tables.column import BOUNDS, Form
from soel.types import Floats

N_HEAD = 200  # cells that are tried before all are
MOST = 0.5  # of the cells
MISSING = (
    "", "-", "--", "---", ".", "..", "...", "?", "*", "/", "n/a", "na", "n.a.", "n.a", "n. a.", "#n/a", "#na",
    "#n/a n/a", "nan", "-nan", "null", "nil", "none", "missing", "unknown", "not available", "no data", "nd",
    "n.d.", "k.a.", "k. a.", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!", "(null)", "<na>", "nat",
    "tbd", "\u2013", "\u2014", "<lod", "<loq", "< lod", "< loq", "bdl", "n.n.",
)  # fmt: skip
CURRENCIES = (
    "$", "€", "£", "¥", "₹", "₽", "₩", "฿", "US$", "USD", "EUR", "Euro", "euro", "GBP", "CHF", "JPY", "CNY", "RMB",
    "INR", "SEK", "NOK", "DKK", "kr", "zł", "PLN", "CZK", "Kč", "HUF", "Ft", "R$", "BRL", "CAD", "AUD", "A$", "C$",
    "NZD", "SGD", "HKD", "KRW", "TRY", "RUB", "Rs", "MXN", "ZAR",
)  # fmt: skip
MARKS = (*CURRENCIES, *BOUNDS, "%")  # what may stand around a number
# (decimal, thousands) in the order in which they are preferred where nothing else is known
SIGNS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"))
_SPACES = "\u00a0\u2007\u2009\u202f"
_DATE = r"^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:\D|$)"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_ADDRESS = rf"^{_BYTE}(?:\.{_BYTE}){{3}}$"
_DOTTED = r"^\d+(?:[.:]\d+){2,}$"  # addresses, versions: codes, even where some look like numbers
_WITH_UNIT = r"^[-+]?[\d.,' ]*\d(?:[eE][-+]?\d+)?\s*(?P<unit>[^\d\s()+.,:'_-][^\d()+:]{0,7})$"
_THREE_DIGITS = r"^-?[1-9]\d{0,2}\.\d{3}$"


@dataclass(frozen=True)
class NumberSigns:
    """What the text of a column allows.

    signs: (decimal, thousands) that fit all cells.
    units: what stands around the numbers.
    seen: which of '.' and ',' stand in the cells.
    """

    signs: tuple[tuple[str, str], ...]
    units: tuple[str, ...]
    seen: str = ""

    @property
    def decimal(self) -> str | None:
        """The decimal sign that the column tells of the whole file; None where it could be either."""
        decimals = {decimal for decimal, _ in self.signs}
        return decimals.pop() if self.seen and len(decimals) == 1 else None

    @property
    def doubt(self) -> str:
        """What is doubtful about what stands around the numbers, in words."""
        bounds = [unit for unit in self.units if unit in BOUNDS]
        money = [unit for unit in self.units if unit in CURRENCIES]
        if bounds:
            return f"a number after {bounds[0]!r} is taken as it is written"
        return f"amounts in {' and '.join(money)} are compared as they are" if len(money) > 1 else ""


def tidy(texts: Any) -> Any:
    """Arrow strings without blanks around them, with one kind of minus, of apostrophe and of space."""
    texts = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        texts = pc.replace_substring_regex(texts, "[−﹣－]", "-")  # noqa: RUF001
        texts = pc.replace_substring_regex(texts, f"[{_SPACES}]", " ")
        texts = pc.replace_substring_regex(texts, "[’´`]", "'")  # noqa: RUF001
    return texts


def blank_missing(texts: Any) -> Any:
    """Tidy Arrow strings with null for every word that says 'no value'."""
    words = pa.array(MISSING, pa.string())
    return pc.if_else(pc.is_in(pc.utf8_lower(texts), words), pa.scalar(None, pa.string()), texts)


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
    if is_all(head, _ADDRESS) and are_addresses(texts):
        return None
    unit = _unit_of(head)
    marks = (*MARKS, unit) if unit else MARKS
    signs = [each for each in SIGNS if is_all(head, _number(each, marks))]
    signs = [each for each in signs if is_all(texts, _number(each, marks))]
    units = _find_marks(texts, marks) if signs else ()
    everywhere = [each for each in units if each in (unit, "%")]
    if not signs or not all(is_all(texts, f"{re.escape(each)}[) -]*$") for each in everywhere):
        return None
    return NumberSigns(tuple(signs), units, "".join(sign for sign in ".," if _any(texts, re.escape(sign))))


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


def misfit(texts: Any, form: Form) -> int | None:
    """The row of the first tidy text that does not fit the form."""
    row = pc.index(pc.match_substring_regex(texts, _number_of(form)), False).as_py()
    return None if row < 0 else int(row)


def choose_form(found: NumberSigns, decimal: str | None, separator: str = "") -> tuple[Form, str]:
    """The form for a column, and the doubt that remains. decimal: the file's sign, where other columns tell it."""
    wanted = decimal or ("," if separator == ";" else ".")
    signs = next((signs for signs in found.signs if signs[0] == wanted), found.signs[0])
    form = Form(*signs, units=found.units)
    is_settled = found.doubt or decimal or separator == "," or signs == (".", "")
    unclear = [sign for sign in found.seen if len({_role(sign, each) for each in found.signs}) > 1]
    if is_settled or not unclear:
        return form, found.doubt
    return form, doubt_sign(unclear[0], _role(unclear[0], signs))


def doubt_sign(sign: str, role: str) -> str:
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


def are_addresses(texts: Any) -> bool:
    """Whether all tidy texts are IPv4 addresses, some of which would also be numbers of billions."""
    return is_all(texts, _ADDRESS)


def is_all(texts: Any, pattern: str) -> bool:
    """Whether all texts that are not null match; true of none."""
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def as_mask(flags: Any, missing: bool = False) -> NDArray[np.bool_]:
    """Arrow's booleans as an array (N,)."""
    return np.asarray(pc.fill_null(flags, missing).to_numpy(zero_copy_only=False), bool)


def _any(texts: Any, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


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


def _unit_of(texts: Any) -> str:
    """The one unit that stands behind all numbers; empty where there is none, or are several."""
    units = pc.struct_field(pc.extract_regex(texts, _WITH_UNIT), "unit").unique().to_pylist()
    return "" if len(units) != 1 or units[0] in (None, *MARKS) else units[0]


def _find_marks(texts: Any, marks: Sequence[str]) -> tuple[str, ...]:
    """What stands before and behind the numbers of a column."""
    mark = _either(marks)
    parts = pc.extract_regex(texts, rf"^\(?[-+]?\s*(?P<a>{mark}).*?(?P<b>{mark})\)?\s*-{{0,2}}\)?$")
    found = {text for part in "ab" for text in pc.struct_field(parts, part).unique().to_pylist()}
    return tuple(sorted(found - {"", None}))


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
