"""Numbers in text: decimal and thousands signs, currencies, percent and a unit, found from all cells, parsed at once.

A form is found by a few cells, tried on all, and mended by those that do not fit; so it depends on which cells there
are, never on their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError
from soel.tables.columns import BOUNDS, Form
from soel.types import Floats

N_SAMPLE, N_TRIES = 200, 6
LONGEST_UNIT = 8  # letters
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
# What is known to be a unit: numbers with several of these in one column are refused, any one throughout is left out.
UNITS = (
    "%", "‰", "°", "°C", "°F", "µg", "mg", "g", "kg", "t", "µm", "mm", "cm", "m", "km", "m²", "m³", "ml", "l", "µs",
    "ms", "s", "sec", "min", "h", "d", "Hz", "kHz", "mV", "kV", "kW", "MW", "kWh", "MWh", "Pa", "hPa", "kPa", "bar",
    "mbar", "kB", "KB", "MB", "GB", "TB", "k", "K", "M", "Tsd", "Mio", "Mrd", "bn", "rpm", "ppm", "km/h", "m/s",
)  # fmt: skip
SCALES = frozenset(("%", "‰", "k", "K", "M", "Tsd", "Mio", "Mrd", "bn"))  # not beside numbers without one
# (decimal, thousands) in the order in which they are preferred where nothing else is known
SIGNS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"))
_SPACES = "\u00a0\u2007\u2009\u202f"
_GENERAL = re.compile(
    r"(?P<open>\()?[-+]?\s*(?P<prefix>[^\W\d_]{1,4}\$?|[$€£¥₹₽₩฿]|[<>]=?|[≤≥~])?\s*[-+]?\s*(?P<body>[\d.,' _]*\d[.,]?)"
    r"(?:[eE][-+]?\d+)?\s*(?P<suffix>[^\d\s()+.,'_-][^\d()+]{0,14}?)?\s*-{0,2}(?(open)\))"
)
_DATE = r"^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:\D|$)"
_DOTTED = r"^\d+(?:[.:]\d+){2,}$"  # addresses, versions: codes, even where some look like numbers
_UNIT = re.compile(r"\d(?:[eE][-+]?\d+)?[.,]?\s*([^\d\s()+.,'_-][^\d()+]*?)[\s)-]*$")
_THREE_DIGITS = r"^-?[1-9]\d{0,2}\.\d{3}$"


@dataclass(frozen=True)
class Numbers:
    """What the text of a column allows.

    signs: (decimal, thousands) that fit all cells.
    units: what stands around the numbers; some_bare: whether some have nothing around them.
    seen: which of '.' and ',' stand in the cells.
    """

    signs: tuple[tuple[str, str], ...]
    units: tuple[str, ...]
    some_bare: bool = False
    seen: str = ""

    @property
    def decimal(self) -> str | None:
        """The decimal sign that the column tells of the whole file; None where it could be either."""
        decimals = {decimal for decimal, _ in self.signs}
        return decimals.pop() if self.seen and len(decimals) == 1 else None

    @property
    def doubt(self) -> str:
        """What is doubtful about the units, in words."""
        bounds = [unit for unit in self.units if unit in BOUNDS]
        money = sorted(unit for unit in self.units if unit in CURRENCIES)
        others = sorted({*self.units} - {*bounds, *money})
        if bounds:
            return f"a number after {bounds[0]!r} is taken as it is written"
        if len(money) > 1:
            return f"amounts in {' and '.join(money)} are compared as they are"
        return f"{others[0]!r} stands beside some of the numbers only" if others and self.some_bare else ""


def tidy(texts: Any) -> Any:
    """Arrow strings without blanks around them, with one kind of minus, of apostrophe and of space."""
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        texts = pc.replace_substring_regex(texts, "[−﹣－]", "-")  # noqa: RUF001
        texts = pc.replace_substring_regex(texts, f"[{_SPACES}]", " ")
        texts = pc.replace_substring_regex(texts, "[’´`]", "'")  # noqa: RUF001
    return texts


def blank_missing(texts: Any) -> Any:
    """Tidy Arrow strings with null for every word that says 'no value'."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.array(MISSING, pa.string())
    return pc.if_else(pc.is_in(pc.utf8_lower(texts), words), pa.scalar(None, pa.string()), texts)


