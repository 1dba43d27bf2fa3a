"""Facts about an item and about the newest labels, from what rounds recorded."""

from __future__ import annotations

import numpy as np
import pytest

from soel.errors import DamagedError, SessionError, UnknownItemError
from soel.oracle import SimulatedExpert
from soel.records import body_of, read_body
from soel.session import Session, SessionFolder, StoppingAdvice
from soel.session.stopping import HeldBack
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
    assert advice.held_back == (HeldBack(1, 1, None),)


@pytest.mark.parametrize(
    ("n_labels", "radius", "agreement", "advice"),
    [(20, 0.8, 0.99, "yes"), (20, 0.99, 0.9, "yes"), (20, 0.99, 0.99, "little"), (7, 0.5, 0.1, "unknown")],
)
def test_advice_is_a_rule_of_thumb(n_labels: int, radius: float, agreement: float, advice: str) -> None:
    assert StoppingAdvice(n_labels, n_labels // 4, 1.0, radius, agreement).go_on == advice
