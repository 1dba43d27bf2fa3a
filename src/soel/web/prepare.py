"""The time before there is a session: how its table is read, how far its creation is, the change to its own app."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from soel.errors import ConfigError, SessionError, SoelError
from soel.session.worker import JobStatus
from soel.tables.read_options import DATE_ORDERS, DECIMALS, ReadOptions
from soel.tables.schema import Schema, notes_of
from soel.text import Texts
from soel.web.reading import ColumnOut, describe_columns, reading_words

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


PAUSE = 0.2  # seconds between two looks
OnProgress = Callable[[JobStatus | None], None]


class SessionMaker(Protocol):
    """Makes a session in a process of its own."""

    @property
    def is_done(self) -> bool:
        """Whether the session is there."""

    def start(self) -> None:
        """Begin, or join what another process has begun."""

    def progress(self) -> JobStatus:
        """What is being done, or why it ended early."""


class PreparationOut(BaseModel):
    """How far the creation of the session is. what: its part. seconds_left: to the end of this part, where known."""

    stage: Literal["asking", "preparing", "failed", "ready"]
    what: str = ""
    done: int = 0
    total: int = 0
    seconds_left: int | None = None
    error: str = ""


@dataclass(frozen=True)
class PreparationStatus:
    """How far the preparation is. seconds_left: None while nobody can say."""

    progress: JobStatus
    seconds_left: int | None = None


class Preparation:
    """What all users see of a creation. source: what the data are called. question: to be answered before it begins.

    reading: how the table will be read, where that was looked at.
    """

    def __init__(
        self,
        making: SessionMaker,
        source: str,
        clock: Callable[[], float] = time.monotonic,
        question: ColumnQuestion | None = None,
        reading: Schema | None = None,
    ) -> None:
        self.source, self._making, self._clock, self.question = source, making, clock, question
        self._reading = reading
        self._first: tuple[str, float, int] | None = None
        self._failure, self._lock = "", threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether the session is there and its maker has left."""
        return self._making.is_done and not self._making.progress().running

    def status(self) -> PreparationStatus:
        """How far it is now."""
        with self._lock:
            if self.is_asking:
                return PreparationStatus(JobStatus("ask", True))
            if self._failure:
                return PreparationStatus(JobStatus("create", False, error=self._failure))
            now = self._making.progress()
            if self._making.is_done and not now.running:
                return PreparationStatus(JobStatus("write", True))
            return PreparationStatus(now, self._seconds_left(now))

    @property
    def is_asking(self) -> bool:
        """Whether the owner is asked how columns are read, and nothing has begun."""
        return self.question is not None and self.question.is_open

    @property
    def reading(self) -> Schema | None:
        """How the table is read, as far as it is known before."""
        return self._reading if self.question is None else self.question.reading

    def retry(self) -> None:
        """Begin anew after a failure; what was chosen before is asked again."""
        if self.status().progress.running:
            raise SessionError("The session is being prepared already; wait until it is done.")
        if self.question is not None and not self._making.is_done:
            self.question.reopen()
        else:
            self.begin()

    def begin(self) -> None:
        """Begin, where nothing is left to be asked."""
        with self._lock:
            self._failure, self._first = "", None
            if not self._making.is_done:
                self._making.start()

    def fail(self, why: str) -> None:
        """Note that the session cannot be opened."""
        self._failure = why

    def _seconds_left(self, now: JobStatus) -> int | None:
        """Seconds to the end of this part; what an earlier run did says nothing about the pace."""
        if self._first is None or self._first[0] != now.what or now.done < self._first[2]:
            self._first = (now.what, self._clock(), now.done)
        _, since, already = self._first
        spent, done = self._clock() - since, now.done - already
        return round(spent / done * (now.total - now.done)) if now.running and done > 0 and spent > 1 else None


class SwitchingApp:
    """The app of the preparation, until that of the session takes its place.

    then: opens the session. on_progress: hears of each look, and of None at the end.
    """

    def __init__(
        self, first: ASGIApp, preparation: Preparation, then: Callable[[], ASGIApp], on_progress: OnProgress
    ) -> None:
        self._app, self._preparation, self._then, self._on_progress = first, preparation, then, on_progress
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the app of the moment."""
        await self._app(scope, receive, send)

    def stop(self) -> None:
        """Watch no longer."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(PAUSE):
            status = self._preparation.status()
            if not self._preparation.is_over or status.progress.error:
                self._on_progress(status.progress)
            elif self._change():
                self._on_progress(None)
                return

    def _change(self) -> bool:
        """Open the session; what goes wrong is for the page to say."""
        try:
            self._app = self._then()
        except (SoelError, OSError) as error:
            self._preparation.fail(str(error))
            return False
        return True
