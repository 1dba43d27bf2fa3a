"""Points in time and lengths of time in text: common layouts, found from all cells and parsed at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.tables.columns import Form
from soel.types import Floats

Times = NDArray[np.datetime64]
UNIT = "datetime64[us]"
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
YEAR_FIRST, YEAR_LAST, DAY_NAME, NAME_DAY, CLOCK, UNIX, MIXED = (
    "year first", "year last", "day, month's name", "month's name, day", "clock", "year at the end",
    "several",
)  # fmt: skip
_CLOCK = (
    r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?\s*(?P<p>[AaPp]\.?[Mm]\.?)?"
    rf"\s*(?P<z>Z|UTC|GMT|{'|'.join(ZONES)}|[+-]\d{{2}}(?::?\d{{2}})?)?(?: Uhr)?"
)
_AND_CLOCK = rf"(?:(?:T|,?\s+){_CLOCK})?"
_WEEKDAY = rf"(?:{LETTER}{{2,10}}\.?,?\s+)?"
_SIGN = r"[-/.]"
_TH = r"(?:st|nd|rd|th)?"
_PATTERNS = {
    YEAR_FIRST: rf"^{_WEEKDAY}(?P<a>\d{{4}}){_SIGN}(?P<b>\d{{1,2}}){_SIGN}(?P<c>\d{{1,2}}){_AND_CLOCK}$",
    YEAR_LAST: rf"^{_WEEKDAY}(?P<a>\d{{1,2}}){_SIGN}(?P<b>\d{{1,2}}){_SIGN}(?P<c>\d{{4}}|\d{{2}}){_AND_CLOCK}$",
    DAY_NAME: rf"^{_WEEKDAY}(?P<a>\d{{1,2}})[-. ]+(?P<b>{LETTER}{{3,10}})[-., ]+(?P<c>\d{{4}}|\d{{2}}){_AND_CLOCK}$",
    NAME_DAY: rf"^{_WEEKDAY}(?P<a>{LETTER}{{3,10}})\.?\s+(?P<b>\d{{1,2}}){_TH},?\s+(?P<c>\d{{4}}){_AND_CLOCK}$",
    CLOCK: rf"^{_CLOCK}$",
    UNIX: rf"^{_WEEKDAY}(?P<a>{LETTER}{{3,10}})\.?\s+(?P<b>\d{{1,2}})\s+{_CLOCK}\s+(?P<c>\d{{4}})$",
}
_ORDERS = {YEAR_FIRST: "ymd", DAY_NAME: "dmy", NAME_DAY: "mdy", UNIX: "mdy"}
_MIXABLE = (YEAR_FIRST, YEAR_LAST, DAY_NAME, NAME_DAY)
_DAYS_AND_CLOCK = (
    r"^(?P<s>-)?(?:(?P<d>\d+)\s*(?:d|days?|Tage?),?\s+)?(?:(?P<H>\d+):)?(?P<M>\d+):(?P<S>\d{1,2}(?:\.\d+)?)$"
)
_WORDS = (
    r"^(?P<s>-)?\s*(?:(?P<d>\d+(?:\.\d+)?)\s*(?:d(?:ays?)?|Tage?),?\s*)?"
    r"(?:(?P<H>\d+(?:\.\d+)?)\s*(?:h(?:(?:ou)?rs?|eures?)?|[Ss]td\.?|Stunden?),?\s*)?"
    r"(?:(?P<M>\d+(?:\.\d+)?)\s*[mM](?:in(?:ute)?[ns]?\.?)?,?\s*)?(?:(?P<S>\d+(?:\.\d+)?)\s*s(?:ec(?:ond)?s?)?)?$"
)
_ISO_DURATION = (
    r"^(?P<s>-)?P(?:(?P<d>\d+(?:\.\d+)?)D)?(?:T(?:(?P<H>\d+(?:\.\d+)?)H)?(?:(?P<M>\d+(?:\.\d+)?)M)?"
    r"(?:(?P<S>\d+(?:\.\d+)?)S)?)?$"
)
_HOURS_AND_MINUTES = r"^(?P<s>-)?(?:(?P<d>\d+)\s*d\s*)?(?P<H>\d+)h(?P<M>[0-5]\d)(?:m?(?P<S>[0-5]\d)s?)?$"  # 2h30
_HOURS = (
    r"^(?P<s>-)?(?P<d>)(?P<H>\d+):(?P<M>[0-5]\d)(?P<S>)\s*(?:h|hrs?\.?|hours?|[Ss]td\.?|Stunden|heures?)$"  # 1:20 h
)
DURATIONS = {
    "days and clock": _DAYS_AND_CLOCK,
    "units": _WORDS,
    "iso duration": _ISO_DURATION,
    "2h30": _HOURS_AND_MINUTES,
    "hours and minutes": _HOURS,
}
UNKNOWN = np.datetime64("NaT")
BLOCK_CELLS = 1 << 16  # parsed at a time: the parts of a time take many times the room of its text
_FIRST_COMPACT, _LAST_COMPACT = 1900_01_01, 2100_12_31


@dataclass(frozen=True)
class FoundTimes:
    """A layout of times with what is doubtful about it, and the times (N,)."""

    form: Form
    values: Times
    doubt: str = ""


def find_times(texts: Any, order: str | None = None, decimal: str = ".") -> FoundTimes | None:
    """The layout that fits all tidy Arrow strings; None where there is none. order: as asked for, 'dmy' or so."""
    head = texts.drop_null().slice(0, 200)
    layout = next((layout for layout, pattern in _PATTERNS.items() if _all_match(head, pattern)), None)
    if layout is None:
        return _find_mixed(texts, order, decimal)
    if layout == YEAR_LAST:
        return _find_order(texts, order, decimal)
    form = Form(layout=layout, order=_ORDERS.get(layout, ""))
    values = parse_times(texts, form)
    return _find_mixed(texts, order, decimal) if values is None else FoundTimes(form, values)


def _find_mixed(texts: Any, order: str | None, decimal: str) -> FoundTimes | None:
    """Dates in several forms, as people write them into one column by hand: each cell has to have one of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _all_match(texts.drop_null().slice(0, 200), "|".join(map(_unnamed, _MIXABLE))):
        return None
    last = pc.if_else(pc.match_substring_regex(texts, _PATTERNS[YEAR_LAST]), texts, pa.scalar(None, pa.string()))
    found = (
        _find_order(last, order, decimal)
        if last.null_count < len(last)
        else FoundTimes(Form(order="dmy"), np.array(UNKNOWN))
    )
    form = None if found is None else Form(layout=MIXED, order=found.form.order)
    values = None if form is None else parse_times(texts, form)
    if found is None or form is None or values is None:
        return None
    return FoundTimes(form, values, found.doubt or "dates are written in several forms; look whether all are meant so")


