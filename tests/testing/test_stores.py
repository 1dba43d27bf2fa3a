"""The stores' kit finds out stores that are wrong in one way each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import pytest

from soel.errors import SessionError
from soel.session import Event
from soel.session.events import KINDS
from soel.testing import STORE_LAWS, check_store, stores
from soel.testing.laws import Law
from tests.testing.broken import cases


class Place:
    """What outlives a store."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.lock = Lock()


class ListStore:
    """A right store, but for a crash."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        with self.place.lock:
            first = len(self.place.events) + 1
            stored = [self.numbered(event, first + place) for place, event in enumerate(events)]
            self.place.events += stored
        return stored

    def numbered(self, event: Event, number: int) -> Event:
        if event.kind not in KINDS or event.who is None:
            raise SessionError(f"{event} cannot be stored.")
        json.dumps(dict(event.body), allow_nan=False)
        return replace(event, number=number, at="now")

    def read(self, after: int = 0) -> Sequence[Event]:
        return [event for event in self.place.events if event.number > after]

    def close(self) -> None:
        pass


class Prefilled(ListStore):
    def read(self, after: int = 0) -> Sequence[Event]:
        return [Event("note", "soel", number=1, at="now"), *super().read(after)]


class AsciiOnly(ListStore):
    def numbered(self, event: Event, number: int) -> Event:
        return replace(super().numbered(event, number), who=event.who.encode("ascii", "replace").decode())


class FromZero(ListStore):
    def numbered(self, event: Event, number: int) -> Event:
        return replace(super().numbered(event, number), number=number - 1)


class Heartbeat(ListStore):
    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        return super().append(events or [Event("note", "soel")])


class Inclusive(ListStore):
    def read(self, after: int = 0) -> Sequence[Event]:
        return super().read(max(after - 1, 0))


class OneByOne(ListStore):
    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        return [stored for event in events for stored in ListStore.append(self, [event])]


class Forgetful(ListStore):
    def __init__(self, place: Place) -> None:
        super().__init__(Place())


class Unlocked(ListStore):
    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        first = len(self.place.events) + 1
        stored = [self.numbered(event, first + place) for place, event in enumerate(events)]
        time.sleep(0.002)  # long enough for another thread
        self.place.events += stored
        return stored


BROKEN: dict[Law[Any], type[ListStore]] = {
    stores.check_new_store_is_empty: Prefilled,
    stores.check_append_returns_what_read_gives: AsciiOnly,
    stores.check_numbers_rise_by_one: FromZero,
    stores.check_empty_append_changes_nothing: Heartbeat,
    stores.check_read_goes_on_after_a_number: Inclusive,
    stores.check_append_is_whole_or_nothing: OneByOne,
    stores.check_events_outlive_their_store: Forgetful,
    stores.check_threads_lose_and_repeat_nothing: Unlocked,
}


def new_place(store: type[ListStore]) -> Callable[[], ListStore]:
    place = Place()
    return lambda: store(place)


@pytest.mark.parametrize(("law", "broken"), cases(STORE_LAWS, BROKEN))
def test_each_law_finds_out_a_store_that_breaks_it(law: Law[Any], broken: type[ListStore]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(new_place(broken))
    law(new_place(ListStore))


def test_the_kit_gives_each_law_a_place_of_its_own_and_names_every_broken_one() -> None:
    check_store(lambda: new_place(ListStore))
    with pytest.raises(AssertionError, match=r"(?s)1 of 8 laws.*check_read_goes_on_after_a_number: .* come c and d"):
        check_store(lambda: new_place(Inclusive))
