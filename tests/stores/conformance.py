"""The laws of a store of events. A new store subclasses StoreLaws and supplies the fixture `open_store`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from soel.errors import SessionError
from soel.session import Event, Store

OpenStore = Callable[[], Store]

AWKWARD = [
    Event("label", "ann", "item 1", {"label": 1, "note": "'; DROP TABLE events; --"}),
    Event("skip", "Żółć 🙂", "=1+1"),
    Event("estimate", "soel", None, {"value": 0.1 + 0.2, "nested": {"list": [1, None, True, "\x00"]}}),
]


def label(item: str) -> Event:
    return Event("label", "ann", item, {"label": 1})


def numbers(events: Sequence[Event]) -> list[int]:
    return [event.number for event in events]


class StoreLaws:
    """`open_store()` opens the same, at first empty, place each time it is called."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError("a store's tests supply this fixture")

    def test_a_new_store_is_empty(self, open_store: OpenStore) -> None:
        assert list(open_store().read()) == []

    def test_append_returns_what_read_gives(self, open_store: OpenStore) -> None:
        store = open_store()
        stored = list(store.append(AWKWARD))
        assert stored == list(store.read())
        assert [(e.kind, e.who, e.item, e.body) for e in stored] == [(e.kind, e.who, e.item, e.body) for e in AWKWARD]
        assert all(event.at for event in stored)

    def test_numbers_rise_by_one_from_one(self, open_store: OpenStore) -> None:
        store = open_store()
        given = [*store.append([label("a"), label("b")]), *store.append([label("c")])]
        assert numbers(given) == numbers(store.read()) == [1, 2, 3]

    def test_an_empty_append_changes_nothing(self, open_store: OpenStore) -> None:
        store = open_store()
        assert list(store.append([])) == []
        assert list(store.read()) == []

    def test_read_goes_on_after_a_number(self, open_store: OpenStore) -> None:
        store = open_store()
        store.append([label(item) for item in "abcd"])
        assert [event.item for event in store.read(after=2)] == ["c", "d"]
        assert list(store.read(after=4)) == []

    def test_a_batch_is_stored_whole_or_not_at_all(self, open_store: OpenStore) -> None:
        store = open_store()
        with pytest.raises((SessionError, ValueError, TypeError)):
            store.append([label("a"), Event("label", "ann", "b", {"label": float("nan")})])
        with pytest.raises(SessionError):
            store.append([label("a"), Event("gossip", "ann", "b")])
        with pytest.raises(SessionError):
            store.append([label("a"), Event("label", None, "b")])  # type: ignore[arg-type]
        assert list(store.read()) == []
        assert numbers(store.append([label("a")])) == [1]

    def test_another_opening_reads_the_same(self, open_store: OpenStore) -> None:
        first = open_store()
        stored = list(first.append(AWKWARD))
        assert list(open_store().read()) == stored
        first.close()
        again = open_store()
        assert list(again.read()) == stored
        assert numbers(again.append([label("z")])) == [4]

    def test_threads_lose_and_repeat_nothing(self, open_store: OpenStore) -> None:
        stores = [open_store(), open_store()]

        def work(worker: int) -> list[int]:
            store = stores[worker % 2]
            given = [store.append([label(f"{worker}.{turn}"), label(f"{worker}.{turn}+")]) for turn in range(5)]
            assert all(second.number == first.number + 1 for first, second in given), "a batch stays together"
            return [number for batch in given for number in numbers(batch)]

        with ThreadPoolExecutor(4) as pool:
            given = [number for result in pool.map(work, range(4)) for number in result]
        assert sorted(given) == numbers(stores[0].read()) == list(range(1, 41))
