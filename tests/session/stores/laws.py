"""The laws of a store of events. A part opens the same place each time it is called, empty before the first law.

A law leaves events behind: give each law an empty place of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from soel.errors import SessionError
from soel.session import Event, Store
from soel.session.store import SqlStore
from soel.testing.laws import Law, expecting, require

OpenStore = Callable[[], Store]

AWKWARD = (
    Event("label", "ann", "item 1", {"label": 1, "note": "'; DROP TABLE events; --"}),
    Event("skip", "Żółć 🙂", "=1+1"),
    Event("estimate", "soel", None, {"value": 0.1 + 0.2, "nested": {"list": [1, None, True, "\x00"]}}),
)


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


def check_new_store_is_empty(open_store: OpenStore) -> None:
    """There is nothing to read at first."""
    require(list(open_store().read()) == [], "A new store must be empty.")


def check_append_returns_what_read_gives(open_store: OpenStore) -> None:
    """Whatever JSON can say comes back as it was given, with a number and a time."""
    store = open_store()
    stored = list(store.append(AWKWARD))
    require(stored == list(store.read()), "`append` must return the events as `read` gives them.")
    for given, got in zip(AWKWARD, stored, strict=True):
        require(
            (got.kind, got.who, got.item, got.body) == (given.kind, given.who, given.item, given.body),
            f"An event must come back as it was given: {given} became {got}.",
        )
        require(got.at, f"A stored event must have a time, got {got}.")


def check_numbers_rise_by_one(open_store: OpenStore) -> None:
    """From 1 on, over all appends."""
    store = open_store()
    given = [*store.append([label("a"), label("b")]), *store.append([label("c")])]
    require(numbers(given) == [1, 2, 3], f"Numbers must be 1, 2, 3, got {numbers(given)}.")
    require(numbers(store.read()) == [1, 2, 3], f"Numbers must be read as given, got {numbers(store.read())}.")


def check_empty_append_changes_nothing(open_store: OpenStore) -> None:
    """No events in, none out, none stored."""
    store = open_store()
    require(list(store.append([])) == [], "Appending nothing must return nothing.")
    require(list(store.read()) == [], "Appending nothing must store nothing.")


def check_read_goes_on_after_a_number(open_store: OpenStore) -> None:
    """`after` leaves out what was read before."""
    store = open_store()
    store.append([label(item) for item in "abcd"])
    items = [event.item for event in store.read(after=2)]
    require(items == ["c", "d"], f"After number 2 of a, b, c, d come c and d, got {items}.")
    require(list(store.read(after=4)) == [], "After the last number comes nothing.")


def check_append_is_whole_or_nothing(open_store: OpenStore) -> None:
    """A batch with an event that cannot be stored leaves nothing, not even a number."""
    store = open_store()
    for what, bad, errors in (
        ("A number that JSON does not know", Event("label", "ann", "b", {"label": float("nan")}), (ValueError,)),
        ("An unknown kind", Event("gossip", "ann", "b"), ()),
        ("Half a character", Event("note", "ann", "b", {"note": "\udc00"}), ()),
        ("An event of nobody", Event("label", None, "b"), ()),  # type: ignore[arg-type]
    ):
        with expecting(f"{what} in a batch", SessionError, *errors):
            store.append([label("a"), bad])
        require(list(store.read()) == [], f"{what} in a batch: nothing of it may be stored.")
    found = numbers(store.append([label("a")]))
    require(found == [1], f"A refused batch must not use up numbers, got {found}.")


def check_events_outlive_their_store(open_store: OpenStore) -> None:
    """Another opening reads the same, while the first is open and after it was closed, and goes on counting."""
    first = open_store()
    stored = list(first.append(AWKWARD))
    require(list(open_store().read()) == stored, "A second opening must read what the first one stored.")
    first.close()
    again = open_store()
    require(list(again.read()) == stored, "A store that is opened again must read what was stored before.")
    found = numbers(again.append([label("z")]))
    require(found == [len(stored) + 1], f"Numbers must go on after {len(stored)}, got {found}.")


def check_threads_lose_and_repeat_nothing(open_store: OpenStore) -> None:
    """Four threads on two openings: every event once, every batch together."""
    stores = [open_store(), open_store()]

    def work(worker: int) -> list[int]:
        store = stores[worker % 2]
        given = [store.append([label(f"{worker}.{turn}"), label(f"{worker}.{turn}+")]) for turn in range(5)]
        together = all(second.number == first.number + 1 for first, second in given)
        require(together, "The events of a batch must stay together.")
        return [number for batch in given for number in numbers(batch)]

    with ThreadPoolExecutor(4) as pool:
        given = sorted(number for result in pool.map(work, range(4)) for number in result)
    require(given == list(range(1, 41)), f"Forty events must have the numbers 1 to 40, got {given}.")
    require(numbers(stores[0].read()) == given, "Every event must be read once.")


STORE_LAWS: tuple[Law[OpenStore], ...] = (
    check_new_store_is_empty,
    check_append_returns_what_read_gives,
    check_numbers_rise_by_one,
    check_empty_append_changes_nothing,
    check_read_goes_on_after_a_number,
    check_append_is_whole_or_nothing,
    check_events_outlive_their_store,
    check_threads_lose_and_repeat_nothing,
)
