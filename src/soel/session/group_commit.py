"""One commit for all who wait: twenty annotators then wait for two syncs of the disk, not for twenty."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from soel.session.events import Event

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
