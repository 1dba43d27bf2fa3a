from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soel.errors import SessionError
from soel.session import Answer, Event, SessionState, fold
from soel.session.rounds import Draw, ModelRef, Round

ITEMS = tuple("abcdefghij")


def drawn(number: int, asked: Sequence[str], reserve: Sequence[str] = ()) -> Event:
    def draws(items: Sequence[str]) -> tuple[Draw, ...]:
        return tuple(Draw(item, 0.5, 1.0) for item in items)

    model = ModelRef("models/warm-up", "0" * 16)
    made = Round(number, draws(asked), draws(reserve), model, (0, number), "diverse", {}, "r.npz", "0" * 64)
    return Event("round", "soel", body=made.body())


def said(item: str, verdict: str, who: str = "expert") -> Event:
    return Answer(item, verdict).event(who)


UNDO = Event("undo", "expert")


def after(*events: Event, budget: int = 20) -> SessionState:
    return fold([numbered(e, i) for i, e in enumerate(events, start=1)], budget)


def numbered(event: Event, number: int) -> Event:
    return Event(event.kind, event.who, event.item, event.body, number, "now")


ROUND = drawn(1, "abc", "defg")
answers = st.builds(
    said,
    st.sampled_from(ITEMS),
    st.sampled_from(["anomaly", "normal", "skip", "unsure"]),
    st.sampled_from(["expert", "other"]),
)
undos = st.sampled_from(["expert", "other"]).map(lambda who: Event("undo", who))
histories = st.lists(st.one_of(answers, undos, st.just(ROUND), st.just(drawn(2, "hi", "j"))), max_size=25).map(
    lambda events: [ROUND, *events]
)


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


def test_a_correction_replaces_an_answer_whoever_gives_it() -> None:
    state = after(ROUND, said("a", "anomaly"), said("a", "normal", "other"))
    assert state.labels == {"a": 0}
    assert state.answers["a"].who == "other"


def test_undo_goes_back_one_answer_of_the_same_annotator_at_a_time() -> None:
    told = [ROUND, said("a", "anomaly"), said("b", "normal", "other"), said("a", "normal")]
    assert after(*told, UNDO).labels == {"a": 1, "b": 0}
    assert after(*told, UNDO, UNDO).labels == {"b": 0}
    assert after(*told, UNDO, UNDO, UNDO).labels == {"b": 0}
    assert after(*told, UNDO).undoable == {"expert": 1, "other": 1}


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


def test_a_missing_round_is_an_error() -> None:
    with pytest.raises(SessionError, match="events are missing"):
        after(ROUND, drawn(3, "hij"))


def test_the_first_warm_up_stays_and_the_last_fit_counts() -> None:
    def made(kind: str, folder: str) -> Event:
        return Event(kind, "soel", body={"folder": folder, "fingerprint": "", "labels": "", "n_labels": 0})

    state = after(*(made(kind, folder) for folder in "xy" for kind in ("warm-up", "fit")))
    assert state.warm_up == ModelRef("x", "")
    assert state.fit is not None
    assert state.fit.model == ModelRef("y", "")


@pytest.mark.parametrize(
    "event",
    [
        Event("label", "expert", "a", {"label": 2}),
        Event("label", "expert", "a", {"label": [1]}),
        Event("label", "expert", "a", {}),
        Event("label", "expert", None, {"label": 1}),
        Event("skip", "expert", None),
        Event("round", "soel", body={"round": 1}),
        Event("round", "soel", body={**ROUND.body, "asked": 3}),
        Event("fit", "soel", body={"folder": "x"}),
        Event("estimate", "soel", body={"value": 0.1, "low": 0, "high": 1, "method": "m", "diagnostics": 3}),
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


@given(histories, answers)
def test_undo_after_tell_restores(events: list[Event], answer: Event) -> None:
    before = after(*events)
    restored = after(*events, answer, Event("undo", answer.who))
    assert restored == before
    assert restored.open == before.open


@given(histories)
def test_replaying_the_events_gives_the_same_state(events: list[Event]) -> None:
    assert after(*events) == after(*events)
    assert after(*events).labels_digest == after(*events).labels_digest


@given(histories)
def test_labels_are_what_a_naive_replay_says(events: list[Event]) -> None:
    live: list[tuple[str, str | None, object]] = []
    for event in events:
        if event.kind == "undo":
            own = [index for index, entry in enumerate(live) if entry[0] == event.who]
            if own:
                live.pop(own[-1])
        elif event.item is not None:
            live.append((event.who, event.item, event.body.get("label")))
    last = {item: label for _, item, label in live}
    assert after(*events).labels == {item: label for item, label in last.items() if label is not None}


@given(histories)
def test_a_round_is_never_short_while_items_are_left(events: list[Event]) -> None:
    state = after(*events)
    assert state.round is not None
    n_told = sum(draw.item in state.labels for draw in state.round.draws)
    left = [d.item for d in state.round.draws if d.item not in state.answers or state.may_return(d.item)]
    wanted = max(0, len(state.round.asked) - n_told)
    assert len(state.open) == min(wanted, len(left))
