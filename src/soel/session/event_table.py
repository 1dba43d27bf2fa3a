"""The tables of the event store, and one commit for all who append at once.

Where each answer has a commit of its own, 20 people who answer at the same moment miss 100 ms at the 99th percentile:
`python -m benchmarks.commit_together`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, Text, insert, inspect, select

from soel.errors import DamagedError, SessionError
from soel.session.events import Event

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


def digest_of(number: int, at: str, kind: str, who: str, item: str | None, body: str) -> str:
    """Of all that an event says, so that one changed letter in it is noticed."""
    content = f"{number}\0{at}\0{kind}\0{who}\0{'' if item is None else '='}{item}\0{body}"
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


Batch = Sequence[Event]
Write = Callable[[Sequence[Batch]], Sequence[Batch]]


@dataclass
class _Ticket:
    """What one caller wants stored, and how it went."""

    events: Batch
    stored: Batch = ()
    error: BaseException | None = None
    done: bool = False


@dataclass
class GroupCommit:
    """Threads hand in batches; whoever comes first writes those of all who came meanwhile, in one transaction.

    write: stores batches together, each whole, and returns them with number and time. When it fails for several, it
    is tried for each alone, so that nobody suffers for another's fault.
    """

    write: Write
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _door: threading.Lock = field(default_factory=threading.Lock)
    _waiting: list[_Ticket] = field(default_factory=list)

    def store(self, events: Batch) -> Batch:
        """Returns when these events are durable; raises when they are not."""
        ticket = _Ticket(events)
        with self._door:
            self._waiting.append(ticket)
        with self._turn:
            if not ticket.done:
                self._write_all()
        if ticket.error is not None:
            raise ticket.error
        return ticket.stored

    def _write_all(self) -> None:
        with self._door:
            tickets, self._waiting = self._waiting, []
        if not self._attempt(tickets) and len(tickets) > 1:
            for ticket in tickets:
                self._attempt([ticket])

    def _attempt(self, tickets: Sequence[_Ticket]) -> bool:
        """Write these; on failure every one of them gets the error."""
        try:
            stored = self.write([ticket.events for ticket in tickets])
        except BaseException as error:  # it is raised again, in the thread that it concerns
            for ticket in tickets:
                ticket.error, ticket.done = error, True
            return False
        for ticket, batch in zip(tickets, stored, strict=True):
            ticket.stored, ticket.error, ticket.done = batch, None, True
        return True
