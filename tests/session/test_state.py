from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from soel.assess.conformal import FitFigures
from soel.errors import SessionError
from soel.records import body_of
from soel.session import Answer, Event, Folding, SessionState, fold
from soel.session.events import ANSWER_KINDS
from soel.session.rounds import Draw, ModelRef, Round
from soel.session.state import Fit, Undoable
from soel.types import Verdict

ITEMS = tuple("abcdefghij")


def drawn(number: int, asked: Sequence[str], reserve: Sequence[str] = ()) -> Event:
    def draws(items: Sequence[str]) -> tuple[Draw, ...]:
        return tuple(Draw(item, 0.5, 1.0) for item in items)

    model = ModelRef("models/warm-up", "0" * 16)
    made = Round(number, draws(asked), draws(reserve), model, (0, number), "diverse", {}, "r.npz", "0" * 64, after=0)
    return Event("round", "soel", body=body_of(made))


def refined(number: int, items: Sequence[str], knew: int, minute: int = 30, record: str = "r.npz") -> Event:
    """A refine of this round that knew so many events, and looked at leases in this minute."""
    at = f"2024-01-01T00:{minute:02d}:00+00:00"
    return Event("refine", "soel", body={**drawn(number, items).body, "after": knew, "looked_at": at, "record": record})


def said(item: str, verdict: str, who: str = "expert") -> Event:
    return Answer(item, Verdict(verdict)).event(who)


UNDO = Event("undo", "expert")


def decided(item: str, label: int | None) -> Event:
    return Event("decide", "owner", item, {"label": label})


def written(item: str, text: str, who: str) -> Event:
    return Event("note", who, item, {"note": text})


def leased(item: str, who: str, minute: int, tab: str = "") -> Event:
    until = f"2024-01-01T01:{minute:02d}:00+00:00"
    return Event("lease", who, item, {"since": f"2024-01-01T00:{minute:02d}:00+00:00", "until": until, "tab": tab})


def after(*events: Event, budget: int = 20, per_item: int = 1) -> SessionState:
    return fold(in_order(events), budget, per_item)


def in_order(events: Iterable[Event]) -> list[Event]:
    """These events numbered from 1; an undo names the newest answer of its annotator that stands."""
    found, standing = list[Event](), defaultdict[str, list[int]](list)
    for number, event in enumerate(events, start=1):
        body = event.body
        if event.kind == "undo":
            body = {"of": standing[event.who].pop()} if standing[event.who] else {}
        elif event.kind in ANSWER_KINDS:
            standing[event.who].append(number)
        found.append(numbered(replace(event, body=body), number))
    return found


def numbered(event: Event, number: int) -> Event:
    return Event(event.kind, event.who, event.item, event.body, number, "2024-01-01T00:00:00+00:00")


ROUND = drawn(1, "abc", "defg")
answers = st.builds(
    said,
    st.sampled_from(ITEMS),
    st.sampled_from(["anomaly", "normal", "skip", "unsure"]),
    st.sampled_from(["expert", "other"]),
)
undos = st.sampled_from(["expert", "other"]).map(lambda who: Event("undo", who))
decisions = st.builds(decided, st.sampled_from(ITEMS), st.sampled_from([0, 1, None]))
leases = st.builds(leased, st.sampled_from(ITEMS), st.sampled_from(["expert", "other"]), st.integers(0, 59))
rounds = st.sampled_from([ROUND, drawn(2, "hi", "j")])
some = st.permutations(ITEMS).map(lambda items: items[:4])
refines = st.builds(refined, st.just(1), some, st.integers(1, 25), st.integers(0, 59))
histories = st.lists(st.one_of(answers, undos, answers, rounds, decisions, leases, refines), max_size=25).map(
    lambda events: [ROUND, *events]
)
per_items = st.integers(1, 3)


def test_a_new_round_opens_its_items_and_no_reserve() -> None:
    assert after(ROUND).open == ("a", "b", "c")


def test_a_label_closes_its_question() -> None:
    state = after(ROUND, said("b", "anomaly"))
    assert state.open == ("a", "c")
    assert (state.labels, state.n_left, state.n_anomalies) == ({"b": 1}, 19, 1)


