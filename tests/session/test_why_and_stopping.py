"""Facts about an item and about the newest labels, from what rounds recorded."""

from __future__ import annotations

import numpy as np
import pytest

from soel.errors import DamagedError, SessionError, UnknownItemError
from soel.oracle import SimulatedExpert
from soel.records import body_of, read_body
from soel.session import Session, SessionFolder, StoppingAdvice
from soel.session.pool_records import HeldBack, judge_moves
from tests.session.conftest import IDS, N_ITEMS, TRUTH, MakeSession, make_points


def finish_round(session: Session, n: int) -> None:
    session.tell(SimulatedExpert(TRUTH).answer(session.ask(n).items))


def test_before_any_label_there_is_no_distance(session: Session) -> None:
    asked = session.ask(4)
    facts = [session.why(item) for item in asked.items]
    assert all(fact.nearest is None and fact.distance is None and fact.distance_share is None for fact in facts)
    assert sum(fact.n_near for fact in facts) == N_ITEMS, "each item is nearest to one of those asked"
    scores = session.record(session.state.rounds[0]).scores
    row = IDS.index(facts[0].item)
    assert facts[0].score_share == np.mean(scores < scores[row])
    assert facts[0].near_share == facts[0].n_near / N_ITEMS


def test_distances_are_to_the_nearest_label(session: Session) -> None:
    asked = session.ask(3).items
    session.tell({asked[0]: "normal", "item 40": "normal"})
    points = make_points()
    fact = session.why(asked[1])
    gaps = {
        item: np.linalg.norm(points[IDS.index(asked[1])] - points[IDS.index(item)]) for item in (asked[0], "item 40")
    }
    assert fact.nearest == min(gaps, key=lambda item: gaps[item])
    assert fact.distance == pytest.approx(min(gaps.values()), abs=1e-4)
    to_label = np.min([np.linalg.norm(points - points[IDS.index(item)], axis=1) for item in gaps], axis=0)
    assert fact.distance_share == pytest.approx(np.mean(to_label < min(gaps.values())), abs=0.02)


def test_why_needs_no_learner_and_a_drawn_item(make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = make_session().ask(3).items
    session = make_session()

    monkeypatch.setattr("soel.session.session.make_learner", None)
    reserve = session.state.rounds[0].reserve[-1].item
    assert session.why(reserve).n_near >= 1
    assert session.why(asked[0]).round == 1
    drawn = session.state.rounds[0].items
    with pytest.raises(SessionError, match="never drawn"):
        session.why(next(item for item in IDS if item not in drawn))
    with pytest.raises(UnknownItemError):
        session.why("nobody")


def test_an_item_that_was_asked_about_and_is_gone_is_said(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = make_session().ask(3).items
    others = tuple("stranger" if item == asked[1] else item for item in IDS)
    monkeypatch.setattr(SessionFolder, "ids", others)
    with pytest.raises(DamagedError, match=r"lacks items that it asked about; `soel check` says why"):
        make_session().why(asked[0])


def test_advice_is_measured_at_the_fit_and_read_back(session: Session) -> None:
    assert session.stopping_advice() is None
    finish_round(session, 8)
    session.fit()
    first = session.stopping_advice()
    assert first is not None
    assert (first.n_labels, first.n_newest, len(first.held_back)) == (8, 2, 1)
    assert first.radius_before is not None
    assert 0 < first.radius <= first.radius_before
    assert first.rank_agreement is not None
    assert -1 <= first.rank_agreement <= 1
    finish_round(session, 4)
    session.fit()
    second = session.stopping_advice()
    assert second is not None
    assert [each.round for each in second.held_back] == [1, 2]
    assert [each.n_labels for each in second.held_back] == [8, 4]
    assert read_body(StoppingAdvice, body_of(second)) == second


def test_a_fit_without_labels_measures_nothing(session: Session) -> None:
    session.ask(3)
    session.fit()
    assert session.stopping_advice() is None


def test_a_single_label_has_nothing_to_compare_with(session: Session) -> None:
    asked = session.ask(3).items
    session.tell({asked[0]: "normal"})
    session.fit()
    advice = session.stopping_advice()
    assert advice is not None
    assert (advice.radius_before, advice.radius_drop, advice.go_on) == (None, None, "unknown")
    assert advice.n_anomalies == 0
    assert advice.held_back == (HeldBack(1, 1, None),)


@pytest.mark.parametrize(
    ("n_labels", "n_anomalies", "share", "doubt", "moved", "advice"),
    [
        (20, 3, 0.1, 0.04, 0.02, "yes"),  # half of the doubt
        (20, 3, 0.1, 0.04, 0.005, "little"),
        (20, 3, 0.1, 0.3, 0.005, "yes"),  # the interval is wider than the share itself
        (20, 3, 0.01, 0.04, 0.005, "little"),  # but not than five points
        (20, 0, 0.1, 0.04, 0.005, "unknown"),
        (7, 3, 0.1, 0.04, 0.005, "unknown"),
        (20, 3, 0.1, 0.0, None, "unknown"),
    ],
)
def test_advice_is_a_rule_of_thumb(
    n_labels: int, n_anomalies: int, share: float, doubt: float, moved: float | None, advice: str
) -> None:
    measured = StoppingAdvice(n_labels, n_anomalies, n_labels // 4, 1.0, 0.9, 0.9, share, doubt, moved)
    assert measured.go_on == judge_moves(n_labels, n_anomalies, share, doubt, moved) == advice


def test_a_share_that_was_given_does_not_move(make_session: MakeSession) -> None:
    session = make_session(contamination=0.1)
    finish_round(session, 8)
    session.fit()
    advice = session.stopping_advice()
    assert advice is not None
    assert (advice.share, advice.moved, advice.go_on) == (0.1, None, "unknown")


def test_the_newest_quarter_is_compared_with_the_others(session: Session) -> None:
    finish_round(session, 8)
    session.fit()
    advice, state = session.stopping_advice(), session.state
    assert advice is not None
    older = sorted(state.labels, key=lambda item: state.answers[item].number)[:6]
    before, now = (session.learner.estimate(session.evidence(state, among)) for among in (older, None))
    assert advice.moved == abs(now.value - before.value)
    assert (advice.share, advice.doubt) == (now.value, (now.high - now.low) / 2)
