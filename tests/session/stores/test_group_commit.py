from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from soel.session import Event
from soel.session.store import GroupCommit
from tests.session.stores.laws import label

Batches = Sequence[Sequence[Event]]


class Disk:
    """Takes batches, slowly at first; refuses those with an item called 'bad'."""

    def __init__(self) -> None:
        self.commits: list[list[str]] = []
        self.entered, self.go = threading.Event(), threading.Event()

    def write(self, batches: Batches) -> Batches:
        self.entered.set()
        assert self.go.wait(60)
        items = [str(event.item) for batch in batches for event in batch]
        if "bad" in items:
            raise ValueError("a bad item")
        self.commits.append(items)
        return batches


def store_all(disk: Disk, items: Sequence[str]) -> list[str]:
    """Store the first item, and all others while the disk is busy with it; returns what each was told."""
    group = GroupCommit(disk.write)

    def store(item: str) -> str:
        try:
            return str(group.store([label(item)])[0].item)
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(len(items)) as pool:
        first = pool.submit(store, items[0])
        assert disk.entered.wait(60)
        others = [pool.submit(store, item) for item in items[1:]]
        while len(group._waiting) < len(items) - 1:
            pass
        disk.go.set()
        return [each.result(10) for each in (first, *others)]


def test_those_who_wait_share_a_commit() -> None:
    disk = Disk()
    assert store_all(disk, list("abcdef")) == list("abcdef")
    assert [len(commit) for commit in disk.commits] == [1, 5]


def test_a_failure_is_told_to_all_who_waited_and_nothing_is_stored_twice() -> None:
    disk = Disk()
    assert store_all(disk, ["a", "b", "bad", "c"]) == ["a", *["a bad item"] * 3]
    assert disk.commits == [["a"]]


def test_a_failure_is_raised_and_the_next_goes_on() -> None:
    disk = Disk()
    disk.go.set()
    group = GroupCommit(disk.write)
    with pytest.raises(ValueError, match="a bad item"):
        group.store([label("bad")])
    assert group.store([label("a")])[0].item == "a"