@pytest.mark.parametrize("verdict", ["skip", "unsure"])
def test_a_skip_is_answered_by_the_next_reserve_item(verdict: str) -> None:
    assert after(ROUND, said("a", verdict)).open == ("b", "c", "d")


def test_what_was_skipped_comes_back_once_at_the_end() -> None:
    small = drawn(1, "ab", "c")
    once = [small, said("b", "skip"), said("a", "unsure")]
    assert after(*once).open == ("c", "b"), "the one set aside first comes back first"
    assert after(*once, said("b", "skip")).open == ("c", "a")
    assert after(*once, said("b", "skip"), said("c", "normal"), said("a", "skip")).open == ()


def test_the_budget_limits_what_is_open() -> None:
    assert after(ROUND, said("j", "normal"), budget=2).open == ("a",)
    assert after(ROUND, said("j", "normal"), said("i", "normal"), budget=1).n_left == 0


def test_a_correction_replaces_the_answer_of_the_same_annotator() -> None:
    state = after(ROUND, said("a", "anomaly"), said("a", "normal"))
    assert state.labels == {"a": 0}
    assert [vote.verdict for vote in state.answers["a"].votes] == ["normal"]


def test_two_who_differ_leave_no_label_until_a_third_or_the_owner_speaks() -> None:
    told = [ROUND, said("a", "anomaly"), said("a", "normal", "other")]
    split = after(*told)
    assert (split.labels, split.disagreements, split.answers["a"].verdict) == ({}, ("a",), "disagreement")
    assert (split.n_left, split.open) == (19, ("b", "c")), "it was labelled, so it costs and is not asked again"
    assert after(*told, said("a", "normal", "third")).labels == {"a": 0}
    ruled = after(*told, decided("a", 1))
    assert (ruled.labels, ruled.disagreements) == ({"a": 1}, ())
    assert ruled.answers["a"].who == "owner"
    assert after(*told, decided("a", 1), said("a", "normal", "third")).labels == {"a": 1}, "a decision stands"
    assert after(*told, decided("a", 1), decided("a", None)).answers == split.answers


def test_the_majority_is_a_label_and_still_listed_as_a_disagreement() -> None:
    state = after(ROUND, said("a", "anomaly"), said("a", "anomaly", "other"), said("a", "normal", "third"))
    assert (state.labels, state.disagreements) == ({"a": 1}, ("a",))


def test_unsure_beside_a_label_is_no_disagreement() -> None:
    state = after(ROUND, said("a", "unsure"), said("a", "anomaly", "other"))
    assert (state.labels, state.disagreements) == ({"a": 1}, ())


def test_an_owner_may_decide_what_nobody_labelled() -> None:
    state = after(ROUND, decided("a", 0), said("b", "skip"), decided("b", 1))
    assert state.labels == {"a": 0, "b": 1}
    assert state.open == ("c",)
    assert [state.round_of(item) for item in "ab"] == [1, 1]


def test_an_item_for_two_stays_open_until_two_labelled_it() -> None:
    one = after(ROUND, said("b", "anomaly"), per_item=2)
    assert (one.open, one.labels) == (("b", "a", "c"), {"b": 1})
    assert after(ROUND, said("b", "anomaly"), said("b", "normal", "other"), per_item=2).open == ("a", "c")
    assert after(ROUND, said("b", "anomaly"), decided("b", 0), per_item=2).open == ("a", "c")


def test_the_budget_grows() -> None:
    assert after(ROUND, Event("budget", "owner", body={"more": 5})).budget == 25


def test_notes_are_kept_apart_from_answers_and_the_newest_of_each_counts() -> None:
    told = [ROUND, Answer("a", Verdict.NORMAL, "first").event("expert"), written("a", "odd", "other")]
    assert [(note.who, note.text) for note in after(*told).notes_of("a")] == [("expert", "first"), ("other", "odd")]
    again = after(*told, written("a", "second", "expert"), written("a", "", "other"))
    assert [(note.who, note.text) for note in again.notes_of("a")] == [("expert", "second")]
    assert after(*told, UNDO).notes_of("a") == after(*told).notes_of("a"), "who takes an answer back keeps the words"
    assert after(*told, written("a", "", "expert"), UNDO).note_of("a", "expert") == ""
    assert after().notes_of("a") == ()


