"""Numbers, tables and messages as a person reads them: one formatter of each kind, for terminal, page and report."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from numbers import Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français"}
_SEPARATORS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ",")}  # of thousands, and of decimals
_ONE = {"en": (1,), "de": (1,), "fr": (0, 1)}  # the numbers that take the singular
_NUMERIC = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?( ?%)?( ?± ?[\d.,]+)?")
_OPTION = re.compile(r"<<([a-z-]+)(?:=([^<>]*))?>>")

Entry = str | Mapping[str, str]


# Numbers


def percent(share: float) -> str:
    """A measured share: '9 %', two figures below one percent, and no round 0 or 100 that is not exact."""
    value = 100 * share
    if 99 < value < 100:
        return "> 99 %"
    if 0 < value < 0.01:
        return "< 0.01 %"
    return f"{value:.0f} %" if value >= 1 or value <= 0 else f"{value:.2g} %"


def rate(share: float) -> str:
    """A share that was set, with all its digits: '2.5 %'."""
    return f"{100 * share:.10g} %"


def percent_range(low: float, high: float) -> str:
    """'5 to 15 %'."""
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def number(value: str | float, digits: int = 4) -> str:
    """A measured value in a few digits, '1,234'; whole numbers keep theirs, text stays as it is."""
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.{digits}g}"


def count(n: int, noun: str) -> str:
    """A number of things: '1 item', '2,000 items', '3 anomalies'."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else many}"


def name_some(items: Sequence[object], most: int = 5) -> str:
    """The first few of these, in quotation marks."""
    return ", ".join(map(repr, items[:most])) + (" and more" if len(items) > most else "")


# Messages


@dataclass(frozen=True)
class Message:
    """Something to be said: the key of a text in `languages`, and the values of its places."""

    code: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, code: str, **fields: Any) -> Message:
        return cls(code, fields)

    def __str__(self) -> str:
        return ENGLISH.say(self)


class Texts:
    """All texts in one language: `languages/LANGUAGE.json`, one entry a text.

    An entry is a text with {places}, or a form for one and one for more, chosen by the place {n}. {place:percent}
    formats a measured share, {place:rate} one that was set. Numbers are written as the language does.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        content: dict[str, Entry] = json.loads(
            (files("soel") / "languages" / f"{self.language}.json").read_text("utf-8")
        )
        return content

    def __call__(self, key: str, **values: Any) -> str:
        return self.form(key, values).format(**{name: _Field(value, self) for name, value in values.items()})

    def say(self, message: Message) -> str:
        return self(message.code, **message.fields)

    def number(self, value: float, digits: int = 6) -> str:
        """With its thousands told apart; a whole number keeps all its digits."""
        if (float(value).is_integer() or abs(value) >= 10**digits) and abs(value) < 1e15:
            return self._localise(f"{round(value):,}")
        return self._localise(f"{value:,.{digits}g}")

    def percent(self, share: float) -> str:
        return self._localise(percent(share))

    def chance(self, share: float) -> str:
        """A probability of one thing, which is never certain: '35 %', '> 99 %', '< 1 %'."""
        return "> 99 %" if share > 0.99 else "< 1 %" if share < 0.01 else self.percent(share)

    def more_than(self, share: float) -> str:
        """A share for 'higher than 99 % of the rows': rounded down, since what it says is to hold."""
        return self.percent(math.floor(100 * share) / 100 if share >= 0.01 else share)

    def markup(self, key: str, **values: Any) -> Markup:
        """A text for a template: what is no markup is escaped."""
        from markupsafe import Markup

        plain = {name: value if isinstance(value, Markup) else _Field(value, self) for name, value in values.items()}
        return Markup(self.form(key, values)).format(**plain)  # our own entries hold no markup and need no escaping

    def form(self, key: str, values: Mapping[str, Any]) -> str:
        """The form of a text that these values take."""
        entry = self.entries[key]
        if isinstance(entry, str):
            return entry
        return entry["one" if values["n"] in _ONE[self.language] else "other"]

    def format(self, value: Any, spec: str = "") -> str:
        """A value of a place."""
        if spec == "percent":
            return self.percent(value)
        if spec == "rate":
            return self._localise(rate(value))
        return self.number(value) if isinstance(value, int | float) else str(value)

    def _localise(self, plain: str) -> str:
        thousands, decimal = _SEPARATORS[self.language]
        return plain.translate({ord(","): thousands, ord("."): decimal})


@dataclass(frozen=True)
class _Field:
    """A value that is formatted as a language does."""

    value: Any
    texts: Texts

    def __format__(self, spec: str) -> str:
        return self.texts.format(self.value, spec)


@cache
def texts_in(language: str) -> Texts:
    """The texts in a language; in English where there are none."""
    return Texts(language if language in LANGUAGES else "en")


ENGLISH = texts_in("en")


def as_argument(name: str, value: str) -> str:
    """An option as an argument of Python."""
    return f"{name.replace('-', '_')}={value if value in ('', 'True') or value.isdigit() else repr(value)}"


def name_options(message: str, write: Callable[[str, str], str] = as_argument) -> str:
    """A message with its options, <<name>> or <<name=value>>, as the reader knows them.

    write: an option by its name and value; an argument of Python unless the command line says otherwise.
    """
    return _OPTION.sub(lambda match: write(match[1], match[2] or ""), message)


# Tables for a terminal


def format_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """An aligned table: columns of numbers to the right, text to the left, wide characters counted as two."""
    lines = [[show(cell) for cell in header], *([show(cell) for cell in row] for row in rows)]
    columns = list(zip(*lines, strict=True))
    sizes = [max(map(width, column)) for column in columns]
    right = [_is_numeric(column[1:]) for column in columns]
    lines.insert(1, ["-" * size for size in sizes])
    return "\n".join("  ".join(_pad(*cell) for cell in zip(line, sizes, right, strict=True)).rstrip() for line in lines)


def show(cell: object) -> str:
    """A cell as text: four figures for a fraction, nothing for None, control characters made visible."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, Real) and not float(cell).is_integer():
        return f"{float(cell):.4g}"
    return "".join(_visible(character) for character in str(cell))


def width(text: str) -> int:
    """Columns that a terminal gives the text."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _visible(character: str) -> str:
    """Data must not move the cursor or reverse the line: escape what a terminal would obey."""
    obeyed = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\u202a\u202b\u202d\u202e"
    return character.encode("unicode_escape").decode("ascii") if obeyed else character


def _is_numeric(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_NUMERIC.fullmatch(cell) or cell in ("nan", "inf", "-inf") for cell in filled)


def _pad(text: str, size: int, right: bool) -> str:
    space = " " * (size - width(text))
    return space + text if right else text + space
