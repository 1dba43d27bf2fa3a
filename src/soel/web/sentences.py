"""What a session knows, in sentences a domain expert reads, in the language of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from soel.explain import RowExplanation, localise, name_group
from soel.session.people import Agreement
from soel.session.pool_records import FEWEST, StoppingAdvice, Why
from soel.text import ENGLISH, LANGUAGES, Texts, texts_in
from soel.web.cards import Field

COOKIE = "soel-language"


def texts_for(request: Request) -> Texts:
    """By the choice of the user, else by the wish of the browser."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return texts_in(chosen)
    wanted = [part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")]
    return texts_in(next((language for language in wanted if language in LANGUAGES), "en"))


STRONG, FAIR = 0.6, 0.2  # agreement beyond chance from which we call it so


def why_words(why: Why, n_items: int, title: Callable[[str], str] = str, t: Texts = ENGLISH) -> tuple[str, ...]:
    """Why an item was asked about. title: what people call an item."""
    return (_far(why, title, t), _unusual(why, t), _speaks(why, n_items, t))


def advice_words(measured: StoppingAdvice | None, t: Texts = ENGLISH) -> tuple[str, ...]:
    """Whether more labels are worth it, the advice first."""
    if measured is None:
        return (t("advice.unknown"),)
    advice = []
    if measured.go_on != "unknown":
        advice = [t(f"advice.{measured.go_on}")]
    elif measured.n_labels < FEWEST:
        advice = [t("advice.early", n=measured.n_labels)]
    elif not measured.n_anomalies:
        advice = [t("insight.none_found")]
    return (*advice, *_describe_moves(measured, t), *_describe_held_back(measured, t))


def agreement_words(agreement: Agreement, t: Texts = ENGLISH) -> str:
    """How far annotators agree."""
    if not agreement.n_items:
        return t("agreement.none")
    same = t("agreement.same", same=agreement.n_same, n=agreement.n_items)
    if agreement.kappa is None:
        return same
    level = "strong" if agreement.kappa >= STRONG else "fair" if agreement.kappa >= FAIR else "weak"
    return f"{same} {t(f'agreement.{level}')}"


def _far(why: Why, title: Callable[[str], str], t: Texts) -> str:
    if why.nearest is None or why.distance_share is None:
        return t("why.nothing")
    if why.distance_share > 0.5:
        key = "why.unlike" if why.distance_share > 0.9 else "why.rather_unlike"
        return t(key, share=t.percent(why.distance_share))
    return t("why.alike", title=title(why.nearest))


def _unusual(why: Why, t: Texts) -> str:
    if why.score_share > 0.6:
        key = "why.very_unusual" if why.score_share > 0.9 else "why.unusual"
        return t(key, share=t.more_than(why.score_share))
    return t("why.ordinary", share=t.percent(1 - why.score_share))


def _speaks(why: Why, n_items: int, t: Texts) -> str:
    return t("why.alone") if why.n_near <= 1 else t("why.speaks", n=why.n_near, total=n_items)


def _describe_moves(measured: StoppingAdvice, t: Texts) -> list[str]:
    found = []
    if measured.radius_drop is not None:
        found.append(t("advice.closer", n=measured.n_newest, share=t.percent(max(0.0, measured.radius_drop))))
    if measured.rank_agreement is not None:
        key = "advice.order" if measured.rank_agreement >= 0.95 else "advice.order_changed"
        found.append(t(key, share=t.percent(max(0.0, measured.rank_agreement))))
    return found


def _describe_held_back(measured: StoppingAdvice, t: Texts) -> list[str]:
    """An AUROC is the share of pairs of an anomaly and a normal item that are in the right order."""
    scored = [(each.round, each.auroc) for each in measured.held_back if each.auroc is not None]
    if not scored:
        return []
    rounds = [t("advice.round", share=t.percent(value), round=number) for number, value in scored]
    return [t("advice.tested", rounds=", ".join(rounds))]


def reason_fields(why: RowExplanation | None, t: Texts, title: Callable[[str], str] = str) -> list[Field]:
    """The reasons of an alarm, each like a value of its row. title: what people call an item.

    Who labels is not told how the item ranks, and so not what would make an ordinary one an alarm.
    """
    if why is None or not why.is_alarm:
        return []
    if why.like and not why.reasons:
        return [Field(t("reason.whole", like=title(why.like)), "", "", stands_out=True)]
    return [
        Field(
            name_group(reason.columns, t),
            localise(reason.values[0], t),
            t("reason.usual", usual=localise(reason.usual[0], t)),
            stands_out=True,
        )
        for reason in why.reasons
    ]


# Sentences of the tables' reader, which speaks English, in the language of the page


_FILE = re.compile(r"(?P<file>[^:'\n]{1,200}): (?=Column |The id column |The feature names )")
_OPTIONS = re.compile(r"[:;][^:;]*<<.*$")
_NOT = r"but (?P<n>[\d,]+) cells? (?:is|are) not, such as (?P<cell>'.*')"
_NAME, _CELL, _IN_FILE = "(?P<name>'.+')", "(?P<cell>'.*')", "(?P<file>.+)"
_ERRORS = {
    key: re.compile(pattern, re.DOTALL)
    for key, pattern in {
        "fault.no_column": rf"{_IN_FILE} has no column (?P<names>'.+')\. Choose among its columns: (?P<known>.+)\.",
        "fault.not_numbers": rf"Column {_NAME} is asked for as numbers, {_NOT}\. Correct .+",
        "fault.mostly_numbers": rf"Column {_NAME} is mostly numbers, {_NOT} in row (?P<row>\d+)\. .+",
        "fault.mostly_dates": rf"Column {_NAME} is mostly dates, {_NOT} in row (?P<row>\d+)\. .+",
        "fault.dates": rf"Column {_NAME} holds dates that do not go together, such as {_CELL} and (?P<other>'.*')\. .+",
        "fault.not_a_time": rf"Column {_NAME} is asked for as a time, but its cells \(such as {_CELL}\) .+",
        "fault.differs": rf"Column {_NAME} held .+ in the pool(?: \(such as (?P<before>'.*')\))? and holds "
        r"(?:text|values) such as (?P<cell>.+?)(?: in row \d+)? now\. .+",
        "fault.format": rf"{_IN_FILE} has the suffix (?P<suffix>'.*'), which .+? format\. Use (?P<known>.+)\.",
        "fault.empty": rf"{_IN_FILE} is empty\. .+",
        "fault.not_a_table": rf"{_IN_FILE} cannot be read as a table: (?P<why>.+)",
        "fault.sheets": rf"{_IN_FILE} has \d+ (?:sheets|tables) \((?P<known>.+)\)\. Choose one with --\w+\.",
        "fault.id_twice": rf"The id column {_NAME} is not unique: {_CELL} stands in (?P<n>\d+) rows\. .+",
        "fault.id_empty": rf"The id column {_NAME} is empty in row (?P<row>\d+) \((?P<n>\d+) in all\)\. .+",
        "fault.other_columns": r"The feature names should match those .+? fit\.\n(?P<names>.*)\nGive .+",
        "fault.lacks": rf"{_IN_FILE} lacks the column (?P<names>.+); nothing was stored\.",
        "fault.no_items": r"This session has no item (?P<names>'.+?')(?: and more)?; nothing was stored\. .+",
    }.items()
}
_READING = {
    key: re.compile(pattern)
    for key, pattern in {
        "reading.leading_zeros": "numbers with leading zeros are taken for codes",
        "reading.rounded": r"whole numbers beyond 2\^53 are rounded to 16 digits",
        "reading.row_numbers": "it only numbers the rows",
        "reading.long_numbers": "its numbers are too long to compute with, and all differ",
        "reading.perhaps_names": "it could also be names that say nothing",
        "reading.all_differ": "nearly all values differ, so it is taken for a name of the row",
        "reading.label": "(?:it )?looks like a label",
        "reading.day_first": "dates are read with the day first",
        "reading.month_first": "dates are read with the month first",
        "reading.unit": "'(?P<unit>.+)' is taken for a unit",
        "reading.currencies": "amounts in (?P<names>.+) are compared as they are",
        "reading.some_units": "'(?P<unit>.+)' stands beside some of the numbers only",
        "reading.bound": "a number after '(?P<sign>.+)' is taken as it is written",
        "reading.sign_thousands": "'(?P<sign>.)' could also be a thousands separator",
        "reading.sign_decimal": "'(?P<sign>.)' could also be a decimal sign",
        "reading.several_forms": "dates are written in several forms",
        "reading.tolerance": "what follows '±' is left out",
        "reading.missing_codes": r"(?P<n>[\d,]+) cells are (?P<codes>.+), far from all others: taken for missing",
        "reading.serial": "its numbers are read as the days of a spreadsheet",
        "reading.repeated_names": r".+ that repeats? the names of the columns (?:is|are) left out\.",
        "reading.empty": "empty",
        "reading.mostly_empty": r"mostly empty: (?P<share>[\d.]+) % of the cells are missing",
        "reading.constant": "constant",
        "reading.id": "looks like an id",
        "reading.same_as": "the same as (?P<name>.+)",
        "reading.leaks": "tells the labels by itself",
        "reading.encoding": r"The text is read as (?P<name>\S+)",
        "reading.before": r"Left out before the table: (?P<cells>.+)\.",
        "reading.blank_lines": r"(?P<n>[\d,]+) blank lines? (?:is|are) left out\.",
        "reading.repeated_out": r"(?P<n>[\d,]+) rows? repeats? .* left out\.",
        "reading.below_names": r"The line under the names is left out, it holds no values: (?P<cells>.+)\.",
        "reading.two_lines": r"The names of the columns are put together from two lines, such as (?P<name>.+)\.",
        "reading.by_place": r"A column without a name is called by its place: (?P<names>.+)\.",
        "reading.no_names": r"The first line holds values, no names: .+",
    }.items()
}
_NUMBERS: dict[str, Callable[[str], Any]] = {"share": float, "n": lambda value: int(value.replace(",", ""))}
LONGEST = 2000  # letters of a message that is looked at; a cell can be of any length


def error_words(message: str, t: Texts) -> str:
    """An error as the page says it; one that is not known stays as it is."""
    if t.language == "en" or len(message) > LONGEST:
        return message
    named = _FILE.match(message)
    said = _translate(message[named.end() :] if named else message, _ERRORS, t)
    return message if said is None else (f"{named['file']}: " if named else "") + said


def reading_words(sentence: str, t: Texts) -> str:
    """A sentence about a column or a file as the page says it; one that is not known stays as it is."""
    bare = _OPTIONS.sub("", sentence)
    return _translate(bare, _READING, t) or bare


def _translate(sentence: str, known: Mapping[str, re.Pattern[str]], t: Texts) -> str | None:
    for key, pattern in known.items():
        if found := pattern.fullmatch(sentence):
            values = {name: value or "" for name, value in found.groupdict().items()}
            if key == "fault.other_columns":
                values["names"] = _list_columns(values["names"], t)
            return t(key, **{name: _NUMBERS.get(name, str)(value) for name, value in values.items()})
    return None


def _list_columns(listed: str, t: Texts) -> str:
    """Columns that are new and those that are missing, from a list of lines with titles."""
    found, title = [], ""
    for line in listed.splitlines():
        if line.startswith("- "):
            found.append(f"{line[2:]} ({title})")
        else:
            title = t("fault.missing" if "missing" in line else "fault.unseen")
    return ", ".join(found)
