"""Events: what a session is made of. They are only ever appended, and all that holds follows from them in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

SELF = "soel"  # who did what the session does by itself
ANSWER_KINDS = ("label", "skip", "unsure")
KINDS = (
    "warm-up",
    "round",
    "refine",
    *ANSWER_KINDS,
    "undo",
    "lease",
    "decide",
    "note",
    "mark",
    "maps",
    "budget",
    "estimate",
    "fit",
    "pool",
    "describe",
    "assign",
    "watch",
    "promote",
)


@dataclass(frozen=True)
class Event:
    """One thing that happened, kept for ever. The store gives it its `number` and its time `at` (UTC).

    kind: one of KINDS.
    who: the annotator, or 'soel' for what the session did by itself.
    item: an item id for answers, leases, decisions, notes, marks and assignments.
    body: what else belongs to it, plain JSON.
    """

    kind: str
    who: str
    item: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    at: str = ""


class Store(Protocol):
    """An append-only list of events, shared by threads and processes.

    `append` returns after the events are durable, all of them or none; numbers rise by one and never repeat.
    Readers see whole appends only.
    """

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store these events together and return them with number and time."""

    def read(self, after: int = 0) -> Sequence[Event]:
        """Events with a higher number, in order."""

    def close(self) -> None:
        """Let go of the file or the server."""
