"""From the cells of a pool to the reading of its table: decided once, on all rows, whatever their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soel.errors import DataError, SchemaError
from soel.tables.columns import Column
from soel.tables.reading.cells import Cells, give_back
from soel.tables.reading.kinds import PLAIN, UNKNOWN, Form, Kind, Layout, Reading, Seen, TableReading
from soel.tables.reading.missing_codes import blank_codes, doubt_codes, find_codes
from soel.tables.reading.numbers import choose_form, parse_numbers, tidy
from soel.tables.reading.options import DEFAULT, ReadOptions
from soel.tables.reading.parse import SERIAL, WORDS, from_number, parse_column
from soel.tables.reading.seen import ends_as_written, find_oddities, see_numbers, see_times, see_words
from soel.tables.reading.sketch import Draft, Sketch, draft_text, find_file_decimal, sketch_text, tells_point
from soel.tables.reading.stray_words import check_not_mostly_numbers
from soel.tables.reading.times import find_duration, find_times, parse_duration
from soel.tables.reading.units import is_duration
from soel.tables.reading.words import count_words, find_flags, is_id_name, is_label_name, kind_of_words
from soel.types import Floats

FEW_ROWS = 20
_TIME_NAMES = ("time", "date", "stamp", "epoch", "created", "updated", "modified", "_at", "when", "zeit", "datum")
_SECONDS = (946_684_800, 4_102_444_800)  # 2000 to 2100
_DATE_NAME = re.compile(r"(?i:(?:^|[\W_])(?:date|datum|fecha)(?:$|[\W_])|\wdatum$)|[a-z](?:Date|Datum)(?:$|[\W_A-Z])")
_SERIAL_DAYS = (36526, 55153)  # what spreadsheets have for 2000 to 2051
_CODE = r"^0\d"
POINT_OR_THOUSANDS = "'.' could also be a decimal sign; --decimal says which sign is the decimal one"
N_SPELLINGS = 6  # of yes and no, in small and capital letters


@dataclass(frozen=True)
class _Found:
    """A reading so far, with the values where they are computed already."""

    kind: Kind
    form: Form
    doubt: str
    seen: Seen
    values: Column | None = None


@dataclass(frozen=True)
class _File:
    """What all columns of a file share."""

    decimal: str | None
    separator: str
    named: bool
    options: ReadOptions


def decide(
    cells: Mapping[str, Cells], options: ReadOptions = DEFAULT, layout: Layout = UNKNOWN, named: bool = True
) -> tuple[TableReading, dict[str, Column]]:
    """How each column is read, with the values that were computed on the way.

    named: whether the columns have names of their own; those of a plain array are never taken for ids.
    """
    table, columns = decide_each(cells, options, layout, named)
    readings, values = [], {}
    for reading, column in columns:
        readings.append(reading)
        if column is not None:
            values[reading.name] = column
    return replace(table, columns=tuple(readings)), values


def decide_each(
    cells: Mapping[str, Cells], options: ReadOptions, layout: Layout, named: bool
) -> tuple[TableReading, Iterator[tuple[Reading, Column | None]]]:
    """The reading of a table without its columns, and the columns one at a time: all at once are a second table."""
    _check_known(options, cells)
    sketches = {}
    for at, (name, column) in enumerate(cells.items()):
        if not options.leaves_out(name) and _is_text(column):
            sketches[name] = sketch_text(column, options.kind_for(name))
            give_back(len(column), at)
    decimal = options.decimal or find_file_decimal(sketches, cells)
    n_rows = max((len(column) for column in cells.values()), default=0)
    table = TableReading((), n_rows, 0, decimal or ".", layout, options.drop_duplicates)
    return table, _read_each(cells, sketches, _File(decimal, layout.separator, named, options))


def _read_each(
    cells: Mapping[str, Cells], sketches: Mapping[str, Sketch], file: _File
) -> Iterator[tuple[Reading, Column | None]]:
    for at, (name, column) in enumerate(cells.items()):
        if file.options.leaves_out(name):
            yield Reading(name, "ignored"), None
            continue
        found = (
            _text(name, draft_text(column, sketches[name]), file)
            if name in sketches
            else _decide_type(name, column, file)
        )
        reading = _finish(name, found, len(column))
        yield reading, None if reading.form.layout == WORDS else found.values
        del found
        give_back(len(column), at)


def _check_known(options: ReadOptions, names: Mapping[str, Any]) -> None:
    unknown = [name for name in options.named if name not in names]
    if unknown:
        shown = ", ".join(list(names)[:20]) + (", ..." if len(names) > 20 else "")
        raise SchemaError(f"There is no column {', '.join(map(repr, unknown))}. Choose among: {shown}.")


def _is_text(column: Cells) -> bool:
    return column.type == "text"


def _text(name: str, draft: Draft, file: _File) -> _Found:
    asked = file.options.kind_for(name)
    texts = draft.texts
    if asked in ("categorical", "text"):
        return _words(name, texts, "category" if asked == "categorical" else "text")
    if texts.null_count == len(texts):
        return _Found("ignored", PLAIN, "", Seen(len(texts)))
    if asked == "time":
        return _as_time(name, draft, file)
    if draft.plain is not None:
        return _plain(name, draft, file, asked == "numeric")
    if draft.numbers is not None:
        form, doubt = choose_form(draft.numbers, file.decimal, file.separator)
        values = parse_numbers(texts, form)
        assert values is not None
        if is_duration(form.units):
            return _Found("duration", form, doubt, see_numbers(values, ends_as_written(texts, values)), values)
        return _written(values, form, doubt, asked == "numeric", texts)
    found = _flags(name, texts) or _times(texts, file) or _durations(texts)
    if found is not None and asked != "numeric":
        return found
    check_not_mostly_numbers(name, texts, asked)
    return _words(name, texts, None)


def _plain(name: str, draft: Draft, file: _File, numeric: bool) -> _Found:
    """Numbers as computers write them; but in a file with decimal commas a point parts thousands."""
    import pyarrow.compute as pc

    texts, values = draft.texts, draft.plain
    assert values is not None
    if file.decimal == "," and pc.any(pc.match_substring(texts, ".")).as_py() and not tells_point(texts):
        form = Form(",", ".")
        parsed = parse_numbers(tidy(texts), form)
        if parsed is not None:
            is_settled = file.options.decimal or file.separator == ";"
            return _written(parsed, form, "" if is_settled else POINT_OR_THOUSANDS, numeric, texts)
    if not numeric:
        if not _has_fractions(values) and pc.any(pc.match_substring_regex(texts, _CODE)).as_py():
            doubt = "numbers with leading zeros are taken for codes; --numeric takes them as numbers"
            return replace(_words(name, tidy(texts), None), doubt=doubt)
        found = _numbers_as_times(name, values, False)
        if found is not None:
            return found
    return _number(name, values, not _has_fractions(values), False, file, numeric)


def _decide_type(name: str, column: Cells, file: _File) -> _Found:
    asked, values = file.options.kind_for(name), column.values
    if column.type == "category" or asked in ("categorical", "text"):
        from soel.tables.reading.parse import as_objects

        texts = column.values if column.type == "category" else _arrow(as_objects(column))
        return _words(name, tidy(texts), "text" if asked == "text" else "category")
    if column.type in ("time", "clock"):
        if np.isnat(values).all():
            return _Found("ignored", PLAIN, "", Seen(len(values)))
        return _Found("time", Form(layout="clock" if column.type == "clock" else ""), "", see_times(values), values)
    parse_column(Reading(name, "number"), column)  # says which value cannot be computed with
    if np.isnan(values).all():
        return _Found("ignored", PLAIN, "", Seen(len(values))) if file.named else _number_as_it_is(values, "number")
    if column.type in ("flag", "duration"):
        return _number_as_it_is(values, "flag" if column.type == "flag" else "duration")
    found = _numbers_as_times(name, values, asked == "time") if file.named and asked != "numeric" else None
    if asked == "time" and found is None:
        raise DataError(
            f"Column {name!r} is asked for as a time, but its numbers are neither days such as 20241231 nor seconds "
            "since 1970. Leave the option out, or write the times as text."
        )
    return found or _number(name, values, column.whole, column.lost, file, asked == "numeric")


def _number_as_it_is(values: Floats, kind: Kind) -> _Found:
    return _Found(kind, PLAIN, "", see_numbers(values), values)


def _written(values: Floats, form: Form, doubt: str, numeric: bool, texts: Any) -> _Found:
    """Numbers that are written otherwise than computers do. texts: what they were read from."""
    codes = () if numeric else find_codes(values)
    if codes:
        return _coded(values, codes, form, doubt, texts)
    return _Found("number", form, doubt, see_numbers(values, ends_as_written(texts, values)), values)


def _coded(values: Floats, codes: tuple[float, ...], form: Form, doubt: str, texts: Any = None) -> _Found:
    """Numbers less the codes for missing values among them, which is said; what else is doubtful is odd.

    A doubt that offers another option stays one, so that the option is asked for.
    """
    kept, said = blank_codes(values, codes), doubt_codes(values, codes)
    first, second = (doubt, said) if "--" in doubt else (said, doubt)
    seen = see_numbers(kept, () if texts is None else ends_as_written(texts, kept))
    seen = replace(seen, oddities=(second,) if second else ())
    return _Found("number", replace(form, missing=codes), first, seen, kept)


def _number(name: str, values: Floats, whole: bool, lost: bool, file: _File, numeric: bool) -> _Found:
    """Numbers, unless they only number the rows."""
    doubt = "whole numbers beyond 2^53 are rounded to 16 digits" if lost else ""
    codes = () if numeric else find_codes(values)
    if codes:
        return _coded(values, codes, PLAIN, doubt)
    seen = see_numbers(values)
    if numeric or not file.named or not whole or seen.n_missing or seen.n_distinct < len(values):
        return _Found("number", PLAIN, doubt, seen, values)
    if is_id_name(name) and len(values) >= 5:
        return _Found("id", PLAIN, "", seen)
    low, high = values.min(), values.max()
    if len(values) >= FEW_ROWS and low in (0, 1) and high - low == len(values) - 1:
        return _Found("id", PLAIN, "it only numbers the rows; --numeric takes it as a number", seen)
    if lost:
        return _Found("id", PLAIN, "its numbers are too long to compute with, and all differ", seen)
    return _Found("number", PLAIN, "", seen, values)


def _numbers_as_times(name: str, values: Floats, asked: bool) -> _Found | None:
    """Days such as 20241231; in a column that is called so, seconds since 1970 and the days of spreadsheets."""
    present = values[~np.isnan(values)]
    if not asked and len(present) < 3:
        return None
    low, high = present.min(), present.max()
    named = asked or any(part in name.lower() for part in _TIME_NAMES)
    layout = ""
    if low >= 19000101 and high <= 21001231 and not (present % 1).any():
        layout = "compact"
    elif named and _SECONDS[0] <= low and high <= _SECONDS[1]:
        layout = "epoch seconds"
    elif named and _SECONDS[0] * 1000 <= low and high <= _SECONDS[1] * 1000:
        layout = "epoch milliseconds"
    elif _SERIAL_DAYS[0] <= low and high <= _SERIAL_DAYS[1] and _DATE_NAME.search(name):
        layout = SERIAL
    times = from_number(values, Form(layout=layout)) if layout else None
    if times is None:
        return None
    doubt = "its numbers are read as the days of a spreadsheet; --numeric takes them as numbers"
    return _Found("time", Form(layout=layout), doubt if layout == SERIAL else "", see_times(times), times)


def _as_time(name: str, draft: Draft, file: _File) -> _Found:
    found = None
    if draft.plain is not None:
        found = _numbers_as_times(name, draft.plain, True)
    found = found or _times(draft.texts, file, as_clock=True) or _durations(draft.texts)
    if found is None:
        example = draft.texts.drop_null()[0].as_py()
        raise DataError(
            f"Column {name!r} is asked for as a time, but its cells (such as {example!r}) are no dates in a common "
            "form. Write them as 2024-12-31 12:00:00."
        )
    return found


def _flags(name: str, texts: Any) -> _Found | None:
    if len(texts.drop_null().slice(0, 200).unique()) > N_SPELLINGS:
        return None
    words = count_words(texts)
    flags = find_flags(words)
    if flags is None:
        return None
    form = Form(words=flags)
    values = parse_column(Reading(name, "flag", form), Cells("text", texts))
    return _Found("flag", form, "", replace(see_numbers(values), examples=words.top[:2]), values)


def _times(texts: Any, file: _File, as_clock: bool = False) -> _Found | None:
    found = find_times(texts, file.options.dates, file.decimal or ".")
    if found is None:
        return None
    values = found.values
    if found.form.layout == "clock" and not as_clock and not _is_time_of_day(texts, values):
        return None
    return _Found("time", found.form, found.doubt, see_times(values, ends_as_written(texts, values)), values)


def _is_time_of_day(texts: Any, values: Any) -> bool:
    """Whether clocks show the time of the day, not a length of time: over the day, or with am and pm."""
    import pyarrow.compute as pc

    hours = (values[~np.isnat(values)] - np.datetime64("1970-01-01")) / np.timedelta64(1, "h")
    return bool(hours.max() >= 12 and hours.min() < 12) or bool(
        pc.any(pc.match_substring_regex(texts, "[AaPp][.]?[Mm]|Uhr")).as_py()
    )


def _durations(texts: Any) -> _Found | None:
    form = find_duration(texts)
    values = None if form is None else parse_duration(texts, form)
    if form is None or values is None:
        return None
    return _Found("duration", form, "", see_numbers(values, ends_as_written(texts, values)), values)


def _words(name: str, texts: Any, asked: Kind | None) -> _Found:
    import pyarrow.compute as pc

    words = count_words(texts)
    seen = see_words(words, len(texts))
    if not words.n_cells:
        return _Found("ignored", PLAIN, "", seen)
    if asked is not None:
        return _Found(asked, PLAIN, "", seen)
    a_cell = 1.0 + float(pc.mean(pc.count_substring(texts, " ")).as_py() or 0.0)
    kind, doubt = kind_of_words(name, words, a_cell)
    return _Found(kind, PLAIN, doubt, seen)


def _finish(name: str, found: _Found, n_rows: int) -> Reading:
    odd = (*find_oddities(found.seen, n_rows), *found.seen.oddities)
    doubt, kind, form = found.doubt, found.kind, found.form
    if kind == "id":
        odd = (*odd, "looks like an id: give it as --id-column, it is no feature")
    elif found.seen.n_distinct == 1 and not found.seen.n_missing and kind != "ignored":
        form = form if kind == "number" else Form(layout=WORDS)
        kind, doubt = "constant", ""
    elif is_label_name(name) and 1 < found.seen.n_distinct <= 3:
        doubt = "it looks like a label: --label-column keeps it out of the features, --ignore leaves it out"
        odd = (*odd, "looks like a label")
    return Reading(name, kind, form, doubt, replace(found.seen, oddities=odd))


def _has_fractions(values: Floats) -> bool:
    present = values[~np.isnan(values)]
    with np.errstate(invalid="ignore"):  # an infinity leaves no remainder
        return bool((present % 1 != 0).any())


def _arrow(column: Column) -> Any:
    import pyarrow as pa

    return pa.array(column, pa.string())
