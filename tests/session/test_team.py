"""Decisions, agreement, notes, guidelines and a growing budget, on a real store."""

from __future__ import annotations

import pytest

from soel.errors import DataError, LabelError, SessionError, SoelError, UnknownItemError
from soel.session import Answer, Event, Session
from soel.session.events import decision_on
from soel.types import Verdict


def test_the_same_word_of_two_annotators_is_two_answers(session: Session) -> None:
    assert session.tell({"item 1": "anomaly"}, "ann").n_stored == 1
    assert session.tell({"item 1": "anomaly"}, "bob").n_stored == 1
    assert session.tell({"item 1": "anomaly"}, "bob").n_repeated == 1


def test_the_owner_decides_and_takes_it_back(session: Session) -> None:
    session.tell({"item 1": "anomaly"}, "ann")
    session.tell({"item 1": "normal"}, "bob")
    assert session.status().n_disagreements == 1
    session.decide("item 1", "normal")
    assert session.state.labels == {"item 1": 0}
    session.decide("item 1", None)
    assert session.state.labels == {}
    with pytest.raises(LabelError, match="decides nothing"):
        session.decide("item 1", "skip")
    with pytest.raises(UnknownItemError):
        session.decide("nobody", "normal")


def test_agreement_of_two_is_cohen_s(session: Session) -> None:
    assert session.agreement().method == "none"
    session.tell({"item 1": "a", "item 2": "n", "item 3": "a", "item 4": "n", "item 5": "a"}, "ann")
    session.tell({"item 1": "a", "item 2": "n", "item 3": "n", "item 4": "n", "item 6": "a"}, "bob")
    found = session.agreement()
    # 4 shared, 3 the same; ann says anomaly in 2, bob in 1: by chance 2/4 * 1/4 + 2/4 * 3/4 = 1/2
    assert (found.method, found.annotators, found.n_items, found.n_same) == ("cohen", ("ann", "bob"), 4, 3)
    assert found.kappa == pytest.approx(0.5)


def test_agreement_of_more_is_fleiss_and_undefined_without_a_choice(session: Session) -> None:
    for who in ("ann", "bob", "cy"):
        session.tell({"item 1": "a"}, who)
    assert (session.agreement().method, session.agreement().kappa) == ("fleiss", None)
    for who in ("ann", "bob", "cy"):
        session.tell({"item 2": "n"}, who)
    assert session.agreement().kappa == pytest.approx(1)


def test_notes_belong_to_their_writer(session: Session) -> None:
    session.note("item 1", "odd edge", "ann")
    session.note("item 1", "seen before", "bob")
    session.note("item 1", "odd corner", "ann")
    assert [(note.who, note.text) for note in session.state.notes_of("item 1")] == [
        ("bob", "seen before"),
        ("ann", "odd corner"),
    ]
    assert session.state.labels == {}
    with pytest.raises(UnknownItemError):
        session.note("nobody", "?", "ann")


@pytest.mark.parametrize(
    ("text", "message"), [("x" * 100_001, "shorten it"), ("a\x00", "x00"), ("\ud800", "ud800"), ("\x1b[2J", "x1b")]
)
def test_texts_that_cannot_be_kept_are_refused(session: Session, text: str, message: str) -> None:
    for step in (
        lambda: session.note("item 1", text),
        lambda: session.tell([Answer("item 1", Verdict.NORMAL, text)]),
        lambda: session.write_guidelines(text),
    ):
        with pytest.raises(DataError, match=message):
            step()
    assert session.state.last_event == 0


def test_guidelines_are_kept_in_the_folder(session: Session) -> None:
    assert session.guidelines == ""
    session.write_guidelines("# Be fair\n\nŻółć")
    assert session.guidelines == "# Be fair\n\nŻółć"
    session.folder.guidelines.write_bytes(b"\xff")
    with pytest.raises(SessionError, match="write it anew"):
        _ = session.guidelines


def test_the_budget_grows_up_to_the_pool(session: Session) -> None:
    assert session.extend(10) == 30
    assert session.status().budget == 30
    for more in (0, -1, 31):
        with pytest.raises(SessionError):
            session.extend(more)
    assert session.extend(30) == 60


def test_an_import_is_stored_whole_or_not_at_all(session: Session) -> None:
    told = [Answer("item 1", Verdict.NORMAL).event("ann"), Answer("item 1", Verdict.ANOMALY).event("bob")]
    with pytest.raises(UnknownItemError):
        session.take_in([*told, decision_on("nobody", Verdict.NORMAL, "owner")])
    with pytest.raises(LabelError):
        session.decide("item 1", "unsure")
    assert session.state.last_event == 0
    others = [decision_on("item 1", Verdict.NORMAL, "owner"), Event("note", "ann", "item 2", {"note": "odd"})]
    first, again = session.take_in([*told, *others]), session.take_in([*told, *others])
    assert (first.n_stored, again.n_stored, again.n_repeated) == (4, 0, 4)


@pytest.mark.parametrize("name", ["BOSS", "b0ss", "system", "System", "SYSTEM", "soel", "=cmd", "+1", "-x"])
def test_names_that_pass_for_another_or_for_a_formula_are_refused(session: Session, name: str) -> None:
    session.decide("item 1", "normal", "boss")  # who has answered nothing
    with pytest.raises(SoelError, match=r"looks like 'boss'|calls itself|formula"):
        session.tell({"item 2": "normal"}, name)
    with pytest.raises(SoelError, match=r"looks like 'boss'|calls itself|formula"):
        session.assign([name])
