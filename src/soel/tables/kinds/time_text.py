"""Points in time and lengths of time in text: common layouts, found from all cells and parsed at once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.tables.arrow import as_mask, is_all, nulls_where, pa, pc
from soel.tables.column import Form
from soel.tables.kinds.number import N_HEAD
from soel.tables.raw_table import TIME
from soel.types import Floats

Times = NDArray[np.datetime64]
FoundTimes = tuple[Form, Times, str]  # a layout, the times (N,), and what is doubtful
LETTER = "[A-Za-zÀ-ÿ]"  # of the languages whose months are known; all of Unicode would take three times as long
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan ene gen", "feb fév fev", "mar mär mrz", "apr avr abr", "may mai mag", "jun juin giu", "jul juil lug",
            "aug août aou ago", "sep set", "oct okt ott", "nov", "dec dez déc dic",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
ZONES = {
    "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120, "WET": 0, "WEST": 60, "EET": 120, "EEST": 180, "BST": 60,
    "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
}  # fmt: skip
YEAR_FIRST, YEAR_LAST, DAY_NAME, NAME_DAY = "year first", "year last", "day, month's name", "month's name, day"
CLOCK, MIXED = "clock", "several"
_CLOCK = (
    r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?\s*(?P<p>[AaPp]\.?[Mm]\.?)?"
    rf"\s*(?P<z>Z|UTC|GMT|{'|'.join(ZONES)}|[+-]\d{{2}}(?::?\d{{2}})?)?(?: Uhr)?"
)
_AND_CLOCK = rf"(?:(?:T|,?\s+){_CLOCK})?"
_WEEKDAY = rf"(?:{LETTER}{{2,10}}\.?,?\s+)?"
_SIGN = r"[-/.]"
_DATES = {
    YEAR_FIRST: rf"(?P<a>\d{{4}}){_SIGN}(?P<b>\d{{1,2}}){_SIGN}(?P<c>\d{{1,2}})",
    YEAR_LAST: rf"(?P<a>\d{{1,2}}){_SIGN}(?P<b>\d{{1,2}}){_SIGN}(?P<c>\d{{4}}|\d{{2}})",
    DAY_NAME: rf"(?P<a>\d{{1,2}})[-. ]+(?P<b>{LETTER}{{3,10}})[-., ]+(?P<c>\d{{4}}|\d{{2}})",
    NAME_DAY: rf"(?P<a>{LETTER}{{3,10}})\.?\s+(?P<b>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<c>\d{{4}})",
}
_PATTERNS = {layout: rf"^{_WEEKDAY}{date}{_AND_CLOCK}$" for layout, date in _DATES.items()} | {CLOCK: rf"^{_CLOCK}$"}
_ORDERS = {YEAR_FIRST: "ymd", DAY_NAME: "dmy", NAME_DAY: "mdy"}
DURATIONS = {
    "days and clock": r"^(?P<s>-)?(?:(?P<d>\d+)\s*(?:d|days?|Tage?),?\s+)?(?:(?P<H>\d+):)?(?P<M>\d+):"
    r"(?P<S>\d{1,2}(?:\.\d+)?)$",
    "iso duration": r"^(?P<s>-)?P(?:(?P<d>\d+(?:\.\d+)?)D)?(?:T(?:(?P<H>\d+(?:\.\d+)?)H)?(?:(?P<M>\d+(?:\.\d+)?)M)?"
    r"(?:(?P<S>\d+(?:\.\d+)?)S)?)?$",
}
SECONDS = {"d": 86400, "H": 3600, "M": 60, "S": 1}
UNKNOWN = np.datetime64("NaT")
BLOCK_CELLS = 1 << 16  # parsed at a time: the parts of a time take many times the room of its text
_FIRST_COMPACT, _LAST_COMPACT = 1900_01_01, 2100_12_31


def find_times(texts: Any, order: str | None = None, decimal: str = ".") -> FoundTimes | None:
    """The layout that fits all tidy Arrow strings; None where there is none. order: as asked for, 'dmy' or so."""
    head = texts.drop_null().slice(0, N_HEAD)
    layout = next((layout for layout, pattern in _PATTERNS.items() if is_all(head, pattern)), None)
    if layout == YEAR_LAST:
        return _find_order(texts, order, decimal)
    if layout is not None:
        form = Form(layout=layout, order=_ORDERS.get(layout, ""))
        values = parse_times(texts, form)
        if values is not None:
            return form, values, ""
    return _find_mixed(texts, order, decimal)


def parse_times(texts: Any, form: Form) -> Times | None:
    """Tidy Arrow strings as datetime64[us] in UTC, NaT for null; None where one does not fit."""
    blocks = []
    for start in range(0, max(len(texts), 1), BLOCK_CELLS):
        block = _parse_block(texts.slice(start, BLOCK_CELLS), form)
        if block is None:
            return None
        blocks.append(block)
    return np.concatenate(blocks)


def parse_compact(values: Floats) -> Times | None:
    """Numbers such as 20241231 as days; None where one is no such day."""
    missing = np.isnan(values)
    whole = np.where(missing, _FIRST_COMPACT, values)
    if ((whole < _FIRST_COMPACT) | (whole > _LAST_COMPACT) | (whole % 1 != 0)).any():
        return None
    days = whole.astype(np.int64)
    return _make_days(days // 10_000, days // 100 % 100, days % 100, missing)


def parse_duration(texts: Any, layout: str) -> Floats | None:
    """Tidy Arrow strings as seconds, NaN for null; None where one does not fit."""
    if not is_all(texts.drop_null().slice(0, N_HEAD), DURATIONS[layout]):
        return None
    parts = pc.extract_regex(texts, DURATIONS[layout])
    if parts.null_count != texts.null_count:
        return None
    seconds = sum(_take_decimal(parts, part) * factor for part, factor in SECONDS.items())
    negative = as_mask(pc.equal(pc.struct_field(parts, "s"), "-"))
    return np.where(np.asarray(texts.is_null()), np.nan, np.where(negative, -seconds, seconds))


def _find_mixed(texts: Any, order: str | None, decimal: str) -> FoundTimes | None:
    """Dates in several forms, as people write them into one column by hand: each cell has to have one of them."""
    any_date = "|".join(re.sub(r"\?P<\w>", "?:", _PATTERNS[layout]) for layout in _DATES)
    if not is_all(texts.drop_null().slice(0, N_HEAD), any_date):
        return None
    last = nulls_where(pc.invert(pc.match_substring_regex(texts, _PATTERNS[YEAR_LAST])), texts)
    found = _find_order(last, order, decimal) if last.null_count < len(last) else (Form(order="dmy"), None, "")
    if found is None:
        return None
    form = Form(layout=MIXED, order=found[0].order)
    values = parse_times(texts, form)
    doubt = found[2] or "dates are written in several forms; look whether all are meant so"
    return None if values is None else (form, values, doubt)


def _find_order(texts: Any, order: str | None, decimal: str) -> FoundTimes | None:
    """Whether the day or the month comes first: by what fits, by what was asked for, by the sign between them."""
    pointed = bool(pc.all(pc.match_substring(texts, ".")).as_py())
    first = order if order in ("dmy", "mdy") else "dmy" if pointed or decimal == "," else "mdy"
    for chosen in (first, "mdy" if first == "dmy" else "dmy"):
        form = Form(layout=YEAR_LAST, order=chosen)
        values = parse_times(texts, form)
        if values is not None:
            break
    else:
        return None
    days = values.astype("datetime64[D]") - values.astype("datetime64[M]")
    is_told = bool((days[~np.isnat(days)] >= np.timedelta64(12, "D")).any())  # a day beyond 12 is no month
    if order == chosen or pointed or chosen != first or is_told:
        return form, values, ""
    what = "day" if chosen == "dmy" else "month"
    doubt = f"dates are read with the {what} first; <<dates=dmy>> or <<dates=mdy>> says which it is"
    return form, values, doubt


def _parse_block(texts: Any, form: Form) -> Times | None:
    if form.layout == MIXED:
        return _parse_mixed(texts, form.order)
    parts = pc.extract_regex(texts, _PATTERNS[form.layout])
    if parts.null_count != texts.null_count:
        return None
    missing = np.asarray(texts.is_null())
    if form.layout == CLOCK:
        return _add_clock(parts, missing, np.zeros(len(texts), TIME))
    given = dict(zip(form.order, "abc", strict=True))
    years, months, days = (_take_distinct(parts, given[part], _month if part == "m" else int) for part in "ymd")
    dates = _make_days(years, months, days, missing)
    return None if dates is None else _add_clock(parts, missing, dates)


def _parse_mixed(texts: Any, order: str) -> Times | None:
    """Each cell by the first layout that it has; None where one has none."""
    found, rest = np.full(len(texts), UNKNOWN, TIME), texts
    for layout in _DATES:
        fits = pc.match_substring_regex(rest, _PATTERNS[layout])
        values = _parse_block(nulls_where(pc.invert(fits), rest), Form(layout=layout, order=_ORDERS.get(layout, order)))
        if values is None:
            return None
        found = np.where(np.isnat(values), found, values)
        rest = nulls_where(fits, rest)
    return found if rest.null_count == len(rest) else None


def _take_decimal(parts: Any, name: str) -> Floats:
    """One part as numbers; 0 where it is not there."""
    texts = pc.struct_field(parts, name)
    texts = pc.if_else(pc.equal(texts, ""), "0", texts)
    return np.asarray(pc.fill_null(texts.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))


def _take_distinct(parts: Any, name: str, read: Any) -> NDArray[np.int64]:
    """One part as whole numbers (N,), each distinct text read once; 0 where it is not there."""
    texts = pc.fill_null(pc.struct_field(parts, name), "").dictionary_encode()
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    numbers = np.array([read(text) if text else 0 for text in texts.dictionary.to_pylist()] or [0], np.int64)
    return np.asarray(numbers[np.asarray(texts.indices)])


def _month(word: str) -> int:
    """The number of a month, also by how its name begins; 0 for a word that is none."""
    lower = word.lower()
    return int(word) if word.isdigit() else next((MONTHS[lower[:n]] for n in (4, 3) if lower[:n] in MONTHS), 0)


def _zone(zone: str) -> int:
    """Minutes that a clock is ahead of UTC."""
    if zone in ZONES:
        return ZONES[zone]
    digits = re.sub(r"\D", "", zone)
    ahead = int(digits[:2] or 0) * 60 + int(digits[2:4] or 0)
    return -ahead if zone.startswith("-") else ahead


def _make_days(years: Any, months: Any, days: Any, missing: NDArray[np.bool_]) -> Times | None:
    """Days of the calendar; None where one does not exist. Years of two digits lie between 1970 and 2069."""
    years = np.where(years < 70, years + 2000, np.where(years < 100, years + 1900, years))
    valid = (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31) & (years >= 1)
    if not (valid | missing).all():
        return None
    first = (years - 1970).astype("datetime64[Y]") + (months - 1).astype("timedelta64[M]")
    found = first.astype("datetime64[D]") + (days - 1).astype("timedelta64[D]")
    same = found.astype("datetime64[M]") == first.astype("datetime64[M]")
    if not (same | missing).all():
        return None
    found[missing] = UNKNOWN
    return np.asarray(found.astype(TIME))


def _add_clock(parts: Any, missing: NDArray[np.bool_], days: Times) -> Times | None:
    """The days with their time of day, in UTC where a zone is given."""
    hours, minutes, seconds = (_take_distinct(parts, part, int) for part in "HMS")
    half = pc.utf8_lower(pc.utf8_slice_codeunits(pc.struct_field(parts, "p"), 0, 1))
    after, before = (as_mask(pc.equal(half, letter)) for letter in "pa")
    hours = np.where(after, hours % 12 + 12, np.where(before, hours % 12, hours))
    if not (((hours < 24) & (minutes < 60) & (seconds < 61)) | missing).all():
        return None
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(pc.struct_field(parts, "f"), ""), 6, "0"), 0, 6)
    total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + np.asarray(padded.cast(pa.int64()))
    found = days + (total - _take_distinct(parts, "z", _zone) * 60_000_000).astype("timedelta64[us]")
    found[missing] = UNKNOWN
    return np.asarray(found)
