"""The tables of the event store, and the steps that lead to them."""

from __future__ import annotations

import hashlib
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
    bindparam,
    func,
    insert,
    inspect,
    literal,
    select,
    update,
)

from soel.errors import DamagedError, SessionError

METADATA = MetaData()
DIGITS = 16


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
EVENTS = Table(
    "events",
    METADATA,
    Column("session", String(100), primary_key=True),
    *_content(),
    Column("digest", String(DIGITS), nullable=True),  # null in what a process of an older release adds
)

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
_BARE_EVENTS = Table("events", MetaData(), Column("session", String(100), primary_key=True), *_content())


def _first(connection: Connection) -> None:
    _FIRST_EVENTS.create(connection)


def _many_sessions(connection: Connection) -> None:
    """Give every event its session, and the database a list of them."""
    connection.exec_driver_sql("ALTER TABLE events RENAME TO events_of_one")
    if connection.dialect.name == "postgresql":  # a key keeps its name when its table is renamed
        connection.exec_driver_sql("ALTER INDEX events_pkey RENAME TO events_of_one_pkey")
    _BARE_EVENTS.create(connection)
    SESSIONS.create(connection)
    kept = select(literal("").label("session"), *_OLD_EVENTS.columns)
    connection.execute(insert(_BARE_EVENTS).from_select([column.name for column in _BARE_EVENTS.columns], kept))
    _OLD_EVENTS.drop(connection)


def _digests(connection: Connection) -> None:
    """Give every event its digest."""
    connection.exec_driver_sql(f"ALTER TABLE events ADD COLUMN digest VARCHAR({DIGITS})")
    columns = EVENTS.columns
    rows = connection.execute(select(_BARE_EVENTS)).all()
    known = [{"of": row.session, "at_number": row.number, "new": digest_of(*row[1:])} for row in rows]
    if known:
        is_one = (columns.session == bindparam("of")) & (columns.number == bindparam("at_number"))
        connection.execute(update(EVENTS).where(is_one).values(digest=bindparam("new")), known)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first, _many_sessions, _digests)


def digest_of(number: int, at: str, kind: str, who: str, item: str | None, body: str) -> str:
    """Of all that an event says, so that one changed letter in it is noticed."""
    content = f"{number}\0{at}\0{kind}\0{who}\0{'' if item is None else '='}{item}\0{body}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


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
