"""A clock that was wrong, and is set right: nothing is lost, nothing waits, and the order of things stays."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from soel.session import Session, store
from soel.session.people import AHEAD, as_text
from soel.types import Verdict
from tests.session.conftest import MakeSession

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
SetClock = Callable[[datetime], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Say what time the store writes down from now on."""
    return lambda moment: monkeypatch.setattr(store, "now", lambda: as_text(moment))


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(days=400)])
def test_a_lease_taken_while_the_clock_was_ahead_ends_with_it(session: Session, ahead: timedelta) -> None:
    asked = session.ask(1).items
    assert session.next_items("ann", now=NOW + ahead) == asked
    assert session.next_items("bob", now=NOW) == asked, "the item waits for nobody"
    assert session.next_items("cy", now=NOW) == (), "bob's lease binds it"
    assert session.next_items("cy", now=NOW + timedelta(minutes=10.1)) == asked


def test_whose_lease_ended_with_the_clock_is_shown_the_item_again(session: Session) -> None:
    asked = session.ask(1).items
    session.next_items("ann", now=NOW + timedelta(days=400), tab="one")
    assert session.next_items("ann", now=NOW, tab="two") == asked
    assert session.next_items("bob", now=NOW) == ()


def test_clocks_of_two_servers_may_differ_a_little(session: Session) -> None:
    asked = session.ask(1).items
    assert session.next_items("ann", now=NOW + AHEAD) == asked
    assert session.next_items("bob", now=NOW) == (), "it is with ann, whose server is a little ahead"


def test_the_order_of_events_is_not_that_of_the_clock(make_session: MakeSession, set_clock: SetClock) -> None:
    session = make_session()
    asked = session.ask(3).items
    for back, word in enumerate((Verdict.NORMAL, Verdict.ANOMALY, Verdict.NORMAL)):
        set_clock(NOW - timedelta(days=back))
        session.tell({asked[0]: word}, "ann")
    set_clock(NOW - timedelta(days=900))
    session.undo("ann")
    again = make_session()
    for each in (session, again):
        vote = each.state.vote_of(asked[0], "ann")
        assert vote is not None
        assert vote.verdict == Verdict.ANOMALY, "the last answer but one, whatever the clock said"
    numbers = [event.number for event in again.events]
    assert numbers == sorted(numbers)
    times = [event.at for event in again.events]
    assert times != sorted(times), "the clock did go back"


def test_work_goes_on_after_the_clock_was_set_back(session: Session, set_clock: SetClock) -> None:
    set_clock(NOW)
    session.tell(dict.fromkeys(session.ask(3).items, Verdict.NORMAL), "ann")
    set_clock(NOW - timedelta(days=365))
    session.fit()
    session.tell(dict.fromkeys(session.ask(3).items, Verdict.ANOMALY), "ann")
    assert len(session.state.labels) == 6
    assert not session.state.fit_is_current, "labels came after the fit, by number"
    session.fit()
    assert session.state.fit_is_current
