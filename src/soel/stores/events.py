"""The event store: an append-only table in a SQL database."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, create_engine, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from soel.errors import SessionError
from soel.session.ports import KINDS, Event
from soel.stores import sqlite
from soel.stores.schema import EVENTS, MIGRATIONS_DONE, check_ours, now, take_step

_WRITER = threading.Lock()  # one writer per process: threads queue here, processes queue at the database


class SqlStore:
    """Events in SQLite, given a path, or in another database, given its URL.

    Appends of one process take turns; between processes the database's own lock decides. must_exist:
    refuse a file that is not there, so that a lost database is not taken for an empty one.
    """

    def __init__(self, where: str | Path, must_exist: bool = False) -> None:
        url = where if isinstance(where, str) and "://" in where else f"sqlite:///{where}"
        self._name = str(where)
        if must_exist and url.startswith("sqlite") and not Path(url.removeprefix("sqlite:///")).is_file():
            raise SessionError(f"{where} is missing, and with it every answer; restore it from a copy.")
        self._engine = create_engine(url)
        if self._engine.dialect.name == "sqlite":
            sqlite.tune(self._engine)
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store these events together and return them with number and time."""
        rows = [self._row(event) for event in events]
        if not rows:
            return []
        with self._writing() as connection:
            # Locks out writers of other processes where a transaction alone does not.
            connection.execute(select(MIGRATIONS_DONE.c.version).with_for_update()).all()
            last = connection.scalar(select(func.max(EVENTS.c.number))) or 0
            at = now()
            numbered = [replace(e, number=last + i, at=at) for i, e in enumerate(events, start=1)]
            stamps = [{"number": event.number, "at": at} for event in numbered]
            connection.execute(insert(EVENTS), [row | stamp for row, stamp in zip(rows, stamps, strict=True)])
        return numbered

    def read(self, after: int = 0) -> Sequence[Event]:
        """Events with a higher number, in order."""
        query = select(EVENTS).where(EVENTS.c.number > after).order_by(EVENTS.c.number)
        with self._errors(), self._engine.begin() as connection:
            rows = connection.execute(query).all()
        return [self._event(row) for row in rows]

    def close(self) -> None:
        """Let go of the file or the server."""
        self._engine.dispose()

    def _migrate(self) -> None:
        with self._errors(), self._engine.begin() as connection:
            check_ours(connection)
        while self._step():
            pass

    def _step(self) -> bool:
        with self._writing() as connection:
            return take_step(connection)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _WRITER, self._errors(), self._engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            cause = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise SessionError(
                f"The events in {self._name} cannot be used ({cause}); restore it from a copy."
            ) from error

    def _row(self, event: Event) -> dict[str, Any]:
        if event.kind not in KINDS:
            raise SessionError(f"{event.kind!r} is not a kind of event. Use one of: {', '.join(KINDS)}.")
        body = json.dumps(dict(event.body), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return {"kind": event.kind, "who": event.who, "item": event.item, "body": body}

    def _event(self, row: Row[Any]) -> Event:
        try:
            body = json.loads(row.body)
        except (TypeError, ValueError) as error:
            raise self._damaged(row, "its body is not JSON") from error
        if not isinstance(body, dict):
            raise self._damaged(row, "its body is not a JSON object")
        if row.kind not in KINDS:
            raise self._damaged(row, f"its kind is {row.kind!r}")
        if not isinstance(row.number, int) or not isinstance(row.who, str):
            raise self._damaged(row, "its number or annotator has another type")
        return Event(row.kind, row.who, row.item, body, row.number, row.at)

    def _damaged(self, row: Row[Any], why: str) -> SessionError:
        return SessionError(f"Event {row.number} in {self._name} was changed by hand: {why}. Restore it from a copy.")
