"""The event store: an append-only table in a SQL database, SQLite in the session's folder or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.exc import SQLAlchemyError

from soel.errors import (
    DamagedError,
    DiskFullError,
    NoPermissionError,
    ReadOnlyError,
    SessionError,
    StorageError,
    naming,
)
from soel.files import parse_json
from soel.session import postgres, sqlite
from soel.session.events import KINDS, Event
from soel.session.sqlite import SUFFIX, read_last, write_last

METADATA = MetaData()
DIGITS = 16
VERSION = 1

# A file holds one session, whose name is empty here: the folder says which one it is. A server holds many.
EVENTS = Table(
    "events",
    METADATA,
    Column("session", String(100), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("who", Text, nullable=False),
    Column("item", Text, nullable=True),
    Column("body", Text, nullable=False),
    Column("digest", String(DIGITS), nullable=False),
)

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("session", String(100), primary_key=True),
    Column("at", String(40), nullable=False),
)

FORMAT = Table("soel_format", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))


def has_tables(connection: Connection) -> bool:
    """Whether the tables are there; False for an empty database, and any other database is refused."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return False
    if FORMAT.name not in tables:
        raise SessionError(
            f"The database holds other tables ({', '.join(sorted(tables)[:5])}) and no soel events; "
            "choose another place, or restore it from a copy."
        )
    version = connection.scalar(select(FORMAT.c.version))
    if version != VERSION:
        raise SessionError(f"The events have format {version}, this release reads {VERSION}; use another release.")
    if not {EVENTS.name, SESSIONS.name} <= tables:
        raise DamagedError("The database has lost its table of events; restore it from a copy.")
    return True


def create_tables(connection: Connection) -> None:
    """Make the tables of an empty database, unless another process was faster."""
    if not has_tables(connection):
        METADATA.create_all(connection)
        connection.execute(insert(FORMAT).values(version=VERSION))


COLUMNS = tuple(column.name for column in EVENTS.columns)
RECONNECT_SECONDS = (0.5, 1.0, 2.0, 4.0)  # between tries to find out what a lost connection left


def digest_of(number: int, at: str, kind: str, who: str, item: str | None, body: str) -> str:
    """Of all that an event says, so that one changed letter in it is noticed."""
    content = f"{number}\0{at}\0{kind}\0{who}\0{'' if item is None else '='}{item}\0{body}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


Batch = Sequence[Event]


class GroupCommit:
    """Threads hand in batches; the first one writes all that are waiting, in one transaction.

    Where each answer has a commit of its own, 20 people who answer at the same moment miss 100 ms at the 99th
    percentile: `python -m benchmarks.commit_together`. write: stores batches together and returns them with number and
    time, or stores none of them.
    """

    def __init__(self, write: Callable[[Sequence[Batch]], Sequence[Batch]]) -> None:
        self._write = write
        self._turn, self._door = threading.Lock(), threading.Lock()
        self._waiting: list[tuple[Batch, Future[Batch]]] = []

    def store(self, events: Batch) -> Batch:
        """Returns when these events are durable; raises when they are not."""
        stored = Future[Batch]()
        with self._door:
            self._waiting.append((events, stored))
        with self._turn:
            if not stored.done():
                self._write_all()
        return stored.result()

    def _write_all(self) -> None:
        with self._door:
            waiting, self._waiting = self._waiting, []
        try:
            batches = self._write([events for events, _ in waiting])
        except BaseException as error:  # it is raised again, in each thread that it concerns
            for _, stored in waiting:
                stored.set_exception(error)
        else:
            for (_, stored), batch in zip(waiting, batches, strict=True):
                stored.set_result(batch)


