"""Who is to label what, and what each person did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from soel.errors import SessionError, UnknownItemError
from soel.session import Event, Session, fold
from soel.session.people import measure_people
from tests.session.conftest import MakeSession

NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def test_what_is_assigned_is_shown_to_that_person_alone_and_first(session: Session) -> None:
    asked = session.ask(4).items
    session.assign(["bob"], [asked[2]])
    assert session.next_items("ann", 4, NOW) == (asked[0], asked[1], asked[3])
    assert session.next_items("bob", 1, NOW) == (asked[2],)
    session.tell({asked[2]: "normal"}, "bob")
    assert session.status().people[0].n_assigned == 0


def test_open_items_are_shared_out_in_turn_and_given_back(session: Session) -> None:
    asked = session.ask(5).items
    session.tell({asked[0]: "normal"}, "ann")
    changed = session.assign(["ann", "bob"])
    assert changed == {asked[1]: ["ann"], asked[2]: ["bob"], asked[3]: ["ann"], asked[4]: ["bob"]}
    assert session.assign(["ann", "bob"]) == {}, "nothing is stored twice"
    assert session.next_items("cy", 5, NOW) == ()
    assert session.next_items("bob", 5, NOW) == (asked[2], asked[4])
    assert set(session.assign([])) == set(asked[1:])
    assert session.next_items("cy", 1, NOW) == (asked[1],)


def test_of_two_answers_one_place_is_kept(make_session: MakeSession) -> None:
    session = make_session(answers_per_item=2)
    (item,) = session.ask(1).items
    session.assign(["bob"], [item])
    assert session.next_items("ann", 1, NOW) == (item,)
    session.tell({item: "normal"}, "ann")
    assert session.next_items("cy", 1, NOW) == (), "the second place is bob's"
    assert session.next_items("bob", 1, NOW) == (item,)
    with pytest.raises(SessionError, match="3 people were named"):
        session.assign(["ann", "bob", "cy"], [item])


def test_who_sets_an_item_aside_gives_it_back(session: Session) -> None:
    (item,) = session.ask(1).items
    session.assign(["bob"], [item])
    assert session.next_items("ann", 1, NOW) == ()
    session.tell({item: "unsure"}, "bob")
    assert item in session.state.open or session.state.open, "the round wants its label still"
    assert session.next_items("ann", 1, NOW) == session.state.open[:1]


def test_names_and_items_are_checked(session: Session) -> None:
    session.ask(1)
    with pytest.raises(UnknownItemError):
        session.assign(["bob"], ["nobody"])
    with pytest.raises(SessionError, match="written 'bob'"):
        session.assign([" bob "])


def test_a_refine_leaves_what_was_assigned(session: Session) -> None:
    from soel.session.rounds import items_held

    asked = session.ask(4).items
    session.assign(["bob"], [asked[3]])
    assert items_held(session.state, NOW.isoformat()) == {asked[3]}


def test_time_is_measured_within_a_sitting() -> None:
    times = [0, 10, 22, 2000, 2008, 2008]  # a break of half an hour; the last two were stored together
    events = [
        Event("label", "ann", f"item {n}", {"label": n % 2}, n + 1, (NOW + timedelta(seconds=s)).isoformat())
        for n, s in enumerate(times)
    ]
    (ann,) = measure_people(fold(events, 20))
    assert (ann.n_answers, ann.n_anomaly, ann.n_normal, ann.n_aside) == (6, 3, 3, 0)
    assert ann.seconds == 10  # the median of 10, 12 and 8
    assert ann.minutes == pytest.approx(0.5)


def test_removed_items_are_nobody_s(make_session: MakeSession) -> None:
    from soel.session.growth import remove_items

    session = make_session(answers_per_item=1, budget=5)
    asked = session.ask(3).items
    session.assign(["bob"], asked[:2])
    remove_items(session, [asked[0]])
    assert set(session.state.assigned) == {asked[1]}
