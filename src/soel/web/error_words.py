"""What experts meet most when a file cannot be read, in the language of the page.

The rooms below say it in English, for a terminal; here each sentence is known by its form, and one that is not known
stays as it is.
"""

from __future__ import annotations

import re

from soel.text import Texts

_FILE = re.compile(r"(?P<file>[^:'\n]{1,200}): (?=Column |The id column |The feature names )")
_NOT = r"but (?P<n>[\d,]+) cells? (?:is|are) not, such as (?P<cell>'.*')"
_NAME, _CELL, _IN_FILE = "(?P<name>'.+')", "(?P<cell>'.*')", "(?P<file>.+)"
_SENTENCES = {
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
LONGEST = 2000  # letters of a message that is looked at; a cell can be of any length


def error_words(message: str, texts: Texts) -> str:
    """An error as the page says it."""
    if texts.language == "en" or len(message) > LONGEST:
        return message
    named = _FILE.match(message)
    rest = message[named.end() :] if named else message
    for key, pattern in _SENTENCES.items():
        if found := pattern.fullmatch(rest):
            values = {name: value or "" for name, value in found.groupdict().items()}
            if key == "fault.other_columns":
                values["names"] = _list_columns(values["names"], texts)
            return (f"{named['file']}: " if named else "") + texts(key, **_counted(values))
    return message


def _list_columns(listed: str, texts: Texts) -> str:
    """Columns that are new and those that are missing, from a list of lines with titles."""
    found, title = [], ""
    for line in listed.splitlines():
        if line.startswith("- "):
            found.append(f"{line[2:]} ({title})")
        else:
            title = texts("fault.missing" if "missing" in line else "fault.unseen")
    return ", ".join(found)


def _counted(values: dict[str, str]) -> dict[str, str | int]:
    """The places of a text; a number chooses its form."""
    return {name: int(value.replace(",", "")) if name == "n" else value for name, value in values.items()}
