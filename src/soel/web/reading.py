"""How a table was read, in the words of the page: one line over all columns, and an entry for each of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from pydantic import BaseModel

from soel.tables.column import BOUNDS, Column, Form
from soel.tables.schema import Schema, describe_kind, draw_bars, notes_of, options_for
from soel.text import Texts
from soel.web.sentences import reading_words

_SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "_": "underscore"}
_LAYOUTS = {"clock": "form.clock", "epoch seconds": "form.epoch", "epoch milliseconds": "form.epoch"}


def form_words(form: Form, t: Texts) -> list[str]:
    """What is special about how a column is written; empty where there is nothing."""
    words = []
    if form.decimal == ",":
        words.append(t("form.decimal_comma"))
    if form.thousands:
        words.append(t("form.thousands", sign=t(f"form.{_SIGNS[form.thousands]}")))
    units = [unit for unit in form.units if unit not in BOUNDS]
    bounds = [unit for unit in form.units if unit in BOUNDS]
    words += [t("form.units", units=", ".join(units))] if units else []
    words += [t("form.bounds", signs=", ".join(bounds))] if bounds else []
    if form.words:
        words.append("/".join(sorted(form.words, key=lambda word: -form.words[word])))
    if form.order:
        words.append(t(f"columns.{form.order}"))
    elif form.layout in _LAYOUTS:
        words.append(t(_LAYOUTS[form.layout]))
    return words


_CHOICES = {"id-column": "id", "label-column": "label"}


class OptionOut(BaseModel):
    """Another reading of a column. words: what it would be. typed: the line of a file of column settings."""

    words: str
    typed: str


class ColumnOut(BaseModel):
    """How a column was read. words: the same in the page's language. missing: a share.

    odd, doubt: what looks odd, and why another reading was possible. options: what changes it.
    """

    name: str
    kind: str
    read_as: str
    words: str
    picture: str
    examples: list[str]
    missing: float
    odd: list[str]
    doubt: str
    options: list[OptionOut]


class ReadingOut(BaseModel):
    """How a table was read, in a line; empty words where there is no table. mark: tells one reading from another.

    notes: what was left out of the file, and rows that repeat others. unfolded: whether it is to be seen at once.
    """

    words: str
    mark: str
    n_columns: int
    n_unsure: int
    notes: list[str]
    unfolded: bool


def describe_reading(reading: Schema | None, texts: Texts, may_unfold: bool = False) -> ReadingOut:
    """The line over all columns, empty where there are none. may_unfold: whether a doubt is to be seen at once."""
    if reading is None or not reading.columns:
        return ReadingOut(words="", mark="", n_columns=0, n_unsure=0, notes=[], unfolded=False)
    n_unsure, notes = len(reading.doubtful), describe_notes(reading, texts)
    return ReadingOut(
        words=_summary(reading, texts),
        mark=_mark(reading),
        n_columns=len(reading.columns),
        n_unsure=n_unsure,
        notes=notes,
        unfolded=may_unfold and bool(n_unsure or notes),
    )


def describe_notes(reading: Schema, texts: Texts) -> list[str]:
    """What was found out about the file, and left out of it; rows that repeat others."""
    notes = [reading_words(note, texts) for note in notes_of(reading)]
    if reading.n_duplicates and not reading.drop_duplicates:
        notes.append(texts("reading.repeated", n=reading.n_duplicates))
    return notes


def describe_columns(reading: Schema, texts: Texts) -> list[ColumnOut]:
    """One entry a column: what could be meant otherwise first, then what is odd, then gaps, else in their order."""
    ordered = sorted(reading.columns, key=lambda each: (each.is_sure, not each.seen.oddities, not each.seen.n_missing))
    return [describe_column(each, reading.n_rows, texts) for each in ordered]


def describe_column(reading: Column, n_rows: int, texts: Texts) -> ColumnOut:
    """How a column is read, and what would change it."""
    seen = reading.seen
    return ColumnOut(
        name=reading.name,
        kind=reading.kind,
        read_as=describe_kind(reading),
        words=", ".join([texts(f"columns.kind_{reading.kind}"), *form_words(reading.form, texts)]),
        picture=draw_bars(seen.bars),
        examples=list(seen.examples),
        missing=seen.n_missing / n_rows if n_rows else 0.0,
        odd=[reading_words(odd, texts) for odd in seen.oddities],
        doubt=reading_words(reading.doubt, texts),
        options=[_option(option, reading.name, texts) for option in options_for(reading)],
    )


def _option(option: str, name: str, texts: Texts) -> OptionOut:
    choice = _CHOICES.get(option, option.removeprefix("--"))
    return OptionOut(words=texts(f"columns.choice_{choice}"), typed=_setting(option, name))


def _setting(option: str, name: str) -> str:
    """The line of a file of column settings."""
    value = json.dumps(name, ensure_ascii=False)
    return f"{option.replace('-', '_')} = {value if option in _CHOICES else f'[{value}]'}"


def _summary(reading: Schema, texts: Texts) -> str:
    """Such as '12 columns: 9 numbers, 2 categories, 1 date. 1 not sure.'"""
    counts = Counter(each.kind for each in reading.columns)
    kinds = ", ".join(texts(f"reading.n_{kind}", n=n) for kind, n in counts.most_common())
    odd = sum(bool(each.seen.oddities) and each.is_sure for each in reading.columns)
    gaps = sum(0 < each.seen.n_missing < reading.n_rows for each in reading.columns)
    more = (("reading.n_unsure", len(reading.doubtful)), ("reading.n_odd", odd), ("reading.n_gaps", gaps))
    said = [texts(key, n=n) for key, n in more if n]
    return " ".join([texts("reading.summary", n=len(reading.columns), kinds=kinds), *_sentence(said)])


def _sentence(parts: Sequence[str]) -> list[str]:
    return [f"{', '.join(parts)}."] if parts else []


def _mark(reading: Schema) -> str:
    """Tells one reading from another, so that a browser knows which it has shown."""
    said = "\n".join(f"{each.name} {describe_kind(each)} {each.doubt}" for each in reading.columns)
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