def as_floats(texts: Any) -> Floats | None:
    """Arrow strings as float64 with NaN for null; None where one of them is no plain number."""
    import pyarrow as pa

    try:
        texts.slice(0, N_SAMPLE).cast(pa.float64())  # a refusal takes long on many cells
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    if not values.null_count:
        return np.array(np.from_dlpack(values))  # Arrow's own way to an array would load pandas
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)


def find_numbers(texts: Any) -> Numbers | None:
    """What tidy Arrow strings without missing words allow; None where they are not numbers throughout."""
    sample = set(texts.slice(0, N_SAMPLE).drop_null().to_pylist())
    for _ in range(N_TRIES):
        found = _find_allowed(sample)
        if found is None:
            return None
        misfits = _misfits(texts, found)
        if not misfits:
            seen = "".join(sign for sign in ".," if _any(texts, re.escape(sign)))
            some_bare = bool(found.units) and _any(texts, r"^[-+(]?[\d.,' _]+(?:[eE][-+]?\d+)?[-)]?$")
            if some_bare and not SCALES.isdisjoint(found.units):
                return None
            return replace(found, seen=seen, some_bare=some_bare)
        sample.update(misfits)
    return None


def parse_numbers(texts: Any, form: Form) -> Floats | None:
    """Tidy Arrow strings without missing words as float64, NaN for null; None where one does not fit the form."""
    import pyarrow.compute as pc

    plain = as_floats(texts) if form.is_plain else None
    if plain is not None:
        return plain
    fits = _fits(texts, ((form.decimal, form.thousands),), form.units)
    if not pc.all(fits, min_count=0).as_py():
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
    if values is None:
        return None
    return np.asarray(np.where(as_mask(negative), -values, values))


def misfit(texts: Any, form: Form) -> int | None:
    """The row of the first tidy text that does not fit the form."""
    import pyarrow.compute as pc

    row = pc.index(_fits(texts, ((form.decimal, form.thousands),), form.units), False).as_py()
    return None if row < 0 else int(row)


def choose_form(found: Numbers, decimal: str | None, separator: str = "") -> tuple[Form, str]:
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
    import pyarrow.compute as pc

    pointed = pc.match_substring(texts, ".")
    return bool(pc.any(pc.and_not(pointed, pc.match_substring_regex(texts, _THREE_DIGITS))).as_py())


def check_not_mostly_numbers(name: str, texts: Any, asked: str | None) -> None:
    """Refuse words among numbers or dates: nobody wants a category for each number."""
    import pyarrow.compute as pc

    if asked != "numeric" and pc.all(pc.match_substring_regex(texts, _DOTTED)).as_py():
        return
    present = len(texts) - texts.null_count
    numbers = [_fits_common(texts, signs) for signs in SIGNS]
    if np.any(numbers, axis=0)[as_mask(texts.is_valid())].sum() > MOST * present:
        raise _mostly(name, "mostly numbers", texts, _find_others(texts, numbers))
    dates = as_mask(pc.match_substring_regex(texts, _DATE))
    if dates.sum() == present:
        first, odd = _odd_pair(texts)
        raise DataError(
            f"Column {name!r} holds dates that do not go together, such as {first!r} and {odd!r}. "
            "Write them in one form, or make the column categorical."
        )
    if dates.sum() > MOST * present:
        raise _mostly(name, "mostly dates", texts, ~dates & as_mask(texts.is_valid()))
    if asked == "numeric":
        others = _find_others(texts, numbers)
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


