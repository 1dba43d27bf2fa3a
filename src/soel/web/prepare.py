"""The time before there is a session: how its table is read, how far its creation is, the change to its own app."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from soel.errors import ConfigError, SessionError, SoelError
from soel.session.request import Creation
from soel.session.worker import JobStatus
from soel.tables.read_options import DATE_ORDERS, DECIMALS, ReadOptions
from soel.tables.schema import Schema
from soel.web.messages import ColumnChoicesIn


class ColumnQuestion:
    """The question, open until it is answered."""

    def __init__(self, chooser: Creation, reading: Schema) -> None:
        self._chooser, self.reading, self.is_open = chooser, reading, True

    @property
    def decimals(self) -> tuple[str, ...]:
        """The decimal signs to choose among, where a doubt is about them."""
        return DECIMALS if any("<<decimal>>" in each.doubt for each in self.reading.doubtful) else ()

    @property
    def date_orders(self) -> tuple[str, ...]:
        """The orders of dates to choose among, where a doubt is about them."""
        return DATE_ORDERS if any("<<dates=" in each.doubt for each in self.reading.doubtful) else ()

    def answer(self, said: ColumnChoicesIn) -> None:
        """Take the choices by column in; what cannot be is an error, and the question stays open."""
        chosen = {name: choice for name, choice in said.choices.items() if choice}
        columns = self._chooser.columns.to_dict()
        for name, choice in chosen.items():
            if choice not in ("id", "label"):
                columns[choice] = (*columns[choice], name)
        columns["drop_duplicates"] |= said.drop_duplicates
        columns |= {key: value for key, value in (("decimal", said.decimal), ("dates", said.dates)) if value}
        named = _only(chosen, "id"), _only(chosen, "label")
        found = self._chooser.choose(ReadOptions.from_dict(columns), *named, said.labels_by)
        self.reading = found or self.reading
        self.is_open = False


def ask_about(chooser: Creation, reading: Schema | None) -> ColumnQuestion | None:
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
    def is_done(self) -> bool: ...

    def start(self) -> None:
        """Begin, or join what another process has begun."""

    def progress(self) -> JobStatus: ...


class PreparationOut(BaseModel):
    """How far the creation of the session is. what: its part. seconds_left: to the end of this part, where known."""

    stage: Literal["asking", "preparing", "failed", "ready"]
    what: str = ""
    done: int = 0
    total: int = 0
    seconds_left: int | None = None
    error: str = ""


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

    def status(self) -> tuple[JobStatus, int | None]:
        """How far it is now, and the seconds to the end of this part; None while nobody can say."""
        with self._lock:
            if self.is_asking:
                return JobStatus("ask", True), None
            if self._failure:
                return JobStatus("create", False, error=self._failure), None
            now = self._making.progress()
            if self._making.is_done and not now.running:
                return JobStatus("write", True), None
            return now, self._seconds_left(now)

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
        if self.status()[0].running:
            raise SessionError("The session is being prepared already; wait until it is done.")
        if self.question is not None and not self._making.is_done:
            self.question.is_open = True  # what was chosen did not lead to a session
        else:
            self.begin()

    def begin(self) -> None:
        """Begin, where nothing is left to be asked."""
        with self._lock:
            self._failure, self._first = "", None
            if not self._making.is_done:
                self._making.start()

    def fail(self, why: str) -> None:
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

    then: opens the session. on_progress: called with each look, and with None at the end.
    """

    def __init__(
        self, first: ASGIApp, preparation: Preparation, then: Callable[[], ASGIApp], on_progress: OnProgress
    ) -> None:
        self._app, self._preparation, self._then, self._on_progress = first, preparation, then, on_progress
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(PAUSE):
            progress, _ = self._preparation.status()
            if not self._preparation.is_over or progress.error:
                self._on_progress(progress)
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
