"""The parts of a time in text: days, clocks, zones and names of months, each of them for all cells at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.tables.reading.kinds import Form
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


@dataclass(frozen=True)
class FoundTimes:
    """A layout of times with what is doubtful about it, and the times (N,)."""

    form: Form
    values: Times
    doubt: str = ""


def take_field(parts: Any, name: str) -> Any:
    """One part as Arrow strings; what is not there is empty."""
    import pyarrow.compute as pc

    return pc.struct_field(parts, name)


def take_decimal(parts: Any, name: str) -> Floats:
    """One part as numbers; 0 where it is not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.if_else(pc.equal(take_field(parts, name), ""), "0", take_field(parts, name))
    return np.asarray(pc.fill_null(texts.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))


def take_whole(parts: Any, name: str) -> NDArray[np.int64]:
    """One part as whole numbers, of which there are few distinct ones; 0 where it is not there."""
    import pyarrow.compute as pc

    texts = pc.fill_null(take_field(parts, name), "").dictionary_encode()
    numbers = np.array([int(text or 0) for text in texts.dictionary.to_pylist()] or [0], np.int64)
    return np.asarray(numbers[np.asarray(texts.indices)])


def take_month(parts: Any, name: str) -> NDArray[np.int64]:
    """A month by number or by name; 0 for a word that is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.fill_null(take_field(parts, name), "0").dictionary_encode()
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    words = texts.dictionary.to_pylist()
    numbers = np.array([int(word) if word.isdigit() else find_month(word) for word in words] or [0], np.int64)
    return np.asarray(numbers[np.asarray(texts.indices)])


def find_month(word: str) -> int:
    """The number of a month by how its name begins; 0 for a word that is none."""
    lower = word.lower()
    return next((MONTHS[lower[:size]] for size in (4, 3) if lower[:size] in MONTHS), 0)


def make_days(years: Any, months: Any, days: Any, missing: NDArray[np.bool_]) -> Times | None:
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


def make_clock(parts: Any, missing: NDArray[np.bool_], days: Times) -> Times | None:
    """The days with their time of day, in UTC where a zone is given."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hours, minutes, seconds = take_whole(parts, "H"), take_whole(parts, "M"), take_whole(parts, "S")
    half = pc.utf8_lower(pc.utf8_slice_codeunits(take_field(parts, "p"), 0, 1))
    after, before = (np.asarray(pc.fill_null(pc.equal(half, letter), False)) for letter in "pa")
    hours = np.where(after, hours % 12 + 12, np.where(before, hours % 12, hours))
    if not (((hours < 24) & (minutes < 60) & (seconds < 61)) | missing).all():
        return None
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(take_field(parts, "f"), ""), 6, "0"), 0, 6)
    parts_of_second = np.asarray(padded.cast(pa.int64()))
    total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + parts_of_second
    found = days + (total - _zone(parts) * 60_000_000).astype("timedelta64[us]")
    found[missing] = np.datetime64("NaT")
    return np.asarray(found)


def _zone(parts: Any) -> NDArray[np.int64]:
    """Minutes that a clock is ahead of UTC."""
    import pyarrow.compute as pc

    texts = pc.fill_null(take_field(parts, "z"), "").dictionary_encode()
    minutes = [_minutes(text) for text in texts.dictionary.to_pylist()] or [0]
    return np.asarray(np.array(minutes, np.int64)[np.asarray(texts.indices)])


def _minutes(zone: str) -> int:
    if zone in ZONES:
        return ZONES[zone]
    digits = "".join(letter for letter in zone if letter.isdigit())
    ahead = int(digits[:2] or 0) * 60 + int(digits[2:4] or 0)
    return -ahead if zone.startswith("-") else ahead
