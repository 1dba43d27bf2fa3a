"""Points in time and lengths of time. Absolute time is no feature: what is later would look odd because it is later."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from soel.errors import DataError, SchemaError
from soel.tables.arrow import is_any, tidy
from soel.tables.codes import Code, Counted, DerivedCode, NumericCode
from soel.tables.column import PLAIN, Column, Form, Values, as_seconds
from soel.tables.kinds.kind import ColumnKind, ColumnSource, Found, example_of, see_numbers, see_times
from soel.tables.kinds.number import Number, has_leading_zeros, parse_numbers
from soel.tables.kinds.time_text import (
    CLOCK,
    DURATIONS,
    YEAR_FIRST,
    find_times,
    parse_compact,
    parse_duration,
    parse_times,
)
from soel.tables.missing import blank_missing
from soel.tables.raw_table import TIME, RawColumn
from soel.types import Floats

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
