"""The event store: an append-only table in a SQL database."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, create_engine, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from soel.errors import (
    ConfigError,
    DamagedError,
    DiskFullError,
    NoPermissionError,
    ReadOnlyError,
    SessionError,
    StorageError,
    naming,
)
from soel.files import move, parse_json
from soel.session import postgres, sqlite
from soel.session.config import SessionConfig
from soel.session.event_table import EVENTS, SESSIONS, GroupCommit, create_tables, digest_of, has_tables, now
from soel.session.events import KINDS, Event
from soel.session.folder import SessionFolder
from soel.session.sqlite import SUFFIX, read_last, write_last

COLUMNS = tuple(column.name for column in EVENTS.columns)
RECONNECT_SECONDS = (0.5, 1.0, 2.0, 4.0)  # between tries to find out what a lost connection left
N_CONNECTIONS = 24  # kept open per process: opening one costs more than a read


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
        self._engine = _connect(str(where)) if self._on_server else _open(where, must_exist)
        try:
            with naming(self._name):
                self._prepare(self._engine, self._on_server and must_exist)
            if self._on_server:
                self._enrol(must_exist)
            else:
                self._compare_last(self._path)
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
        self._compare_last(self._path)

    def close(self) -> None:
        """Let go of the file or the server."""
        self._engine.dispose()
        if self._copy is not None:
            self._copy.close()

    def _read_from_copy(self, why: StorageError) -> None:
        """Go on with a copy, for reading only: the disk is full, or cannot be written to."""
        with self._errors():
            self._blocked, self._copy = why, sqlite.MemoryCopy(self._path)
        self._engine = self._copy.engine
        self._prepare(self._engine, must_exist=True)
        self._compare_last(self._path)

    def _compare_last(self, database: Path) -> None:
        """Refuse a file that lacks the event that was noted as its newest; what else is wrong, reading it says."""
        newest = select(EVENTS.c.number, EVENTS.c.digest).order_by(EVENTS.c.number.desc()).limit(1)
        with self._errors(), self._engine.begin() as connection:
            noted = read_last(database)
            last = connection.execute(newest).first()
            kept = (
                None if noted is None else connection.scalar(select(EVENTS.c.digest).where(EVENTS.c.number == noted[0]))
            )
        n_last = 0 if last is None else last.number
        if noted is not None and (n_last < noted[0] or kept not in (None, noted[1])):
            sqlite.keep_log(database)
            raise DamagedError(
                f"{database} ends with event {n_last}, but event {noted[0]} ({noted[1]}) had been "
                f"stored: the newest events are lost. Restore it from a copy; to go on without them, remove "
                f"{database.name}{SUFFIX}."
            )
        if last is not None and (noted is None or noted[0] < last.number):
            write_last(database, last.number, last.digest)

    def _go_back(self) -> None:
        """From a copy to the file itself, where that works again; to a new copy, where it changed meanwhile."""
        with self._turn:
            if self._copy is not None:
                self._try_file(self._copy)

    def _try_file(self, copy: sqlite.MemoryCopy) -> None:
        fresh = _open(self._path, True)
        try:
            self._prepare(fresh)
        except (DiskFullError, ReadOnlyError, NoPermissionError) as error:
            fresh.dispose()
            if not copy.is_current:
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
        """Make the tables where there are none."""
        with self._errors(), engine.begin() as connection:
            is_there = has_tables(connection)
        if not is_there and must_exist:
            raise self._stranger()
        if not is_there:
            with self._writing(engine) as connection:
                create_tables(connection)

    def _enrol(self, must_exist: bool) -> None:
        """Note down a new session on the server, or find an old one."""
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
        if "\x00" in f"{event.who}{event.item}":
            raise SessionError(f"{event.who!r} or {event.item!r} holds a NUL character; choose another name.")
        body = json.dumps(dict(event.body), sort_keys=True, ensure_ascii=False, allow_nan=False)
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


def _open(where: str | Path, must_exist: bool) -> Engine:
    if "://" in str(where):
        raise ConfigError(f"{where!r} is neither a file nor the address of a PostgreSQL database; give one of them.")
    if must_exist and not Path(where).is_file():
        raise DamagedError(f"{where} is missing, and with it every answer; restore it from a copy.")
    engine = create_engine(f"sqlite:///{where}", pool_size=N_CONNECTIONS)
    sqlite.tune(engine)
    return engine


def _connect(where: str) -> Engine:
    url = postgres.read_address(where)
    try:
        engine = create_engine(
            url, pool_size=N_CONNECTIONS, pool_pre_ping=True, connect_args=postgres.connect_arguments(url)
        )
    except ModuleNotFoundError as error:
        raise ConfigError(
            "A PostgreSQL store needs the package psycopg, which is not installed; install soel[postgres]."
        ) from error
    postgres.tune(engine)
    return engine


IN_FOLDER = "folder"


def strip_password(address: str | None) -> str | None:
    """The address as the config keeps it: without a password."""
    if address is None or address == IN_FOLDER:
        return None
    postgres.read_address(address)
    return postgres.without_password(address)


def new_store(folder: Path, config: SessionConfig, address: str | None) -> SqlStore:
    """An empty store for a session that starts now. address: as it was given, with a password or not."""
    if config.store is None:
        return SqlStore(SessionFolder(folder).events)
    store = SqlStore(address or config.store, session=config.session)
    postgres.remember(config.store)
    return store


def open_store(place: SessionFolder, address: str | None = None) -> SqlStore:
    """The events of a session. address: in place of the config's, with its password; 'folder' for a copy there.

    An address that only the config names is used where this account has used it before.
    """
    where = address or place.config.store
    if where is None or where == IN_FOLDER:
        return SqlStore(place.events, must_exist=True)
    if not postgres.is_address(where):
        raise ConfigError(f"{where!r} is no store; give postgresql://user@host/database, or {IN_FOLDER!r}.")
    if address is None:
        postgres.check_known(where, place.path)
    store = SqlStore(where, must_exist=True, session=place.config.session)
    postgres.remember(postgres.without_password(where))
    return store


def child_environment(address: str | None) -> dict[str, str]:
    """The environment for a process of our own: it carries the password, which no command line should show."""
    password = None if address is None or address == IN_FOLDER else postgres.password_in(address)
    return {**os.environ} if password is None else {**os.environ, "PGPASSWORD": password}


def copy_events_into_folder(place: SessionFolder, events: Sequence[Event]) -> Path:
    """Copy the events from the server into the session's folder, whole or not at all; returns the file."""
    if place.config.store is None:
        raise SessionError(f"The events of {place.path} are in the folder already; there is nothing to bring in.")
    target = place.events
    partial = target.with_name(".events.partial")
    partial.unlink(missing_ok=True)
    store = SqlStore(partial)
    try:
        store.copy_in(events)
    finally:
        store.close()
    for trace in ("-wal", "-shm", SUFFIX):  # of an older copy; beside a new file they would be read as a part of it
        target.with_name(target.name + trace).unlink(missing_ok=True)
    move(partial, target)
    return target