def _unnamed(layout: str) -> str:
    return re.sub(r"\?P<\w>", "?:", _PATTERNS[layout])


def find_duration(texts: Any) -> Form | None:
    """The layout of lengths of time that fits all tidy Arrow strings."""
    head = texts.drop_null().slice(0, 200)
    for layout, pattern in DURATIONS.items():
        if _all_match(head, pattern) and _all_match(texts, pattern):
            return Form(layout=layout)
    return None


def parse_times(texts: Any, form: Form) -> Times | None:
    """Tidy Arrow strings as datetime64[us] in UTC, NaT for null; None where one does not fit."""
    blocks = []
    for start in range(0, max(len(texts), 1), BLOCK_CELLS):
        block = _parse_block(texts.slice(start, BLOCK_CELLS), form)
        if block is None:
            return None
        blocks.append(block)
    return np.concatenate(blocks)


def _parse_block(texts: Any, form: Form) -> Times | None:
    import pyarrow.compute as pc

    if form.layout == MIXED:
        return _parse_mixed(texts, form.order)
    parts = pc.extract_regex(texts, _PATTERNS[form.layout])
    if parts.null_count != texts.null_count:
        return None
    missing = np.asarray(texts.is_null())
    if form.layout == CLOCK:
        return _make_clock(parts, missing, np.zeros(len(texts), UNIT))
    fields = [
        _take_month(parts, part) if place == "m" else _take_whole(parts, part)
        for part, place in zip("abc", form.order, strict=True)
    ]
    given = dict(zip(form.order, fields, strict=True))
    days = _make_days(given["y"], given["m"], given["d"], missing)
    return None if days is None else _make_clock(parts, missing, days)


def _parse_mixed(texts: Any, order: str) -> Times | None:
    """Each cell by the first layout that it has; None where one has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found, rest = np.full(len(texts), UNKNOWN, UNIT), texts
    for layout in _MIXABLE:
        fits = pc.match_substring_regex(rest, _PATTERNS[layout])
        own = pc.if_else(fits, rest, pa.scalar(None, pa.string()))
        values = _parse_block(own, Form(layout=layout, order=_ORDERS.get(layout, order)))
        if values is None:
            return None
        found = np.where(np.isnat(values), found, values)
        rest = pc.if_else(fits, pa.scalar(None, pa.string()), rest)
    return found if rest.null_count == len(rest) else None


def parse_compact(values: Floats) -> Times | None:
    """Numbers such as 20241231 as days; None where one is no such day."""
    missing = np.isnan(values)
    whole = np.where(missing, _FIRST_COMPACT, values)
    if ((whole < _FIRST_COMPACT) | (whole > _LAST_COMPACT) | (whole % 1 != 0)).any():
        return None
    days = whole.astype(np.int64)
    return _make_days(days // 10_000, days // 100 % 100, days % 100, missing)


def parse_duration(texts: Any, form: Form) -> Floats | None:
    """Tidy Arrow strings as seconds, NaN for null; None where one does not fit."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(texts, DURATIONS[form.layout])
    if parts.null_count != texts.null_count:
        return None
    seconds = sum(
        _take_decimal(parts, part) * factor for part, factor in (("d", 86400), ("H", 3600), ("M", 60), ("S", 1))
    )
    negative = np.asarray(pc.fill_null(pc.equal(_take_field(parts, "s"), "-"), False))
    return np.where(np.asarray(texts.is_null()), np.nan, np.where(negative, -seconds, seconds))