def test_undo_goes_back_one_answer_of_the_same_annotator_at_a_time() -> None:
    told = [ROUND, said("a", "anomaly"), said("b", "normal", "other"), said("a", "normal")]
    assert after(*told, UNDO).labels == {"a": 1, "b": 0}
    assert after(*told, UNDO, UNDO).labels == {"b": 0}
    assert after(*told, UNDO, UNDO, UNDO).labels == {"b": 0}
    assert after(*told, UNDO).undoable == {"expert": Undoable("a", 2), "other": Undoable("b", 3)}


def test_an_undo_of_another_answer_than_the_newest_is_void() -> None:
    told = [said("a", "anomaly"), said("b", "normal")]
    for of in (1, 7, None):
        events = [*in_order(told), numbered(Event("undo", "expert", body={"of": of}), 3)]
        assert fold(events, 20).labels == {"a": 1, "b": 0}
    twice = [numbered(Event("undo", "expert", body={"of": 2}), number) for number in (3, 4)]
    assert fold([*in_order(told), *twice], 20).labels == {"a": 1}, "a repeated undo takes one answer back"


def test_an_answer_without_a_note_keeps_the_earlier_one_and_an_empty_one_removes_it() -> None:
    told = [ROUND, Answer("a", Verdict.NORMAL, "first").event("expert"), said("a", "anomaly")]
    assert [note.text for note in after(*told).notes_of("a")] == ["first"]
    assert after(*told).answers["a"].note == "first"
    between = [told[0], told[1], written("a", "second", "expert"), told[2]]
    assert [note.text for note in after(*between).notes_of("a")] == ["second"], "the newest note stands"
    assert after(*told, Answer("a", Verdict.NORMAL, "").event("expert")).notes_of("a") == ()


def test_a_label_belongs_to_the_newest_round_that_had_drawn_its_item() -> None:
    state = after(ROUND, said("a", "anomaly"), said("b", "normal"), drawn(2, "de", "c"), said("d", "normal"))
    assert [state.round_of(item) for item in "abdcz"] == [1, 1, 2, 0, 0]


def test_a_later_correction_leaves_a_label_in_its_round() -> None:
    told = [drawn(1, "ab", "d"), said("d", "normal"), drawn(2, "de"), said("d", "anomaly")]
    assert after(*told).round_of("d") == 1


def test_a_label_of_an_item_never_drawn_belongs_to_no_round() -> None:
    assert after(ROUND, said("z", "normal")).round_of("z") == 0


def test_the_same_round_drawn_twice_counts_once() -> None:
    state = after(ROUND, drawn(1, "hij"))
    assert len(state.rounds) == 1
    assert state.open == ("a", "b", "c")


def test_a_refine_puts_its_items_before_those_that_nobody_looks_at() -> None:
    state = after(ROUND, said("a", "anomaly"), refined(1, "hi", 2))
    assert state.open == ("h", "i"), "the round still wants two"
    assert after(ROUND, said("a", "anomaly"), refined(1, "hi", 2), said("h", "skip")).open == ("i", "b")
    assert (state.n_left, state.labels, len(state.rounds)) == (19, {"a": 1}, 1)


def test_what_was_answered_or_is_looked_at_stays_where_it_is() -> None:
    told = [ROUND, said("a", "anomaly"), leased("c", "other", 0)]
    assert after(*told, refined(1, "hi", 2)).open == ("c", "h"), "it came in after the refine had looked"
    late = {**leased("c", "other", 0).body, "until": "2024-01-01T00:20:00+00:00"}
    assert after(*told[:2], Event("lease", "other", "c", late), refined(1, "hi", 2)).open == ("h", "i")
    taken_back = [ROUND, said("b", "anomaly"), said("c", "normal"), UNDO]
    assert after(*taken_back, refined(1, "hi", 4)).open == ("c", "h"), "who takes an answer back is asked again"