class SqlStore:
    """Events in SQLite, given a path, or in PostgreSQL, given its address and the session's id.

    Appends of threads are committed together; between processes the database's own lock decides. must_exist:
    refuse a file or a session that is not there, so that a lost database is not taken for an empty one.
    """

    def __init__(self, where: str | Path, must_exist: bool = False, session: str = "") -> None:
        self._on_server = isinstance(where, str) and postgres.is_address(where)
        self._name = postgres.hide_password(str(where)) if self._on_server else str(where)
        self._session = session if self._on_server else ""
        self._path, self._turn = Path(self._name), threading.Lock()
        self._group = GroupCommit(self._write)
        self._copy: sqlite.MemoryCopy | None = None
        self._blocked: StorageError | None = None
        self._engine = postgres.connect(str(where)) if self._on_server else sqlite.connect(where, must_exist)
        try:
            with naming(self._name):
                self._prepare(self._engine, self._on_server and must_exist)
            if not self._on_server:
                self._compare_last()
                sqlite.checkpoint(self._engine)
        except (DiskFullError, ReadOnlyError, NoPermissionError) as error:
            self.close()
            if not must_exist:
                raise
            self._read_from_copy(error)
        except BaseException:
            self.close()
            raise

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store these events together and return them with number and time."""
        for event in events:
            self._row(event)  # refuses what cannot be stored before others wait for it
        self._go_back()
        if self._blocked is not None:
            raise self._blocked
        return self._group.store(tuple(events)) if events else []

    def copy_in(self, events: Sequence[Event]) -> None:
        """Take over events with their numbers and times, into an empty store."""
        rows = [self._row(event) for event in events]
        with self._writing() as connection:
            if connection.scalar(select(func.count()).where(EVENTS.c.session == self._session)):
                raise SessionError(f"{self._name} holds events already; a copy is made into an empty place only.")
            if rows:
                connection.execute(insert(EVENTS), rows)

    def read(self, after: int = 0) -> Sequence[Event]:
        """Events with a higher number, in order."""
        self._go_back()
        newer = (EVENTS.c.session == self._session) & (EVENTS.c.number > after)
        with self._errors(), self._engine.begin() as connection:
            rows = connection.execute(select(EVENTS).where(newer).order_by(EVENTS.c.number)).all()
        found = [self._event(row) for row in rows]
        for number, event in enumerate(found, start=after + 1):
            if event.number != number:
                raise DamagedError(f"Event {number} in {self._name} is missing. Restore it from a copy.")
        return found

    def check(self) -> None:
        """Read the whole database and refuse one that is damaged; a server looks after its own."""
        if self._on_server:
            return
        with self._errors(), self._engine.begin() as connection:
            verdict = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
        if verdict != "ok":
            raise DamagedError(f"{self._name} is damaged ({verdict}). Keep what is there, and restore it from a copy.")
        self._compare_last()

    def close(self) -> None:
        self._engine.dispose()
        if self._copy is not None:
            self._copy.close()

    def _read_from_copy(self, why: StorageError) -> None:
        """Go on with a copy, for reading only: the disk is full, or cannot be written to."""
        with self._errors():
            self._blocked, self._copy = why, sqlite.MemoryCopy(self._path)
        self._engine = self._copy.engine
        self._prepare(self._engine, must_exist=True)
        self._compare_last()

    def _compare_last(self) -> None:
        """Refuse a file that lacks the event that was noted as its newest; what else is wrong, reading it says."""
        newest = select(EVENTS.c.number, EVENTS.c.digest).order_by(EVENTS.c.number.desc()).limit(1)
        noted = read_last(self._path)
        with self._errors(), self._engine.begin() as connection:
            last = connection.execute(newest).first()
            same = EVENTS.c.number == (0 if noted is None else noted[0])
            kept = connection.scalar(select(EVENTS.c.digest).where(same))
        n_last = 0 if last is None else last.number
        if noted is not None and (n_last < noted[0] or kept not in (None, noted[1])):
            sqlite.keep_log(self._path)
            raise DamagedError(
                f"{self._path} ends with event {n_last}, but event {noted[0]} ({noted[1]}) had been "
                f"stored: the newest events are lost. Restore it from a copy; to go on without them, remove "
                f"{self._path.name}{SUFFIX}."
            )
        if last is not None and (noted is None or noted[0] < last.number):
            write_last(self._path, last.number, last.digest)

    def _go_back(self) -> None:
        """From a copy to the file itself, where that works again; to a new copy, where it changed meanwhile."""
        with self._turn:
            if self._copy is None:
                return
            fresh = sqlite.connect(self._path, must_exist=True)
            try:
                self._prepare(fresh)
            except (DiskFullError, ReadOnlyError, NoPermissionError) as error:
                fresh.dispose()
                if not self._copy.is_current:
                    self.close()
                    self._read_from_copy(error)
                return
            self.close()
            self._engine, self._copy, self._blocked = fresh, None, None

    def _write(self, batches: Sequence[Sequence[Event]]) -> Sequence[Sequence[Event]]:
        """Store these batches one after the other in one transaction."""
        own, stored, rows = EVENTS.c.session == self._session, list[list[Event]](), list[dict[str, Any]]()
        try:
            with self._writing() as connection:
                last = connection.scalar(select(func.max(EVENTS.c.number)).where(own)) or 0
                at, numbers = now(), count(last + 1)
                stored = [[replace(event, number=next(numbers), at=at) for event in batch] for batch in batches]
                rows = [self._row(event) for batch in stored for event in batch]
                connection.execute(insert(EVENTS), rows)
        except SessionError:
            if not (stored and self._on_server and self._holds([event for batch in stored for event in batch])):
                raise
        if not self._on_server:
            write_last(self._path, rows[-1]["number"], rows[-1]["digest"])
        return stored

    def _holds(self, events: Sequence[Event]) -> bool:
        """Whether these were committed before the connection was lost."""
        for pause in (*RECONNECT_SECONDS, None):
            try:
                with self._writing():
                    pass  # the session's lock is free only when the lost transaction has ended
                found = self.read(events[0].number - 1)[: len(events)]
                return [self._row(event) for event in found] == [self._row(event) for event in events]
            except SessionError as error:
                if pause is None:
                    raise SessionError(
                        f"The connection to {self._name} was lost while this was stored, and it cannot be found out "
                        "whether it is there. Send it again: the same answer is stored once."
                    ) from error
                time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _prepare(self, engine: Engine, must_exist: bool = False) -> None:
        """Make the tables where there are none; on a server, note a new session down, or find an old one."""
        with self._errors(), engine.begin() as connection:
            is_there = has_tables(connection)
        if not is_there and must_exist:
            raise self._stranger()
        if not is_there:
            with self._writing(engine) as connection:
                create_tables(connection)
        if self._on_server:
            with self._writing() as connection:
                found = connection.scalar(select(SESSIONS.c.at).where(SESSIONS.c.session == self._session))
                if found is None and must_exist:
                    raise self._stranger()
                if found is None:
                    connection.execute(insert(SESSIONS).values(session=self._session, at=now()))

    @contextmanager
    def _writing(self, all_sessions: Engine | None = None) -> Iterator[Connection]:
        """A transaction that writes. all_sessions: the engine to use where the whole database is changed."""
        with self._errors(), (all_sessions or self._engine).connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                if self._on_server:
                    postgres.lock(connection, None if all_sessions else self._session)
                yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            cause = getattr(error, "orig", None) or error
            if (explained := sqlite.explain(cause, self._path)) is not None:
                raise explained from error
            lines = str(cause).splitlines() or [type(error).__name__]
            remedy = "check its address and that it runs" if self._on_server else "see `soel check`"
            raise SessionError(f"The events in {self._name} cannot be used ({lines[0]}); {remedy}.") from error

    def _row(self, event: Event) -> dict[str, Any]:
        if event.kind not in KINDS:
            raise SessionError(f"{event.kind!r} is not a kind of event. Use one of: {', '.join(KINDS)}.")
        body = json.dumps(dict(event.body), sort_keys=True, ensure_ascii=False, allow_nan=False)
        try:
            said = (event.who + f"{event.item}{body}").encode()
        except (TypeError, UnicodeEncodeError):
            said = b"\0"
        if b"\0" in said:
            raise SessionError(f"{event.who!r} or {event.item!r} is no text that can be stored; choose another name.")
        fields = (event.number, event.at, event.kind, event.who, event.item, body)
        return dict(zip(COLUMNS, (self._session, *fields, digest_of(*fields)), strict=True))

    def _event(self, row: Row[Any]) -> Event:
        try:
            body = parse_json(row.body)
        except (TypeError, ValueError) as error:
            raise self._damage_error(row, "its body is not JSON") from error
        if not isinstance(body, dict):
            raise self._damage_error(row, "its body is not a JSON object")
        if row.kind not in KINDS:
            raise self._damage_error(row, f"its kind is {row.kind!r}")
        if not isinstance(row.number, int) or not isinstance(row.who, str):
            raise self._damage_error(row, "its number or annotator has another type")
        digest = digest_of(row.number, row.at, row.kind, row.who, row.item, row.body)
        if row.digest != digest:
            raise self._damage_error(row, f"{row.kind} of {row.who!r} on {row.item!r} is not what was stored")
        return Event(row.kind, row.who, row.item, body, row.number, row.at)

    def _stranger(self) -> SessionError:
        return SessionError(
            f"{self._name} does not hold this session's events; give the address of the database that does."
        )

    def _damage_error(self, row: Row[Any], why: str) -> DamagedError:
        return DamagedError(
            f"Event {row.number} in {self._name} is damaged, or was changed by hand: {why}. Restore it from a copy."
        )
