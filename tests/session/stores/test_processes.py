"""Several processes at one store, some of them killed: on a file and on a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.session import Event
from soel.session.store import SqlStore
from tests.session.stores.killing import kill_writers, start
from tests.session.stores.laws import numbers


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "events.sqlite")
    return str(request.getfixturevalue("address"))


def test_processes_that_start_together_lose_and_repeat_nothing(where: str, name: str) -> None:
    writers = [start(where, name, who, "15") for who in ("x", "y", "z")]
    said = [int(line) for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert all(writer.returncode == 0 for writer in writers)
    store = SqlStore(where, session=name)
    events = store.read()
    store.close()
    assert numbers(events) == list(range(1, 91))
    assert len(set(said)) == 45
    assert len({event.item for event in events}) == 90


def test_what_was_acknowledged_survives_30_kills(where: str, name: str) -> None:
    outcome = kill_writers(where, name, 30)
    events = outcome.events
    assert outcome.lost == set()
    assert numbers(events) == list(range(1, len(events) + 1))
    assert len({event.who for event in events}) == 30
    assert len(set(outcome.acknowledged)) == len(outcome.acknowledged) >= 30
    assert [e.item for e in events[0::2]] == [f"{str(e.item)[:-1]}a" for e in events[1::2]], "batches are whole"
    store = SqlStore(where, session=name)
    assert numbers(store.append([Event("undo", "ann")])) == [len(events) + 1]
    store.close()
