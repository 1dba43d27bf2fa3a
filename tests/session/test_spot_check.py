"""Spot checks: drawn by chance, kept as rounds, judged by the model that stood when they were drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.assess.quality import draw_check
from soel.errors import SessionError
from soel.oracle import SimulatedExpert
from soel.session import Session, SessionState
from soel.session.growth import remove_items
from soel.session.rounds import Round
from tests.session.again import differing
from tests.session.conftest import IDS, N_FAR, N_ITEMS, TRUTH, MakeSession

EXPERT = SimulatedExpert(TRUTH)


def learn(session: Session, n: int = 5) -> None:
    session.tell(EXPERT.answer(session.ask(n).items))
    session.fit()


def check(session: Session, n: int) -> tuple[str, ...]:
    items = session.spot_check(n).items
    session.tell(EXPERT.answer(items))
    return items


def test_a_check_needs_a_model_to_check(session: Session) -> None:
    with pytest.raises(SessionError, match="no fitted model"):
        session.spot_check(5)


def test_a_check_draws_from_what_was_not_asked_and_keeps_how(session: Session) -> None:
    learn(session)
    asked = session.spot_check(6)
    drawn = session.state.rounds[-1]
    assert (asked.round, asked.drawn, len(asked.items), drawn.strategy) == (2, True, 6, "spot-check")
    assert not set(asked.items) & set(session.state.labels)
    assert drawn.check is not None
    assert drawn.check.n_rows == N_ITEMS
    assert sorted(drawn.check.known_alarms + drawn.check.known_others) == sorted(session.state.labels)
    threshold, n_alarms = drawn.check.threshold, drawn.check.n_alarms
    n_open = [n_alarms - len(drawn.check.known_alarms), 0]
    n_open[1] = N_ITEMS - 5 - n_open[0]
    for side in (0, 1):
        of_side = [draw for draw in drawn.asked if (draw.score <= threshold) == bool(side)]
        assert all(draw.odds == pytest.approx(len(of_side) / n_open[side]) for draw in of_side)
    assert session.spot_check(6) == session.ask().__class__(2, asked.items, False)


def test_an_open_round_is_answered_first(session: Session) -> None:
    learn(session)
    session.ask(3)
    with pytest.raises(SessionError, match="Round 2 is still open"):
        session.spot_check(3)


def test_a_check_is_drawn_again_where_the_pool_changed_meanwhile(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(session)
    draw, removed = session._draw_check, list[str]()

    def draw_while_others_work(state: SessionState, size: int) -> Round:
        if not removed:
            removed.append(next(item for item in session.ids if item not in state.labels))
            remove_items(session, removed)
        return draw(state, size)

    monkeypatch.setattr(session, "_draw_check", draw_while_others_work)
    asked = session.spot_check(6)
    assert len(asked.items) == 6
    assert not set(asked.items) & set(removed)
    assert session.state.round is not None
    assert session.state.round.strategy == "spot-check"


def test_questions_that_somebody_else_drew_meanwhile_are_no_check(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(session)
    draw = session._draw_check

    def draw_too_late(state: SessionState, size: int) -> Round:
        session.ask(3)
        return draw(state, size)

    monkeypatch.setattr(session, "_draw_check", draw_too_late)
    with pytest.raises(SessionError, match="Round 2 is still open"):
        session.spot_check(3)


def test_a_census_leaves_no_doubt(make_session: MakeSession) -> None:
    session = make_session(budget=N_ITEMS)
    learn(session)
    assert session.quality() is None
    check(session, N_ITEMS - 5)
    quality = session.quality()
    assert quality is not None
    share = quality.share
    assert (share.value, share.low, share.high) == pytest.approx([N_FAR / N_ITEMS] * 3)
    assert session.status().quality == quality


def test_what_it_proves_stays_when_its_labels_are_learnt_and_more_is_asked(session: Session) -> None:
    learn(session)
    check(session, 6)
    before = session.quality()
    session.fit()
    assert session.quality() == before
    learn(session, 4)
    assert session.quality() == before


def test_checks_in_a_row_are_one_and_a_fit_between_them_starts_anew(session: Session) -> None:
    learn(session)
    check(session, 4)
    check(session, 4)
    both = session.quality()
    assert both is not None
    assert both.n_checked == 8
    session.fit()
    check(session, 3)
    newest = session.quality()
    assert newest is not None
    assert newest.n_checked == 3


def test_an_item_set_aside_is_replaced_and_left_out(session: Session) -> None:
    learn(session)
    items = session.spot_check(4).items
    session.tell({items[0]: "skip"})
    assert len(session.state.open) == 4
    session.tell(EXPERT.answer(session.state.open))
    quality = session.quality()
    assert quality is not None
    assert quality.n_checked == 4


def test_a_check_comes_out_the_same_again(session: Session) -> None:
    learn(session)
    check(session, 4)
    session.fit()
    assert differing(session) == []


def test_checks_share_the_budget(session: Session) -> None:
    learn(session)
    with pytest.raises(SessionError, match="the budget leaves 15"):
        session.spot_check(16)


def test_each_side_is_drawn_uniformly() -> None:
    is_alarm = np.arange(12) < 4
    open_rows = np.delete(np.arange(12), [1, 7])
    counts = np.zeros(12)
    n_draws = 4000
    for seed in range(n_draws):
        counts[draw_check(is_alarm, open_rows, 5, np.random.default_rng(seed)).rows[:5]] += 1
    odds = draw_check(is_alarm, open_rows, 5, np.random.default_rng(0)).odds
    assert counts[[1, 7]].sum() == 0
    assert counts[[0, 2, 3]] / n_draws == pytest.approx(2 / 3, abs=0.04)
    assert counts[[4, 5, 6, 8, 9, 10, 11]] / n_draws == pytest.approx(3 / 7, abs=0.04)
    assert sorted({round(float(each), 3) for each in odds}) == [0.429, 0.667]


def test_simulated_sessions_keep_their_word(make_session: MakeSession, tmp_path: Path) -> None:
    """The share's interval over many sessions; the labels of each check are learnt before anybody looks."""
    held = []
    for seed in range(40):
        session = make_session(f"s{seed}", seed=seed, budget=30)
        learn(session, 6)
        check(session, 10)
        session.fit()
        quality = session.quality()
        assert quality is not None
        held.append(N_FAR / N_ITEMS in quality.share)
    assert len(IDS) == N_ITEMS
    assert np.mean(held) >= 0.8 - 2.5 * np.sqrt(0.16 / 40)