def test_an_item_for_two_waits_for_the_second_through_a_refine() -> None:
    state = after(ROUND, said("b", "anomaly"), refined(1, "hi", 2), per_item=2)
    assert state.open == ("b", "h", "i")


def test_a_refine_that_comes_too_late_changes_nothing() -> None:
    told = [ROUND, said("a", "anomaly"), refined(1, "hi", 2)]
    assert after(*told, refined(1, "jg", 2)).open == ("h", "i"), "another process knew as much"
    assert after(*told, drawn(2, "de"), refined(1, "jg", 3)).open == ("d", "e"), "its round is over"
    assert after(*told, refined(1, "jg", 3)).open == ("j", "g")


def test_a_late_answer_to_an_item_that_gave_way_still_counts_for_the_round() -> None:
    told = [ROUND, said("a", "anomaly"), refined(1, "hi", 2), said("c", "normal")]
    assert after(*told).open == ("h",)
    assert after(*told).round_of("c") == 1


def test_a_label_belongs_to_the_newest_refine_that_had_drawn_its_item() -> None:
    told = [ROUND, said("a", "anomaly"), refined(1, "bh", 2, record="s.npz"), said("h", "normal"), said("b", "normal")]
    state = after(*told, refined(1, "hci", 5), said("c", "anomaly"))
    parts = {item: part for item in "abhc" if (part := state.part_of(item)) is not None}
    assert {item: part.event for item, part in parts.items()} == {"a": 1, "b": 3, "h": 3, "c": 6}
    assert [parts[item].record for item in "abhc"] == ["r.npz", "s.npz", "s.npz", "r.npz"]
    assert [state.round_of(item) for item in "abhcz"] == [1, 1, 1, 1, 0]


@given(histories, refines, per_items)
def test_a_refine_changes_nothing_but_which_fresh_items_come_next(
    events: list[Event], refine: Event, per_item: int
) -> None:
    before = after(*events, per_item=per_item)
    now = after(*events, refine, per_item=per_item)
    assert (now.answers, now.leases, now.n_left) == (before.answers, before.leases, before.n_left)
    assert before.round is not None
    assert now.round is not None
    assert now.round.items >= before.round.items
    touched = {event.item for event in events if event.kind in ("label", "skip", "unsure", "decide")}
    held = {item for item, held in now.leases.items() if any(each.until > refine.body["looked_at"] for each in held)}
    fresh_or_held = {item for item in before.open if item not in before.answers and item in touched | held}
    joined = now.round.items - before.round.items
    settled = [item for item in joined if item in now.answers and now.answers[item].is_settled]  # while it was drawn
    assert settled or fresh_or_held <= set(now.open), "a round wants no more labels than before"
    assert len(now.open) >= len(before.open) - len(settled)


def test_a_missing_round_is_an_error() -> None:
    with pytest.raises(SessionError, match="events are missing"):
        after(ROUND, drawn(3, "hij"))
    with pytest.raises(SessionError, match="events are missing"):
        after(ROUND, refined(2, "hij", 1))


def test_the_first_warm_up_stays_and_the_last_fit_counts() -> None:
    def made(kind: str, folder: str) -> Event:
        ref = ModelRef(folder, "")
        fit = Fit(ref, "", 0, FitFigures(n_alarms=1, n_unsure=0), after=0)
        return Event(kind, "soel", body=body_of(fit) if kind == "fit" else {"model": body_of(ref), "after": 0})

    state = after(*(made(kind, folder) for folder in "xy" for kind in ("warm-up", "fit")))
    assert state.warm_up == ModelRef("x", "")
    assert state.fit is not None
    assert (state.fit.model, state.fit.at) == (ModelRef("y", ""), state.last_at)


