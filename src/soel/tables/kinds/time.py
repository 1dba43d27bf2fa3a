"""Points in time and lengths of time. Absolute time is no feature: what is later would look odd because it is later.

Text is read by common layouts, found from all cells and parsed at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from soel.errors import DataError, SchemaError
from soel.tables.arrow import as_mask, is_all, is_any, nulls_where, pa, pc, tidy
from soel.tables.codes import Code, Counted, DerivedCode, NumericCode
from soel.tables.column import PLAIN, Column, Form, Values, as_seconds
from soel.tables.kinds.kind import ColumnKind, ColumnSource, Found, example_of, see_numbers, see_times
from soel.tables.kinds.number import N_HEAD, Number, has_leading_zeros, parse_numbers
from soel.tables.missing import blank_missing
from soel.tables.raw_table import TIME, RawColumn
from soel.types import Floats

Times = NDArray[np.datetime64]
FoundTimes = tuple[Form, Times, str]  # a layout, the times (N,), and what is doubtful
DAY = 86_400.0
YEAR_PARTS_FROM = 365.0  # days that a pool has to span: the months that it lacks would look odd in later rows
WEEK_PARTS_FROM = 14.0
SERIAL, SERIAL_START = "spreadsheet days", 25569  # the number that spreadsheets have for 1 January 1970
# microseconds a step, of numbers that stand for times
NUMBER_LAYOUTS: Mapping[str, float] = {"compact": 0.0, "epoch seconds": 1e6, "epoch milliseconds": 1e3, SERIAL: 864e8}
_SECONDS = (946_684_800, 4_102_444_800)  # 2000 to 2100
_SERIAL_DAYS = (36526, 55153)  # what spreadsheets have for 2000 to 2051
_TIME_NAMES = ("time", "date", "stamp", "epoch", "created", "updated", "modified", "_at", "when", "zeit", "datum")
_DATE_NAME = re.compile(r"(?i:(?:^|[\W_])(?:date|datum|fecha)(?:$|[\W_])|\wdatum$)|[a-z](?:Date|Datum)(?:$|[\W_A-Z])")
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


@dataclass(frozen=True)
class TimeCode(DerivedCode):
    """Hour, weekday and month as places on a circle; the time since the row before, where the pool is in its order."""

    counted: ClassVar[Counted] = "times"
    kind: str = field(default="time", kw_only=True)

    @classmethod
    def fit(cls, name: str, values: Values, scaling: str) -> TimeCode:
        code, seconds = cls(name, ()), as_seconds(values)
        present = seconds[~np.isnan(seconds)]
        span = float(present.max() - present.min()) / DAY
        steps = np.diff(present)
        in_order = len(steps) > 1 and bool((steps >= 0).all() or (steps <= 0).all())
        wanted = ["hour"] if bool((present % DAY != 0).any()) else []
        wanted += ["weekday"] * (span >= WEEK_PARTS_FROM) + ["month"] * (span >= YEAR_PARTS_FROM)
        wanted += ["since the row before"] * in_order
        derived = code.derive(values)
        chosen = {key: each for key, each in derived.items() if any(f"({part}" in key for part in wanted)}
        chosen = chosen or {name: derived[name]}  # nothing but whether it is missing
        return code.with_numbers(chosen, scaling, np.isnan(seconds))

    def derive(self, values: Values) -> Mapping[str, Floats]:
        """All that can be derived from times (N,)."""
        seconds = as_seconds(values)
        days = np.floor(seconds / DAY)
        months = np.where(np.isnat(values), np.nan, values.astype("datetime64[M]").astype(np.int64) % 12)
        gap = np.full(len(values), np.nan)
        gap[1:] = np.log1p(np.abs(np.diff(seconds)))
        circles = {"hour": seconds % DAY / DAY, "weekday": (days + 3) % 7 / 7, "month": months / 12}
        turned = {
            f"{self.name} ({what}, {way.__name__})": way(2 * np.pi * part)
            for what, part in circles.items()
            for way in (np.sin, np.cos)
        }
        return {**turned, f"{self.name} (since the row before)": gap, self.name: seconds * 0.0}

    def encode(self, values: Values, features: Floats) -> None:
        if values.dtype.kind != "M":
            example = next((cell for cell in values.tolist() if cell is not None), None)
            raise SchemaError(
                f"Column {self.name!r} held dates or times in the pool and holds values such as {example!r} now. "
                "Write it as in the pool."
            )
        super().encode(values, features)
        first = self.parts[0]
        if isinstance(first, NumericCode) and first.marks_missing:  # a gap is unknown in the first row, too
            features[:, len(first.feature_names) - 1] = np.isnat(values)

    def numbers(self, values: Values) -> Floats:
        return as_seconds(values)

    def edges(self, values: Values) -> tuple[float, ...]:
        """The first and the last time of the pool."""
        seconds = as_seconds(values)
        return () if np.isnan(seconds).all() else (float(np.nanmin(seconds)), float(np.nanmax(seconds)))


class Time(ColumnKind):
    """Points in time: of files that have such a type, text in common layouts, and numbers that stand for them."""

    name = "time"
    into = "hour, weekday, month, gap"
    option = "time"
    holds = "dates or times"
    names_layout = True

    def sniff(self, source: ColumnSource) -> Found | None:
        """Text in one layout, or several of dates; numbers such as 20241231; in a column called so, seconds or days."""
        values, type_ = source.cells.values, source.cells.type
        if type_ in ("time", "clock"):
            return Found(see_times(values), Form(layout=CLOCK if type_ == "clock" else ""), "", values)
        if source.plain is not None and type_ in ("text", "number"):
            return None if not source.asked and has_leading_zeros(source) else _numbers_as_times(source)
        if source.texts is None or (source.numbers is not None and not source.asked):
            return None
        found = find_times(source.texts, source.file.dates, source.file.decimal or ".")
        if found is None:
            return None
        form, values, doubt = found
        if form.layout == CLOCK and not source.asked:
            hours = (values[~np.isnat(values)] - np.datetime64("1970-01-01")) / np.timedelta64(1, "h")
            is_of_day = (hours.max() >= 12 and hours.min() < 12) or is_any(source.texts, "[AaPp][.]?[Mm]|Uhr")
            if not is_of_day:  # a length of time
                return None
        return Found(see_times(values, source.texts), form, doubt, values)

    def parse(self, column: Column, cells: RawColumn) -> Values:
        """Times by the layout of the pool; text for a pool that had times has to be ISO."""
        if cells.type in ("time", "clock"):
            return np.asarray(cells.values)
        form, found = column.form, None
        if cells.type == "number":
            if np.isnan(cells.values).all():
                return np.full(len(cells), np.datetime64("NaT"), TIME)
            found = from_number(cells.values, form)
        elif cells.type in ("text", "category"):
            texts = blank_missing(tidy(cells.values))
            if form.layout in NUMBER_LAYOUTS:
                values = parse_numbers(texts, PLAIN)
                found = None if values is None else from_number(values, form)
            else:
                found = parse_times(texts, form if form.layout else Form(layout=YEAR_FIRST, order="ymd"))
        if found is None:
            raise self.differs(column, f"values such as {example_of(cells)}")
        return np.asarray(found)

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        return TimeCode.fit(column.name, values, scaling)

    def asked_in_vain(self, source: ColumnSource) -> DataError:
        if source.texts is None:
            return DataError(
                f"Column {source.name!r} is asked for as a time, but its numbers are neither days such as 20241231 "
                "nor seconds since 1970. Leave the option out, or write the times as text."
            )
        return DataError(
            f"Column {source.name!r} is asked for as a time, but its cells (such as "
            f"{source.texts.drop_null()[0].as_py()!r}) are no dates in a common form. Write them as "
            "2024-12-31 12:00:00."
        )


class Duration(Number):
    """Lengths of time, in seconds."""

    name = "duration"
    into = "seconds"
    option = "time"
    holds = "lengths of time"
    plain_advice = ""
    names_layout = True

    def sniff(self, source: ColumnSource) -> Found | None:
        """Text such as 1:23:45 or 2h 30m, or what a file stores as durations."""
        if source.cells.type == "duration":
            return Found(see_numbers(source.cells.values), values=source.cells.values)
        for layout in DURATIONS if source.is_words else ():
            values = parse_duration(source.texts, layout)
            if values is not None:
                return Found(see_numbers(values, source.texts), Form(layout=layout), "", values)
        return None

    def parse_texts(self, column: Column, texts: Any) -> Floats:
        if not column.form.layout:
            return super().parse_texts(column, texts)
        texts = blank_missing(tidy(texts))
        values = parse_duration(texts, column.form.layout)
        if values is None:
            raise self.differs(column, f"text such as {texts[0].as_py()!r} in row 0")
        return values


def from_number(values: Floats, form: Form) -> Values | None:
    """Numbers that stand for times, 20241231 or seconds since 1970; None where one does not."""
    if form.layout == "compact":
        return parse_compact(values)
    if form.layout not in NUMBER_LAYOUTS:
        return None
    missing = np.isnan(values)
    start = SERIAL_START if form.layout == SERIAL else 0
    micros = np.where(missing, 0, (values - start) * NUMBER_LAYOUTS[form.layout])
    if (np.abs(micros) > 2**62).any():
        return None
    found = micros.round().astype(np.int64).astype("datetime64[us]")
    found[missing] = np.datetime64("NaT")
    return found


def _numbers_as_times(source: ColumnSource) -> Found | None:
    """Days such as 20241231; in a column that is called so, seconds since 1970 and the days of spreadsheets."""
    values = source.plain
    assert values is not None
    present = values[~np.isnan(values)]
    is_array = source.texts is None and not source.file.named
    if not source.asked and (len(present) < 3 or is_array):
        return None
    low, high = present.min(), present.max()
    named = source.asked or any(part in source.name.lower() for part in _TIME_NAMES)
    layout = ""
    if low >= 19000101 and high <= 21001231 and not (present % 1).any():
        layout = "compact"
    elif named and _SECONDS[0] <= low and high <= _SECONDS[1]:
        layout = "epoch seconds"
    elif named and _SECONDS[0] * 1000 <= low and high <= _SECONDS[1] * 1000:
        layout = "epoch milliseconds"
    elif _SERIAL_DAYS[0] <= low and high <= _SERIAL_DAYS[1] and _DATE_NAME.search(source.name):
        layout = SERIAL
    times = from_number(values, Form(layout=layout)) if layout else None
    if times is None:
        return None
    doubt = "its numbers are read as the days of a spreadsheet; <<numeric>> takes them as numbers"
    return Found(see_times(times), Form(layout=layout), doubt if layout == SERIAL else "", times)


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
