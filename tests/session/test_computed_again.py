"""What a session computed follows from its data, its seed and the events: computed again, it is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from soel.oracle import SimulatedExpert
from soel.session import Session
from tests.session.again import differing, repeat
from tests.session.conftest import TRUTH, MakeSession
from tests.session.fake_learner import FakeLearner
from tests.session.test_config import edit


def work(session: Session) -> None:
    expert = SimulatedExpert(TRUTH)
    session.tell(expert.answer(session.ask(6).items))
    session.fit()
    session.tell(expert.answer(session.ask(4).items), "bob")
    session.fit()


def test_everything_comes_out_the_same(session: Session) -> None:
    work(session)
    kinds = [event.kind for event, _ in repeat(session)]
    assert kinds == ["warm-up", "round", "estimate", "fit", "round", "estimate", "fit"]
    assert differing(session) == []


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

    with monkeypatch.context() as patch:
        patch.setattr(FakeLearner, "learn", slow)
        session.fit()
    assert not session.state.fit_is_current
    assert differing(session) == []


def test_other_data_show_in_every_step(session: Session, make_session: MakeSession) -> None:
    work(session)
    points = np.load(session.folder.path / "features.npy")
    np.save(session.folder.path / "features.npy", points * 1.5)
    edit(session.folder.path / "config.json", seal=True, digests={})
    assert set(differing(make_session())) == {"warm-up", "round", "fit"}
