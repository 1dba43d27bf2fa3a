from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soel.assess.calibration import Calibration
from soel.model import Fitted
from soel.oracle import SimulatedExpert
from soel.session import Event, Session
from soel.session.replay import replay
from soel.types import Estimate
from tests.session.conftest import TRUTH, MakeSession
from tests.session.fake_engine import FakeEngine, FakeLearner
from tests.session.test_config import edit


def work(session: Session) -> None:
    expert = SimulatedExpert(TRUTH)
    session.tell(expert.answer(session.ask(6).items))
    session.fit()
    session.tell(expert.answer(session.ask(4).items), "bob")
    session.fit()


def differing(session: Session) -> list[str]:
    return [step.what for step in replay(session) if step.difference]


def test_everything_comes_out_the_same(session: Session) -> None:
    work(session)
    steps = replay(session)
    assert [step.what for step in steps] == [
        "warm-up",
        "round 1",
        "estimate",
        "fit models/fit-0001",
        "round 2",
        "estimate",
        "fit models/fit-0002",
    ]
    assert [step.difference for step in steps] == [""] * 7


def test_a_replay_writes_nothing(session: Session) -> None:
    work(session)
    n_events = session.state.last_event
    files = sorted(session.folder.path.rglob("*"))
    replay(session)
    assert session.state.last_event == n_events
    assert sorted(session.folder.path.rglob("*")) == files


def test_answers_that_came_in_while_training_do_not_count_for_it(
    session: Session, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_session()
    expert = SimulatedExpert(TRUTH)
    session.tell(expert.answer(session.ask(6).items))
    learn = FakeLearner.learn

    def slow(*given: Any) -> Any:
        other.tell({"item 50": "normal"}, "late")
        return learn(*given)

    monkeypatch.setattr(FakeLearner, "learn", slow)
    session.fit()
    monkeypatch.undo()
    assert not session.state.fit_is_current
    assert differing(session) == []


def test_other_data_show_in_every_step(session: Session, make_session: MakeSession) -> None:
    work(session)
    points = np.load(session.folder.path / "features.npy")
    np.save(session.folder.path / "features.npy", points * 1.5)
    edit(session.folder.path / "config.json", seal=True, digests={})
    steps = replay(make_session())
    assert all(step.difference for step in steps if step.what != "estimate")
    assert "fingerprint was" in steps[0].difference
    assert "scores of the pool differ by up to" in steps[0].difference


def test_models_in_the_form_of_an_older_release_are_the_same(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    save = FakeEngine.save

    def save_without_scores(engine: FakeEngine, model: Any, folder: Path) -> str:
        """As the releases did that kept no scores of the pool."""
        return save(
            engine, replace(model, pool_scores=model.pool_scores[:0]) if isinstance(model, Fitted) else model, folder
        )

    monkeypatch.setattr(FakeEngine, "save", save_without_scores)
    work(session)
    monkeypatch.undo()
    steps = replay(session)
    assert [step.difference for step in steps] == [""] * 7
    again = {step.number: step for step in steps}
    for event in session.events:
        if event.kind == "fit":
            assert again[event.number].what == f"fit {event.body['folder']}"


@pytest.mark.parametrize("name", ["threshold", "estimate", "calibration"])
def test_equal_scores_do_not_hide_what_else_a_model_says(
    name: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: dict[str, Any] = {
        "threshold": 0.25,
        "estimate": Estimate(0.9, 0.0, 1.0, "fake"),
        "calibration": Calibration(7.0, 7.0),
    }
    save = FakeEngine.save

    def save_other(engine: FakeEngine, model: Any, folder: Path) -> str:
        return save(engine, replace(model, **{name: other[name]}) if isinstance(model, Fitted) else model, folder)

    monkeypatch.setattr(FakeEngine, "save", save_other)
    work(session)
    monkeypatch.undo()
    fits = [step for step in replay(session) if step.what.startswith("fit")]
    assert all(f"; the {name} was " in step.difference for step in fits)
    assert not any("scores of the pool" in step.difference for step in fits)


def test_an_edited_event_shows_where_it_was_edited(session: Session) -> None:
    work(session)
    events = list(session.events)
    place = next(i for i, event in enumerate(events) if event.kind == "round")
    body = json.loads(json.dumps(events[place].body))
    body["asked"][1]["item"], body["reserve"][0]["odds"] = body["reserve"][1]["item"], 0.5
    edited = Edited(
        [*events[:place], Event("round", "soel", body=body, number=events[place].number), *events[place + 1 :]]
    )
    forged = Session(session.folder, edited, lambda: session.engine)
    (step, *_) = [step for step in replay(forged) if step.difference]
    assert step.what == "round 1"
    assert step.difference.startswith("item 2 was ")


class Edited:
    """A store with these events."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def append(self, events: object) -> list[Event]:
        raise AssertionError("a replay stored something")

    def read(self, after: int = 0) -> list[Event]:
        return [event for event in self._events if event.number > after]

    def close(self) -> None:
        pass
