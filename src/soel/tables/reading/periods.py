"""Months, quarters and weeks in text, such as '2024-05', 'Mai 2024', 'Q2 2024', 'KW 18/2024': their first day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soel.tables.reading.kinds import Form
from soel.tables.reading.time_parts import (
    LETTER,
    MONTHS,
    UNIT,
    FoundTimes,
    Times,
    find_month,
    make_days,
    take_field,
    take_whole,
)

_YEAR = r"(?P<y>(?:19|20)\d{2})"
_QUARTER, _WEEK = r"[Qq](?P<q>[1-4])", r"(?:W|KW|CW|S)[- ]?(?P<w>\d{1,2})"
PERIODS: Mapping[str, str] = {
    "year, month": rf"^{_YEAR}[-/](?P<m>\d{{1,2}})$",
    "month, year": rf"^(?P<m>\d{{1,2}})[-/]{_YEAR}$",
    "month's name, year": rf"^(?P<m>{LETTER}{{3,10}})(?:\.?[- /]\.?|\. )(?P<y>\d{{4}}|\d{{2}})$",
    "quarter, year": rf"^{_QUARTER}[-/ ]*{_YEAR}$",
    "year, quarter": rf"^{_YEAR}[-/ ]*{_QUARTER}$",
    "week, year": rf"^{_WEEK}[-/ ]+{_YEAR}$",
    "year, week": rf"^{_YEAR}[-/ ]*{_WEEK}$",
}
_NAMES = frozenset(
    {
        "january", "february", "march", "april", "may", "june", "july", "august", "sept", "september", "october",
        "november", "december", "januar", "jänner", "februar", "märz", "mai", "juni", "juli", "oktober", "dezember",
        "janvier", "février", "mars", "avril", "juin", "juillet", "août", "septembre", "octobre", "novembre",
        "décembre", "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
        "octubre", "noviembre", "diciembre", "gennaio", "febbraio", "aprile", "maggio", "giugno", "luglio",
        "settembre", "ottobre", "dicembre",
    }
)  # fmt: skip


def find_periods(texts: Any) -> FoundTimes | None:
    """The layout of periods that all tidy Arrow strings have; None where there is none."""
    import pyarrow.compute as pc

    head = texts.drop_null().slice(0, 200)
    for layout, pattern in PERIODS.items():
        if pc.all(pc.match_substring_regex(head, pattern)).as_py():
            values = parse_periods(texts, layout)
            return None if values is None else FoundTimes(Form(layout=layout), values)
    return None


def parse_periods(texts: Any, layout: str) -> Times | None:
    """Tidy Arrow strings as the first day of their period, NaT for null; None where one is none."""
    import pyarrow.compute as pc

    parts = pc.extract_regex(texts, PERIODS[layout])
    if parts.null_count != texts.null_count:
        return None
    missing = np.asarray(texts.is_null())
    years = take_whole(parts, "y")
    if "week" in layout:
        return _weeks(years, take_whole(parts, "w"), missing)
    if "name" in layout:
        words = take_field(parts, "m").dictionary_encode()
        months = np.array([_month(word) for word in words.dictionary.to_pylist()] or [0])
        months = months[np.asarray(pc.fill_null(words.indices, 0))]
    else:
        months = 3 * take_whole(parts, "q") - 2 if "quarter" in layout else take_whole(parts, "m")
    return make_days(years, months, np.ones(len(years), np.int64), missing)


def _month(word: str) -> int:
    return find_month(word) if word.lower() in MONTHS or word.lower() in _NAMES else 0


def _weeks(years: Any, weeks: Any, missing: Any) -> Times | None:
    """The Mondays of weeks, counted as ISO 8601 does: the fourth of January lies in the first."""
    if not (((weeks >= 1) & (weeks <= 53)) | missing).all():
        return None
    fourth = (np.where(missing, 1970, years) - 1970).astype("datetime64[Y]").astype("datetime64[D]") + 3
    monday = fourth - ((fourth.astype(np.int64) + 3) % 7).astype("timedelta64[D]")
    found = monday + (7 * (weeks - 1)).astype("timedelta64[D]")
    found[missing] = np.datetime64("NaT")
    return np.asarray(found.astype(UNIT))
