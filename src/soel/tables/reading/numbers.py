"""Numbers in text: signs, thousands, currencies, percent and units, found from all cells and parsed at once.

A form is found by a few cells, tried on all, and mended by those that do not fit; so it depends on which cells there
are, never on their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.tables.reading.kinds import Form
from soel.tables.reading.units import BOUNDS, CURRENCIES, UNITS, doubt_units, find_units
from soel.types import Floats

N_SAMPLE, N_TRIES = 200, 6
TOLERANCE = "what follows '±' is left out"
MISSING = (
    "", "-", "--", "---", ".", "..", "...", "?", "*", "/", "n/a", "na", "n.a.", "n.a", "n. a.", "#n/a", "#na",
    "#n/a n/a", "nan", "-nan", "null", "nil", "none", "missing", "unknown", "not available", "no data", "nd",
    "n.d.", "k.a.", "k. a.", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!", "(null)", "<na>", "nat",
    "tbd", "\u2013", "\u2014", "<lod", "<loq", "< lod", "< loq", "bdl", "n.n.",
)  # fmt: skip
# (decimal, thousands) in the order in which they are preferred where nothing else is known
SIGNS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", "_"))
_SPACES = "\u00a0\u2007\u2009\u202f"
_GENERAL = re.compile(
    r"(?P<open>\()?[-+]?\s*(?P<prefix>[^\W\d_]{1,4}\$?|[$€£¥₹₽₩฿]|[<>]=?|[≤≥~])?\s*[-+]?\s*(?P<body>[\d.,' _]*\d[.,]?)"
    r"(?:[eE][-+]?\d+)?\s*(?P<suffix>[^\d\s()+.,'_-][^\d()+]{0,14}?)?\s*-{0,2}(?(open)\))"
)


@dataclass(frozen=True)
class Numbers:
    """What the text of a column allows. signs: (decimal, thousands) that fit all cells. seen: which of '.' and ','
    stand in the cells.
    """

    signs: tuple[tuple[str, str], ...]
    units: Mapping[str, float]
    doubt: str = ""
    seen: str = ""

    @property
    def decimal(self) -> str | None:
        """The decimal sign that the column tells of the whole file; None where it could be either."""
        decimals = {decimal for decimal, _ in self.signs}
        return decimals.pop() if self.seen and len(decimals) == 1 else None


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


def find_numbers(texts: Any) -> Numbers | None:
    """What tidy Arrow strings without missing words allow; None where they are not numbers throughout."""
    sample, has_tolerance = set(texts.slice(0, N_SAMPLE).drop_null().to_pylist()), False
    for _ in range(N_TRIES):
        if any("±" in text for text in sample):
            texts, has_tolerance = _drop_tolerance(texts), True
            sample = set(texts.slice(0, N_SAMPLE).drop_null().to_pylist())
        found = _find_allowed(sample)
        if found is None:
            return None
        misfits = _misfits(texts, found)
        if not misfits:
            seen = "".join(sign for sign in ".," if _has(texts, sign))
            bare = _are_bare(texts) if found.units else np.zeros(len(texts), bool)
            found = _with_shares(texts, found, bare)
            doubt = TOLERANCE if has_tolerance else doubt_units(found.units, bool(bare.any()))
            return replace(found, seen=seen, doubt=doubt)
        sample.update(misfits)
    return None


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


def parse_numbers(texts: Any, form: Form) -> Floats | None:
    """Tidy Arrow strings without missing words as float64, NaN for null; None where one does not fit the form."""
    import pyarrow.compute as pc

    plain = as_floats(texts) if form.is_plain else None
    if plain is not None:
        return plain
    signs = ((form.decimal, form.thousands),)
    if not _all_fit(texts, signs, form.units):
        texts = _drop_tolerance(texts)
        if not _all_fit(texts, signs, form.units):
            return None
    negative = pc.match_substring_regex(texts, r"^[^\d]*-|^\(|[^.,-]-$")  # '5,-' is a price
    factor = _factors(texts, form.units)
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
    turned = np.asarray(pc.fill_null(negative, False).to_numpy(zero_copy_only=False), bool)
    return np.asarray(np.where(turned, -values, values) * factor)


def misfit(texts: Any, form: Form) -> int | None:
    """The row of the first tidy text that does not fit the form."""
    import pyarrow.compute as pc

    fits = _fits(_drop_tolerance(texts), ((form.decimal, form.thousands),), form.units)
    row = pc.index(fits, False).as_py()
    return None if row < 0 else int(row)


def share_of_numbers(texts: Any) -> float:
    """How many of the texts are numbers in any form, as a share of those that are not null."""
    import pyarrow.compute as pc

    n_texts = int(len(texts) - texts.null_count)
    n_numbers = int(pc.sum(_fits(texts, SIGNS, dict.fromkeys(UNITS, 1.0))).as_py() or 0)
    return float(n_numbers / max(n_texts, 1))


def fit_common_signs(texts: Any) -> NDArray[np.bool_]:
    """Which of the tidy texts (N,) are numbers with those signs that most of them have, whatever the unit."""
    bare, units = _drop_tolerance(texts), dict.fromkeys(UNITS, 1.0)
    fits = [_as_mask(_fits(bare, (signs,), units)) for signs in SIGNS]
    return max(fits, key=np.count_nonzero)


def choose_form(found: Numbers, decimal: str | None, separator: str = "") -> tuple[Form, str]:
    """The form for a column, and the doubt that remains. decimal: the file's sign, where other columns tell it."""
    wanted = decimal or ("," if separator == ";" else ".")
    signs = next((signs for signs in found.signs if signs[0] == wanted), found.signs[0])
    form = Form(*signs, units=found.units)
    is_settled = found.doubt or decimal or separator == "," or signs == (".", "")
    unclear = [sign for sign in found.seen if len({_role(sign, each) for each in found.signs}) > 1]
    if is_settled or not unclear:
        return form, found.doubt
    other = "a thousands separator" if _role(unclear[0], signs) == "decimal" else "a decimal sign"
    return form, f"{unclear[0]!r} could also be {other}; --decimal says which sign is the decimal one"


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
    units = find_units(around)
    if not signs or units is None:
        return None
    return Numbers(tuple(signs), units)