def _find_order(texts: Any, order: str | None, decimal: str) -> FoundTimes | None:
    """Whether the day or the month comes first: by what fits, by what was asked for, by the sign between them."""
    import pyarrow.compute as pc

    pointed = bool(pc.all(pc.match_substring(texts, ".")).as_py())
    first = order if order in ("dmy", "mdy") else "dmy" if pointed or decimal == "," else "mdy"
    for chosen in (first, "mdy" if first == "dmy" else "dmy"):
        form = Form(layout=YEAR_LAST, order=chosen)
        values = parse_times(texts, form)
        if values is not None:
            break
    else:
        return None
    if order == chosen or pointed or chosen != first or _has_late_day(values):
        return FoundTimes(form, values)
    what = "day" if chosen == "dmy" else "month"
    doubt = f"dates are read with the {what} first; <<dates=dmy>> or <<dates=mdy>> says which it is"
    return FoundTimes(form, values, doubt)


def _has_late_day(values: Times) -> bool:
    """Whether some day is beyond 12, so that it cannot be a month."""
    days = values.astype("datetime64[D]") - values.astype("datetime64[M]")
    return bool((days[~np.isnat(days)] >= np.timedelta64(12, "D")).any())


def _all_match(texts: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _take_field(parts: Any, name: str) -> Any:
    """One part as Arrow strings; what is not there is empty."""
    import pyarrow.compute as pc

    return pc.struct_field(parts, name)


def _take_decimal(parts: Any, name: str) -> Floats:
    """One part as numbers; 0 where it is not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.if_else(pc.equal(_take_field(parts, name), ""), "0", _take_field(parts, name))
    return np.asarray(pc.fill_null(texts.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))


def _take_whole(parts: Any, name: str) -> NDArray[np.int64]:
    """One part as whole numbers, of which there are few distinct ones; 0 where it is not there."""
    import pyarrow.compute as pc

    texts = pc.fill_null(_take_field(parts, name), "").dictionary_encode()
    numbers = np.array([int(text or 0) for text in texts.dictionary.to_pylist()] or [0], np.int64)
    return np.asarray(numbers[np.asarray(texts.indices)])


def _take_month(parts: Any, name: str) -> NDArray[np.int64]:
    """A month by number or by name; 0 for a word that is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.fill_null(_take_field(parts, name), "0").dictionary_encode()
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    words = texts.dictionary.to_pylist()
    numbers = np.array([int(word) if word.isdigit() else _find_month(word) for word in words] or [0], np.int64)
    return np.asarray(numbers[np.asarray(texts.indices)])


def _find_month(word: str) -> int:
    """The number of a month by how its name begins; 0 for a word that is none."""
    lower = word.lower()
    return next((MONTHS[lower[:size]] for size in (4, 3) if lower[:size] in MONTHS), 0)


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
    found[missing] = np.datetime64("NaT")
    return np.asarray(found.astype(UNIT))


def _make_clock(parts: Any, missing: NDArray[np.bool_], days: Times) -> Times | None:
    """The days with their time of day, in UTC where a zone is given."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hours, minutes, seconds = _take_whole(parts, "H"), _take_whole(parts, "M"), _take_whole(parts, "S")
    half = pc.utf8_lower(pc.utf8_slice_codeunits(_take_field(parts, "p"), 0, 1))
    after, before = (np.asarray(pc.fill_null(pc.equal(half, letter), False)) for letter in "pa")
    hours = np.where(after, hours % 12 + 12, np.where(before, hours % 12, hours))
    if not (((hours < 24) & (minutes < 60) & (seconds < 61)) | missing).all():
        return None
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(_take_field(parts, "f"), ""), 6, "0"), 0, 6)
    parts_of_second = np.asarray(padded.cast(pa.int64()))
    total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + parts_of_second
    found = days + (total - _zone(parts) * 60_000_000).astype("timedelta64[us]")
    found[missing] = np.datetime64("NaT")
    return np.asarray(found)


def _zone(parts: Any) -> NDArray[np.int64]:
    """Minutes that a clock is ahead of UTC."""
    import pyarrow.compute as pc

    texts = pc.fill_null(_take_field(parts, "z"), "").dictionary_encode()
    minutes = [_minutes(text) for text in texts.dictionary.to_pylist()] or [0]
    return np.asarray(np.array(minutes, np.int64)[np.asarray(texts.indices)])


def _minutes(zone: str) -> int:
    if zone in ZONES:
        return ZONES[zone]
    digits = "".join(letter for letter in zone if letter.isdigit())
    ahead = int(digits[:2] or 0) * 60 + int(digits[2:4] or 0)
    return -ahead if zone.startswith("-") else ahead