@pytest.mark.parametrize(
    "event",
    [
        Event("label", "expert", "a", {"label": 2}),
        Event("label", "expert", "a", {"label": [1]}),
        Event("label", "expert", "a", {}),
        Event("label", "expert", None, {"label": 1}),
        Event("skip", "expert", None),
        Event("decide", "owner", "a", {"label": 3}),
        Event("note", "expert", "a", {"note": 3}),
        Event("lease", "expert", "a", {"since": "yesterday", "until": "today", "tab": ""}),
        Event("lease", "expert", None, {}),
        Event("budget", "owner", body={"more": "lots"}),
        Event("round", "soel", body={"round": 1}),
        Event("round", "soel", body={**ROUND.body, "asked": 3}),
        Event("refine", "soel", body={**ROUND.body, "after": 1}),
        Event("fit", "soel", body={"folder": "x"}),
        Event(
            "estimate", "soel", body={"estimate": {"value": 0.1, "low": 0, "high": 1, "method": "m", "diagnostics": 3}}
        ),
    ],
)
def test_a_damaged_event_is_an_error_that_says_what_to_do(event: Event) -> None:
    with pytest.raises(SessionError, match="estore"):
        after(event)


@given(histories)
def test_an_answered_item_is_never_open(events: list[Event]) -> None:
    state = after(*events)
    assert not set(state.open) & set(state.labels)
    assert len(set(state.open)) == len(state.open) <= state.n_left


@given(histories, answers, per_items)
def test_undo_after_tell_restores(events: list[Event], answer: Event, per_item: int) -> None:
    before = after(*events, per_item=per_item)
    restored = after(*events, answer, Event("undo", answer.who), per_item=per_item)
    assert restored == before
    assert restored.open == before.open


@given(histories, st.integers(0, 26), per_items)
def test_events_may_come_in_portions(events: list[Event], cut: int, per_item: int) -> None:
    whole = in_order(events)
    folding = Folding(20, per_item)
    folding.add(whole[:cut])
    early = folding.state()
    kept = dict(early.answers)
    folding.add(whole[cut:])
    assert folding.state() == after(*events, per_item=per_item)
    assert folding.last_event == len(events)
    assert early.answers == kept, "what was handed out stays as it was"


@given(histories)
def test_labels_are_what_a_naive_replay_says(events: list[Event]) -> None:
    live: list[tuple[str, str, object]] = []
    ruled: dict[str, object] = {}
    for event in events:
        if event.kind == "undo":
            own = [index for index, entry in enumerate(live) if entry[0] == event.who]
            if own:
                live.pop(own[-1])
        elif event.kind == "decide":
            ruled[str(event.item)] = event.body["label"]
        elif event.kind in ("label", "skip", "unsure"):
            live.append((event.who, str(event.item), event.body.get("label")))
    newest = {(who, item): label for who, item, label in live}
    labels: dict[str, object] = {}
    for item in ITEMS:
        said = [label for (_, about), label in newest.items() if about == item and label is not None]
        if ruled.get(item) is not None:
            labels[item] = ruled[item]
        elif said.count(0) != said.count(1):
            labels[item] = int(said.count(1) > said.count(0))
    assert after(*events).labels == labels


@given(histories)
def test_a_round_is_never_short_while_items_are_left(events: list[Event]) -> None:
    state = after(*events)
    assert state.round is not None
    told = [state.answers[d.item] for d in state.round.draws if d.item in state.answers]
    left = [d.item for d in state.round.draws if d.item not in state.answers or state.may_return(d.item)]
    wanted = max(0, len(state.round.asked) - sum(answered.is_settled for answered in told))
    assert len(state.open) == min(wanted, len(left))


def test_ten_thousand_events_are_folded_in_a_fifth_of_a_second() -> None:
    events = [drawn(1, ITEMS)]
    for number in range(2, 10_002):
        item, who = f"item {number % 700}", f"ann {number % 5}"
        kinds = (said(item, "anomaly", who), said(item, "skip", who), leased(item, who, number % 60))
        events.append((*kinds, Event("undo", who))[number % 4])
    events = in_order(events)
    spent = []
    for _ in range(3):
        started = time.thread_time()  # of this thread alone: other work on the machine does not count
        assert fold(events, 20).last_event == 10_001
        spent.append(time.thread_time() - started)
    assert min(spent) < 0.2