def _find_others(texts: Any, numbers: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Which cells (N,) do not go together with most: no numbers, numbers with other signs, or with other units."""
    others: NDArray[np.bool_] = ~max(numbers, key=np.count_nonzero)
    if others.any():
        return others
    units = [found[1] if text and (found := _UNIT.search(text)) else "" for text in texts.to_pylist()]
    common = max(units, key=lambda unit: (bool(unit), units.count(unit)))
    odd = np.array([bool(unit) and unit != common for unit in units], bool)
    return odd if odd.any() else np.array([not unit for unit in units]) & as_mask(texts.is_valid())


def _odd_pair(texts: Any) -> tuple[str, str]:
    """The first cell, and one whose digits are grouped differently, where there is one."""
    cells = texts.drop_null().unique().to_pylist()
    shapes = [re.sub(r"\d+", lambda found: str(len(found[0])), cell) for cell in cells]
    return cells[0], next((c for c, shape in zip(cells, shapes, strict=True) if shape != shapes[0]), cells[-1])


def _role(sign: str, signs: tuple[str, str]) -> str:
    return "decimal" if sign == signs[0] else "thousands" if sign == signs[1] else ""


def _find_allowed(sample: Iterable[str]) -> Numbers | None:
    signs: Sequence[tuple[str, str]] = SIGNS
    around: set[tuple[str, str]] = set()
    for text in sample:
        match = _GENERAL.fullmatch(text)
        if match is None:
            return None
        body = match["body"].strip()
        signs = [each for each in signs if _BODIES[each].fullmatch(body)]
        around.add((match["prefix"] or "", (match["suffix"] or "").strip()))
    units = _find_units(around)
    return None if not signs or units is None else Numbers(tuple(signs), units)


def _find_units(around: Iterable[tuple[str, str]]) -> tuple[str, ...] | None:
    """What stands before and after the numbers of a column; None where that is no unit: 'A 12' and '12 b' are codes.

    Currencies and bounds may be mixed, a unit of measurement is one throughout.
    """
    pairs = set(around)
    before, after = {before for before, _ in pairs} - {""}, {after for _, after in pairs} - {""}
    others = after - set(CURRENCIES)
    is_unit = before <= {*CURRENCIES, *BOUNDS} and len(others) <= 1 and all(len(u) <= LONGEST_UNIT for u in others)
    return tuple(sorted(before | after)) if is_unit else None


def _misfits(texts: Any, found: Numbers) -> list[str]:
    """Some cells that the first of the allowed forms, or all of them together, cannot explain."""
    import pyarrow.compute as pc

    fits = _fits(texts, found.signs[:1], found.units)
    if pc.all(fits).as_py() in (True, None):
        others = [~as_mask(_fits(texts, (signs,), found.units), True) for signs in found.signs[1:]]
        return [texts[int(np.argmax(other))].as_py() for other in others if other.any()]
    return list(texts.filter(pc.invert(fits)).slice(0, N_SAMPLE).to_pylist())


def _fits_common(texts: Any, signs: tuple[str, str]) -> NDArray[np.bool_]:
    """Which of the tidy texts (N,) are numbers with these signs and any unit that is known; missing ones are."""
    return as_mask(_fits(texts, (signs,), (*CURRENCIES, *BOUNDS, *UNITS)), True)


def _fits(texts: Any, signs: Sequence[tuple[str, str]], units: Iterable[str]) -> Any:
    import pyarrow.compute as pc

    before, after = _either(unit for unit in units if unit in (*CURRENCIES, *BOUNDS)), _either(units)
    pattern = rf"[-+]?\s*{before}\s*[-+]?\s*{_bodies(signs)}\s*{after}\s*-{{0,2}}"
    return pc.match_substring_regex(texts, rf"^(?:{pattern}|\({pattern}\))$")


def _bodies(signs: Sequence[tuple[str, str]]) -> str:
    return rf"(?:{'|'.join(_body(*each) for each in signs)})(?:[eE][-+]?\d+)?"


def _either(units: Iterable[str]) -> str:
    longest_first = sorted(units, key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, longest_first))})?" if longest_first else ""


def _body(decimal: str, thousands: str) -> str:
    """The digits of a number: groups of three from the right; between commas, two and then three as in India."""
    point = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        sign, group = re.escape(thousands), r"\d{2,3}" if thousands == "," else r"\d{3}"
        whole = rf"(?:[1-9]\d{{0,2}}(?:{sign}{group})*{sign}\d{{3}}|\d+)"
    return rf"(?:{whole}(?:{point}\d*)?|{point}\d+)"


_BODIES = {signs: re.compile(_body(*signs)) for signs in SIGNS}


def is_all(texts: Any, pattern: str) -> bool:
    """Whether all texts that are not null match; true of none."""
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def _any(texts: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def as_mask(flags: Any, missing: bool = False) -> NDArray[np.bool_]:
    """Arrow's booleans as an array (N,)."""
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(flags, missing).to_numpy(zero_copy_only=False), bool)
