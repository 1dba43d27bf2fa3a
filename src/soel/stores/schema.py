"""The tables of the event store, and the steps that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

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
    select,
)

from soel.errors import SessionError

METADATA = MetaData()

EVENTS = Table(
    "events",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("who", Text, nullable=False),
    Column("item", Text, nullable=True),
    Column("body", Text, nullable=False),
)

MIGRATIONS_DONE = Table(
    "migrations",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
)


def _first(connection: Connection) -> None:
    EVENTS.create(connection)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first,)


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
        raise SessionError("The database has lost its table of events; restore it from a copy.")
    return int(version)


def take_step(connection: Connection) -> bool:
    """Take the next migration together with its record; False when there is none left."""
    version = check_ours(connection)
    if version == len(MIGRATIONS):
        return False
    MIGRATIONS_DONE.create(connection, checkfirst=True)
    MIGRATIONS[version](connection)
    connection.execute(insert(MIGRATIONS_DONE).values(version=version + 1, at=now()))
    return True
