"""Questions that know the last answer: refines of an open round, and their records."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from soel.session import Session
from soel.settings import DEFAULT
from soel.types import Kind
from tests.session.again import differing
from tests.session.conftest import IDS, MakeSession
from tests.session.fake_learner import FakeLearner, spy_on_loads

LISTENING = asdict(replace(DEFAULT, strategy="positive-distant", strategy_options={}).settle(Kind.TABLE, 3))
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session(settings=LISTENING)


def answer(session: Session, item: str, who: str = "expert") -> None:
    session.tell({item: "normal"}, who)  # which surprises the detector, so that its next questions are others


def kinds(session: Session) -> list[str]:
    return [event.kind for event in session.events]


def test_the_next_question_knows_the_last_answer(session: Session) -> None:
    asked = session.ask(6)
    assert session.refine() is None, "nothing was said yet"
    answer(session, asked.items[0])
    better = session.refine()
    assert better is not None
    assert not better.drawn
    assert (better.round, len(better.items)) == (1, 5)
    assert better.items != asked.items[1:]
    assert session.refine() is None, "nothing was said since"


def test_a_refine_asks_what_the_estimator_would_ask(session: Session) -> None:
    answer(session, session.ask(3).items[0])
    better = session.refine()
    assert better is not None
    learner, state = session.learner, session.state
    labels = np.array([state.labels.get(item, -1) for item in IDS], np.int8)
    again = learner.propose(learner.prepare(session.pool), session.pool, labels, 2)
    assert better.items == tuple(IDS[row] for row in again.rows)


def test_no_scores_are_written_or_computed_again_while_the_model_is_the_same(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(session, session.ask(6).items[0])
    assert session.refine() is not None
    (first, again) = session.state.rounds[0].parts
    assert (first.record, first.digest, first.model) == (again.record, again.digest, again.model)
    assert len(list(session.folder.rounds.iterdir())) == 1
    loaded = spy_on_loads(monkeypatch)
    answer(session, session.state.open[0])
    assert session.refine() is not None
    assert loaded == [], "the model stays in memory"


def test_a_fit_in_the_middle_of_a_round_gives_later_questions_a_record_of_their_own(session: Session) -> None:
    items = session.ask(6).items
    answer(session, items[0])
    session.fit()
    answer(session, items[1])
    better = session.refine()
    assert better is not None
    answer(session, better.items[0])
    (first, again) = session.state.rounds[0].parts
    assert first.record != again.record
    evidence = session.evidence()
    assert [len(each.rows) for each in evidence] == [2, 1]
    assert IDS[evidence[1].rows[0]] == better.items[0]
    assert np.array_equal(evidence[1].scores, session.record(again).scores)
    session.fit()
    assert differing(session) == []


def test_labels_after_refines_by_the_same_model_are_one_piece_of_evidence(session: Session) -> None:
    asked = session.ask(4).items
    answer(session, asked[0])
    told = {asked[0]}
    for _ in range(3):
        session.refine()
        told.add(session.state.open[0])
        answer(session, session.state.open[0])
    (evidence,) = session.evidence()
    assert {IDS[row] for row in evidence.rows} == told


def test_what_somebody_looks_at_stays_and_is_not_proposed(session: Session) -> None:
    session.ask(4)
    (mine,) = session.next_items("ann", now=NOON)
    (yours,) = session.next_items("bob", now=NOON)
    answer(session, mine, "ann")
    better = session.refine(now=NOON)
    assert better is not None
    assert better.items[0] == yours
    assert yours not in {draw.item for draw in session.state.rounds[0].refines[0].proposed}
    assert session.next_items("bob", now=NOON) == (yours,)
    later = NOON + timedelta(minutes=11)
    answer(session, better.items[1], "ann")
    session.refine(now=later)
    assert session.state.round is not None
    assert session.state.round.refines[-1].proposed[0].item == session.state.open[0], "the lease had ended"


def test_undo_shows_the_item_again_after_a_refine(session: Session) -> None:
    first = session.ask(4).items[0]
    answer(session, first)
    session.refine()
    session.undo()
    session.refine()
    assert session.state.open[0] == first


def test_strategies_that_do_not_listen_stay_as_they_are(make_session: MakeSession) -> None:
    session = make_session()
    answer(session, session.ask(4).items[0])
    assert session.refine() is None
    assert "refine" not in kinds(session)


def test_a_spot_check_stays_as_it_was_drawn(session: Session) -> None:
    for item in session.ask(4).items:
        answer(session, item)
    session.fit()
    answer(session, session.spot_check(4).items[0])
    assert session.refine() is None


def test_the_round_is_over_when_as_many_were_answered_as_it_asked(session: Session) -> None:
    session.ask(5)
    for _ in range(5):
        answer(session, session.state.open[0])
        session.refine()
    assert (session.state.open, session.state.n_left, len(session.state.labels)) == ((), 15, 5)


def test_why_speaks_of_the_refine_that_chose_the_item(session: Session) -> None:
    answer(session, session.ask(6).items[0])
    better = session.refine()
    assert better is not None
    (draw, *_) = session.state.rounds[0].refines[0].proposed
    assert (session.why(better.items[0]).score, session.why(better.items[0]).round) == (draw.score, 1)


def test_two_processes_that_refine_at_once_leave_one(
    session: Session, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(session, session.ask(6).items[0])
    other, propose = make_session(), FakeLearner.propose

    def meanwhile(*given: Any, **options: Any) -> Any:
        monkeypatch.undo()
        assert other.refine() is not None
        return propose(*given, **options)

    monkeypatch.setattr(FakeLearner, "propose", meanwhile)
    session.refine()
    assert kinds(session).count("refine") == 2
    assert len(session.state.rounds[0].refines) == 1


def test_refines_come_out_the_same_when_they_are_computed_again(session: Session) -> None:
    session.ask(5)
    for item in range(4):
        answer(session, session.state.open[0])
        session.refine()
        if item == 1:
            session.tell({session.state.open[0]: "skip"})
    session.fit()
    assert len(session.state.rounds[0].refines) > 1
    assert differing(session) == []


steps_taken = st.lists(
    st.sampled_from(["answer", "answer", "skip", "undo", "lease", "refine", "refine", "fit", "ask"]), max_size=14
)


@given(steps_taken)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_two_people_do_the_laws_hold_and_it_comes_out_the_same_again(
    make_session: MakeSession, steps: list[str]
) -> None:
    session = make_session(f"s{len(list(make_session().folder.path.parent.iterdir()))}", settings=LISTENING, budget=8)
    session.ask(4)
    for number, step in enumerate(steps):
        who, before = ("ann", "bob")[number % 2], session.state
        (shown,) = session.next_items(who, now=NOON) or ("",)
        if step == "answer" and shown:
            answer(session, shown, who)
        elif step == "skip" and shown:
            session.tell({shown: "skip"}, who)
        elif step == "undo" and before.undoable.get(who):
            session.undo(who)
        elif step == "refine":
            session.refine(now=NOON)
            assert session.state.answers == before.answers
            assert not shown or shown in session.state.open
        elif step == "fit":
            session.fit()
        elif step == "ask" and session.state.n_left:
            session.ask(min(4, session.state.n_left))
        state = session.state
        assert len(state.open) <= state.n_left
        assert not set(state.open) & set(state.labels)
        told = sum(len(each.rows) for each in session.evidence())
        assert told == sum(state.part_of(item) is not None for item in state.labels)
    assert differing(session) == []