def _misfits(texts: Any, found: Numbers) -> list[str]:
    """Some cells that the first of the allowed forms, or all of them together, cannot explain."""
    import pyarrow.compute as pc

    fits = _fits(texts, found.signs[:1], found.units)
    if pc.all(fits).as_py() in (True, None):
        if len(found.signs) == 1:
            return []
        others = [~_as_mask(_fits(texts, (signs,), found.units)) for signs in found.signs[1:]]
        rows = [int(np.argmax(other)) for other in others if other.any()]
        return [texts[row].as_py() for row in rows]
    wrong = texts.filter(pc.invert(fits))
    return list(wrong.slice(0, N_SAMPLE).to_pylist())


def _has(texts: Any, sign: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring(texts, sign)).as_py())


def _are_bare(texts: Any) -> NDArray[np.bool_]:
    """Which numbers (N,) have no unit."""
    import pyarrow.compute as pc

    bare = pc.match_substring_regex(texts, r"^[-+(]?[\d.,' _]+(?:[eE][-+]?\d+)?[-)]?$")
    return np.asarray(pc.fill_null(bare, False).to_numpy(zero_copy_only=False), bool)


def _with_shares(texts: Any, found: Numbers, bare: NDArray[np.bool_]) -> Numbers:
    """The same with a percent sign for a hundredth, where the numbers without one are plainly shares of 1."""
    if [*found.units] != ["%"] or not bare.any() or bare.all():
        return found
    values = parse_numbers(texts, Form(*found.signs[0], units=found.units))
    assert values is not None
    plain, signed = np.abs(values[bare]), np.abs(values[~bare & ~np.isnan(values)])
    are_shares = plain.max() <= 1 and 10 * np.median(plain) < np.median(signed)
    return replace(found, units={"%": 0.01}) if are_shares else found


def _drop_tolerance(texts: Any) -> Any:
    """Tidy Arrow strings less what follows '±'."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(texts, r"^([^±]*\d)\s*±\s*[\d.,]+", r"\1")


def _as_mask(fits: Any) -> np.ndarray:
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(fits, True).to_numpy(zero_copy_only=False), bool)


def _all_fit(texts: Any, signs: Sequence[tuple[str, str]], units: Mapping[str, float]) -> bool:
    """Whether all texts that there are fit; where all are missing, none does not."""
    import pyarrow.compute as pc

    return bool(pc.all(_fits(texts, signs, units), min_count=0).as_py())


def _fits(texts: Any, signs: Sequence[tuple[str, str]], units: Mapping[str, float]) -> Any:
    import pyarrow.compute as pc

    bodies = "|".join(_body(*each) for each in signs)
    before, after = _either(unit for unit in units if unit in (*CURRENCIES, *BOUNDS)), _either(units)
    pattern = rf"[-+]?\s*{before}\s*[-+]?\s*(?:{bodies})(?:[eE][-+]?\d+)?\s*{after}\s*-{{0,2}}"
    return pc.match_substring_regex(texts, rf"^(?:{pattern}|\({pattern}\))$")


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


def _factors(texts: Any, units: Mapping[str, float]) -> Any:
    """What each number is multiplied by: that of the longest unit it ends with."""
    import pyarrow.compute as pc

    factors = np.ones(len(texts))
    if all(factor == 1 for factor in units.values()):
        return 1.0
    open_rows = np.ones(len(texts), bool)
    for unit in sorted(units, key=len, reverse=True):
        ends = pc.fill_null(pc.match_substring_regex(texts, rf"{re.escape(unit)}[\s)-]*$"), False)
        here = np.asarray(ends.to_numpy(zero_copy_only=False), bool) & open_rows
        factors[here] = units[unit]
        open_rows &= ~here
    return factors
