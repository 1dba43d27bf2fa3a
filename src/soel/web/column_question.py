"""How the columns of a new table are read: shown to its owner, who can change it before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from soel.errors import ConfigError
from soel.tables.options import DATE_ORDERS, DECIMALS, ReadOptions
from soel.tables.schema import Schema, notes_of
from soel.text import Texts
from soel.web.reading_view import describe_columns
from soel.web.reading_words import reading_words
from soel.web.schemas_data import ColumnOut

Choice = Literal["", "numeric", "categorical", "text", "time", "ignore", "id", "label"]
CHOICES: tuple[Choice, ...] = ("", "numeric", "categorical", "text", "time", "ignore", "id", "label")


class Chooser(Protocol):
    """A session that is to be made, and how its table is read so far."""

    @property
    def columns(self) -> ReadOptions:
        """What was said about columns so far."""

    def look(self) -> Schema | None:
        """How the table would be read; None for what is no table, or too large for a quick look."""

    def choose(
        self, columns: ReadOptions, id_column: str | None, label_column: str | None, labels_by: str | None = None
    ) -> Schema | None:
        """Say how columns are read, which of them name or label the items, and whose labels these are."""


class ColumnQuestion:
    """The question, open until it is answered."""

    def __init__(self, chooser: Chooser, reading: Schema) -> None:
        self._chooser, self.reading, self.is_open = chooser, reading, True

    def describe(self, texts: Texts) -> list[ColumnOut]:
        """One entry a column, those that could be meant otherwise first."""
        return describe_columns(self.reading, texts)

    def notes(self, texts: Texts) -> list[str]:
        """What was found out about the file, and left out of it."""
        return [reading_words(note, texts) for note in notes_of(self.reading)]

    @property
    def decimals(self) -> tuple[str, ...]:
        """The decimal signs to choose among, where a doubt is about them."""
        return DECIMALS if any("<<decimal>>" in each.doubt for each in self.reading.doubtful) else ()

    @property
    def date_orders(self) -> tuple[str, ...]:
        """The orders of dates to choose among, where a doubt is about them."""
        return DATE_ORDERS if any("<<dates=" in each.doubt for each in self.reading.doubtful) else ()

    def answer(
        self,
        choices: Mapping[str, Choice],
        decimal: str | None,
        dates: str | None,
        drop_duplicates: bool,
        labels_by: str | None = None,
    ) -> None:
        """Take the choices by column in; what cannot be is an error, and the question stays open."""
        chosen = {name: choice for name, choice in choices.items() if choice}
        columns = self._chooser.columns.to_dict()
        for name, choice in chosen.items():
            if choice not in ("id", "label"):
                columns[choice] = (*columns[choice], name)
        columns |= {"drop_duplicates": drop_duplicates or columns["drop_duplicates"]}
        columns |= {key: value for key, value in (("decimal", decimal), ("dates", dates)) if value}
        named = _only(chosen, "id"), _only(chosen, "label")
        found = self._chooser.choose(ReadOptions.from_dict(columns), *named, labels_by)
        self.reading = found or self.reading
        self.is_open = False

    def reopen(self) -> None:
        """Ask again: what was chosen did not lead to a session."""
        self.is_open = True


def ask_about(chooser: Chooser, reading: Schema | None) -> ColumnQuestion | None:
    """The question about a table in which something could be meant otherwise; None where all is sure."""
    if reading is None or not (reading.doubtful or reading.layout.notes):
        return None
    return ColumnQuestion(chooser, reading)


def _only(choices: Mapping[str, str], what: str) -> str | None:
    names = [name for name, choice in choices.items() if choice == what]
    if len(names) > 1:
        raise ConfigError(f"One column can be the {what}, got {', '.join(map(repr, names))}; choose one of them.")
    return names[0] if names else None
