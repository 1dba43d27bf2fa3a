"""The tables of the event store, and the steps that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    literal,
    select,
)

from soel.errors import DamagedError, SessionError

METADATA = MetaData()


def _content() -> list[Column[Any]]:
    """What every form of the table of events has had."""
    return [
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("at", String(40), nullable=False),
        Column("kind", String(20), nullable=False),
        Column("who", Text, nullable=False),
        Column("item", Text, nullable=True),
        Column("body", Text, nullable=False),
    ]


# A file holds one session, whose name is empty here: the folder says which one it is. A server holds many.
EVENTS = Table("events", METADATA, Column("session", String(100), primary_key=True), *_content())

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("session", String(100), primary_key=True),
    Column("at", String(40), nullable=False),
)

MIGRATIONS_DONE = Table(
    "migrations",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
)


_FIRST_EVENTS = Table("events", MetaData(), *_content())
_OLD_EVENTS = Table("events_of_one", MetaData(), *_content())


def _first(connection: Connection) -> None:
    _FIRST_EVENTS.create(connection)


def _many_sessions(connection: Connection) -> None:
    """Give every event its session, and the database a list of them."""
    connection.exec_driver_sql("ALTER TABLE events RENAME TO events_of_one")
    if connection.dialect.name == "postgresql":  # a key keeps its name when its table is renamed
        connection.exec_driver_sql("ALTER INDEX events_pkey RENAME TO events_of_one_pkey")
    EVENTS.create(connection)
    SESSIONS.create(connection)
    kept = select(literal("").label("session"), *_OLD_EVENTS.columns)
    connection.execute(insert(EVENTS).from_select([column.name for column in EVENTS.columns], kept))
    _OLD_EVENTS.drop(connection)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first, _many_sessions)


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def check_ours(connection: Connection) -> int:
    """The schema's version, 0 for an empty database; anything else is refused."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return 0
    if MIGRATIONS_DONE.name not in tables:
        raise SessionError(
            f"The database holds other tables ({', '.join(sorted(tables)[:5])}) and no soel events; "
            "choose another place, or restore it from a copy."
        )
    version = connection.scalar(select(func.max(MIGRATIONS_DONE.c.version))) or 0
    if version > len(MIGRATIONS):
        raise SessionError(
            f"The events have schema {version}, this release knows up to {len(MIGRATIONS)}; use a newer one."
        )
    if version and EVENTS.name not in tables:
        raise DamagedError("The database has lost its table of events; restore it from a copy.")
    return int(version)


def is_newest(version: int) -> bool:
    """Whether there is no migration left."""
    return version >= len(MIGRATIONS)


def take_step(connection: Connection) -> bool:
    """Take the next migration together with its record; False when there is none left."""
    version = check_ours(connection)
    if is_newest(version):
        return False
    MIGRATIONS_DONE.create(connection, checkfirst=True)
    MIGRATIONS[version](connection)
    connection.execute(insert(MIGRATIONS_DONE).values(version=version + 1, at=now()))
    return True
