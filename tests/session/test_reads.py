"""The state of a session is read once a step, and a model and an encoder once a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from soel.session import Session, create
from soel.session.score_file import score_file
from soel.session.store import SqlStore
from soel.tables.encoder import Encoder
from tests.session.fake_learner import spy_on_loads
from tests.table_session import Make


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of the event after which each reading of a store begins."""
    seen, read = list[int](), SqlStore.read

    def note(store: SqlStore, after: int = 0) -> Any:
        seen.append(after)
        return read(store, after)

    monkeypatch.setattr(SqlStore, "read", note)
    return seen


def test_a_click_reads_the_state_once(session: Session, reads: list[int]) -> None:
    session.ask(5)
    (item,) = session.next_items("ann")
    reads.clear()
    with session.one_state():
        session.tell({item: "normal"}, "ann")
        (following,) = session.next_items("ann")
        assert following != item
        assert session.status().n_labels == 1
    assert len(reads) == 1


@pytest.mark.parametrize("step", ["tell", "next_items", "undo", "decide", "note", "assign"])
def test_each_step_alone_reads_the_state_once(session: Session, reads: list[int], step: str) -> None:
    items = session.ask(5).items
    session.tell({items[0]: "normal"}, "ann")
    steps = {
        "tell": lambda: session.tell({items[1]: "normal"}, "ann"),
        "next_items": lambda: session.next_items("ann"),
        "undo": lambda: session.undo("ann"),
        "decide": lambda: session.decide(items[0], "normal"),
        "note": lambda: session.note(items[0], "odd", "ann"),
        "assign": lambda: session.assign(["ann"]),
    }
    reads.clear()
    steps[step]()
    assert len(reads) == 1


def test_what_others_do_meanwhile_is_known_after_a_step_of_ones_own(session: Session, make_session: Any) -> None:
    other = make_session()
    with session.one_state() as state:
        other.tell({"item 3": "anomaly"}, "bob")
        assert session.state is state, "nobody asked again"
        session.tell({"item 4": "normal"}, "ann")
        assert set(session.state.labels) == {"item 3", "item 4"}
    other.tell({"item 5": "anomaly"}, "bob")
    assert "item 5" in session.state.labels


def test_scoring_new_rows_parses_the_encoder_once_and_loads_one_model(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make()
    session.tell(dict.fromkeys(session.ask(4).items, "normal"))
    session.fit()
    session.close()
    again = create.open_session(session.folder.path)  # as a command begins
    loaded, parsed, from_json = spy_on_loads(monkeypatch), list[int](), Encoder.from_json

    def note(values: Any) -> Encoder:
        parsed.append(1)
        return from_json(values)

    monkeypatch.setattr(Encoder, "from_json", note)
    score_file(again, tmp_path / "table.csv", tmp_path / "scores.csv", why="alarms")
    assert len(loaded) == 1
    assert len(parsed) == 1
