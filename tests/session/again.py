"""The law that a session computed again gives the same picks and scores.

Each step that computed is taken again by a session on a copy of the folder that knows only the events known then.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from soel.session import Event, Session
from soel.session.rounds import SPOT_CHECK

COMPUTED = ("warm-up", "round", "refine", "estimate", "fit")
NAMES = ("folder", "record")  # of files, which another process calls otherwise


class ListStore:
    """A store in memory."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = list(events)

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store these events together and return them with number and time."""
        last, at = len(self.events), self.events[-1].at if self.events else "2024-01-01T00:00:00+00:00"
        stored = [replace(event, number=last + n, at=at) for n, event in enumerate(events, start=1)]
        self.events += stored
        return stored

    def read(self, after: int = 0) -> Sequence[Event]:
        """Events with a higher number, in order."""
        return self.events[after:]

    def close(self) -> None:
        """Nothing is held."""


def repeat(session: Session) -> list[tuple[Event, Event]]:
    """Every event of a step that computed and counted, with the event that comes of it when it is taken again."""
    state, pairs = session.state, list[tuple[Event, Event]]()
    counted = {part.event for drawn in state.rounds for part in drawn.parts}
    for event in session.events:
        if event.kind not in COMPUTED or (event.kind in ("round", "refine") and event.number not in counted):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copytree(session.folder.path, Path(scratch) / "session")
            store = ListStore(session.events[: event.body["after"]])
            with closing(Session(copy, store)) as again:
                _take(again, event)
        pairs.append((event, next(each for each in reversed(store.events) if each.kind == event.kind)))
    return pairs


def differing(session: Session) -> list[str]:
    """The kinds of the steps that give something else when they are taken again."""
    return [event.kind for event, again in repeat(session) if said_by(event) != said_by(again)]


def said_by(event: Event) -> dict[str, Any]:
    """What an event says, but for names of files; of a model its fingerprint counts."""
    body = {name: value for name, value in event.body.items() if name not in NAMES}
    if "model" in body:
        body["model"] = body["model"]["fingerprint"]
    return body


def _take(again: Session, event: Event) -> None:
    body = event.body
    if event.kind == "refine":
        assert again.refine(now=datetime.fromisoformat(body["looked_at"])) is not None
    elif event.kind == "round" and body["strategy"] == SPOT_CHECK:
        again.spot_check(len(body["asked"]))
    elif event.kind == "round":
        again.ask(len(body["asked"]), not_sure="not_sure" in body["options"])
    else:
        again.fit()
