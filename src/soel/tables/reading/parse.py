"""A column to compute with, from its cells and its reading: the same for the pool and for new rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soel.errors import SchemaError
from soel.tables.columns import Column, check_finite
from soel.tables.reading.cells import TIME, Cells
from soel.tables.reading.kinds import Form, Reading
from soel.tables.reading.missing_codes import blank_codes
from soel.tables.reading.numbers import as_floats, blank_missing, misfit, parse_numbers, tidy
from soel.tables.reading.times import parse_compact, parse_duration, parse_times
from soel.types import Floats

WORDS = "words"  # the layout of a constant that is no number
_SAID = {
    "number": "numbers",
    "constant": "a number",
    "flag": "yes and no",
    "time": "dates or times",
    "duration": "lengths of time",
}


def parse_column(reading: Reading, cells: Cells) -> Column:
    """The values of a column read as the reading says; cells that read differently are refused."""
    kind = reading.kind
    if kind in ("category", "text", "id", "ignored") or reading.form.layout == WORDS:
        return as_objects(cells)
    if kind == "time":
        return _time(reading, cells)
    if cells.type in ("number", "flag", "duration"):
        return check_finite(reading.name, blank_codes(cells.values, reading.form.missing))
    if cells.type in ("text", "category"):
        return check_finite(reading.name, blank_codes(_number(reading, cells), reading.form.missing))
    if np.isnat(cells.values).all():
        return np.full(len(cells), np.nan)
    raise SchemaError(_differs(reading, f"dates or times such as {_example(cells)}"))


def as_objects(cells: Cells) -> Column:
    """Cells as text: 2.0 is '2', blank and NaN are missing."""
    if cells.type in ("text", "category"):
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pc.utf8_trim_whitespace(cells.values)
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
        return np.asarray(texts.to_numpy(zero_copy_only=False), object)
    if cells.type in ("time", "clock"):
        texts = np.datetime_as_string(cells.values, unit="s").astype(object)
        texts[np.isnat(cells.values)] = None
        return np.asarray(texts)
    column = np.empty(len(cells), object)
    column[:] = [None if value != value else f"{value:.15g}" for value in cells.values.tolist()]
    return column


def _is_text(cells: Cells) -> bool:
    return cells.type in ("text", "category")


def _time(reading: Reading, cells: Cells) -> Column:
    if cells.type in ("time", "clock"):
        return np.asarray(cells.values)
    if cells.type == "number":
        if np.isnan(cells.values).all():
            return np.full(len(cells), np.datetime64("NaT"), TIME)
        found = from_number(cells.values, reading.form)
        if found is not None:
            return np.asarray(found)
    elif _is_text(cells):
        texts = blank_missing(tidy(cells.values))
        if reading.form.layout in NUMBER_LAYOUTS:
            values = parse_numbers(texts, Form())
            found = None if values is None else from_number(values, reading.form)
        else:
            found = _text_times(texts, reading.form)
        if found is not None:
            return np.asarray(found)
    raise SchemaError(_differs(reading, f"values such as {_example(cells)}"))


def _text_times(texts: Any, form: Form) -> Any:
    if not form.layout:  # times that the pool's file had as times: text has to be ISO
        form = Form(layout="year first", order="ymd")
    return parse_times(texts, form)


SERIAL, SERIAL_START = "spreadsheet days", 25569  # the number that spreadsheets have for 1 January 1970
NUMBER_LAYOUTS: Mapping[str, float] = {"compact": 0.0, "epoch seconds": 1e6, "epoch milliseconds": 1e3, SERIAL: 864e8}


def from_number(values: Floats, form: Form) -> Any:
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


def _number(reading: Reading, cells: Cells) -> Floats:
    form, is_bare = reading.form, reading.kind != "flag" and not reading.form.layout
    plain = as_floats(cells.values) if is_bare and form.is_plain else None
    if plain is not None:  # nothing to tidy: a few rows are read without pandas, which a list of words would load
        return plain
    texts = blank_missing(tidy(cells.values))
    if reading.kind == "flag":
        return _flags(reading, texts)
    read = parse_duration if reading.kind == "duration" and form.layout else parse_numbers
    values = read(texts, form)
    if values is not None:
        return values
    row = 0 if form.layout else misfit(texts, form) or 0
    raise SchemaError(_differs(reading, f"text such as {texts[row].as_py()!r} in row {row}"))


def _flags(reading: Reading, texts: Any) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    words = reading.form.words or {"true": 1, "false": 0}
    known = {**words, "1": 1, "0": 0}
    at = pc.index_in(pc.utf8_lower(texts), pa.array(list(known), pa.string()))
    strange = pc.and_(pc.is_null(at), pc.is_valid(texts))
    if pc.any(strange).as_py():
        row = pc.index(strange, True).as_py()
        raise SchemaError(_differs(reading, f"text such as {texts[row].as_py()!r} in row {row}"))
    codes = np.array([*known.values(), np.nan], np.float64)
    return np.asarray(codes[np.asarray(pc.fill_null(at, len(known)))])


def _differs(reading: Reading, given: str) -> str:
    plain = reading.kind in ("number", "constant") and reading.form.is_plain
    advice = "Give numbers, or NaN where the value is missing" if plain else "Write it as in the pool"
    held = f"Column {reading.name!r} held {_SAID[reading.kind]} in the pool{_as_in(reading)}"
    return f"{held} and holds {given} now. {advice}."


def _as_in(reading: Reading) -> str:
    return f" (such as {reading.seen.examples[0]!r})" if reading.seen.examples and not reading.form.is_plain else ""


def _example(cells: Cells) -> str:
    objects = [cell for cell in as_objects(cells).tolist() if cell is not None]
    return repr(objects[0]) if objects else "nothing"
