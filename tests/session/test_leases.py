"""Who is shown what: several annotators, tabs, expiry, and all of them at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from soel.errors import DataError
from soel.session import Session
from tests.session.conftest import MakeSession

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def later(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def test_nothing_is_shown_before_a_round_was_drawn(session: Session) -> None:
    assert session.next_items("ann", now=NOW) == ()


def test_two_people_are_shown_different_items(session: Session) -> None:
    asked = session.ask(4).items
    assert session.next_items("ann", 2, NOW) == asked[:2]
    assert session.next_items("bob", 1, NOW) == asked[2:3]
    assert session.next_items("cy", 5, NOW) == asked[3:]
    assert session.next_items("dee", 1, NOW) == (), "the others have them all"


def test_the_same_tab_is_shown_the_same_and_another_one_the_next(session: Session) -> None:
    asked = session.ask(3).items
    first = session.next_items("ann", now=NOW, tab="one")
    n_events = session.state.last_event
    assert session.next_items("ann", now=later(1), tab="one") == first == asked[:1]
    assert session.state.last_event == n_events, "a reload stores nothing"
    assert session.next_items("ann", now=NOW, tab="two") == asked[1:2]


def test_a_lost_tab_does_not_block_its_annotator_at_the_end(session: Session) -> None:
    asked = session.ask(2).items
    session.next_items("ann", now=NOW, tab="lost")
    assert session.next_items("ann", now=NOW, tab="new") == asked[1:]
    session.tell({asked[1]: "normal"}, "ann")
    assert session.next_items("ann", now=NOW, tab="new") == asked[:1]


def test_a_lease_ends_and_the_late_answer_still_counts(session: Session) -> None:
    asked = session.ask(2).items
    session.next_items("ann", now=NOW)
    assert session.next_items("bob", now=later(9)) == asked[1:]
    assert session.next_items("cy", now=later(10.1)) == asked[:1]
    session.tell({asked[0]: "normal"}, "cy")
    session.tell({asked[0]: "anomaly"}, "ann")
    assert session.state.disagreements == asked[:1], "both answers are kept"
    assert len(session.state.answers[asked[0]].votes) == 2


def test_a_lease_is_renewed_while_its_item_is_looked_at(session: Session) -> None:
    asked = session.ask(1).items
    session.next_items("ann", now=NOW)
    assert session.next_items("ann", now=later(6)) == asked
    assert session.next_items("bob", now=later(12)) == ()
    assert session.next_items("bob", now=later(17)) == asked


def test_leases_last_as_long_as_the_owner_said(make_session: MakeSession) -> None:
    session = make_session(lease_minutes=1.0)
    asked = session.ask(1).items
    session.next_items("ann", now=NOW)
    assert session.next_items("bob", now=later(1.1)) == asked


def test_an_answer_frees_the_annotator_and_undo_brings_the_item_back(session: Session) -> None:
    asked = session.ask(2).items
    session.next_items("ann", now=NOW)
    session.tell({asked[0]: "normal"}, "ann")
    assert session.next_items("ann", now=NOW) == asked[1:]
    session.undo("ann")
    assert session.next_items("ann", now=NOW)[0] == asked[0]
    assert session.next_items("bob", now=NOW) == (), "it is still with ann"


def test_a_skipped_item_is_replaced_and_comes_back_last(session: Session) -> None:
    asked = session.ask(2).items
    session.tell({asked[0]: "skip"}, "ann")
    reserve = session.state.rounds[0].reserve[0].item
    assert session.next_items("ann", 3, NOW) == (asked[1], reserve)


def test_each_item_is_shown_to_as_many_as_are_to_label_it(make_session: MakeSession) -> None:
    session = make_session(answers_per_item=2)
    asked = session.ask(2).items
    assert session.next_items("ann", now=NOW) == session.next_items("bob", now=NOW) == asked[:1]
    assert session.next_items("cy", now=NOW) == asked[1:]
    session.tell({asked[0]: "normal"}, "ann")
    assert session.next_items("ann", now=NOW) == asked[1:]
    session.tell({asked[1]: "normal"}, "ann")
    assert session.next_items("ann", now=NOW) == (), "the rest is for others"
    session.tell({asked[0]: "normal"}, "bob")
    session.tell({asked[1]: "anomaly"}, "cy")
    assert session.state.open == ()
    assert session.state.disagreements == asked[1:]


def test_who_skips_a_shared_item_twice_is_not_shown_it_again(make_session: MakeSession) -> None:
    session = make_session(answers_per_item=2)
    asked = session.ask(1).items
    session.tell({asked[0]: "normal"}, "ann")
    session.tell({asked[0]: "skip"}, "bob")
    assert session.next_items("bob", now=NOW) == asked
    session.tell({asked[0]: "skip"}, "bob")
    assert session.next_items("bob", now=NOW) == ()
    assert session.next_items("cy", now=NOW) == asked


def test_many_at_once_never_share_an_item(make_session: MakeSession) -> None:
    sessions = [make_session() for _ in range(6)]
    asked = sessions[0].ask(12).items
    with ThreadPoolExecutor(6) as pool:
        turns = list(pool.map(lambda i: sessions[i].next_items(f"ann {i}", 2, NOW), range(6)))
    shown = [item for turn in turns for item in turn]
    assert sorted(shown) == sorted(asked)


@pytest.mark.parametrize("who", ["", "  ", "a\x00b", "x" * 101])
def test_a_name_that_nobody_can_read_is_refused(session: Session, who: str) -> None:
    for step in (session.next_items, lambda name: session.tell({"item 1": "normal"}, name)):
        with pytest.raises(DataError, match="is not a name"):
            step(who)
    assert session.state.last_event == 0
