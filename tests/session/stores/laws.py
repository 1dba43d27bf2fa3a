"""What the tests of stores share: openers of places, and small events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from soel.session import Event
from soel.session.store import SqlStore
from tests.session.stores.store_laws import OpenStore


@contextmanager
def opener(*where: Any, **options: Any) -> Iterator[OpenStore]:
    """Opens the same place each time it is called; whatever was opened is closed in the end."""
    opened: list[SqlStore] = []

    def opening() -> SqlStore:
        opened.append(SqlStore(*where, **options))
        return opened[-1]

    try:
        yield opening
    finally:
        for store in opened:
            store.close()


def label(item: str) -> Event:
    return Event("label", "ann", item, {"label": 1})


def numbers(events: Sequence[Event]) -> list[int]:
    return [event.number for event in events]
