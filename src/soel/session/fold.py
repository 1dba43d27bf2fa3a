"""The events of a session folded into its state, one by one: new ones are taken up without reading the old ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from soel.errors import LabelError, SessionError
from soel.records import read_body
from soel.session.alarms import Night
from soel.session.config import PoolChange, pool_at
from soel.session.events import ANSWER_KINDS, SELF, Answered, Decision, Event, Vote, read_names, settle, verdict_of
from soel.session.marks import Mark, read_mark
from soel.session.people import Lease, is_free
from soel.session.rounds import ModelRef, Round
from soel.session.state import Fit, Note, SessionState, Undoable
from soel.types import Estimate

ABOUT_ITEMS = (*ANSWER_KINDS, "undo", "decide", "note", "mark", "round", "refine")
SAID = (*ANSWER_KINDS, "undo", "decide")
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, LabelError)

Known = TypeVar("Known")


def fold(events: Iterable[Event], budget: int, answers_per_item: int = 1) -> SessionState:
    """The state after these events."""
    folding = Folding(budget, answers_per_item)
    folding.add(events)
    return folding.state()


@dataclass
class _Item:
    """All that still stands about one item. votes: the votes of each annotator, newest last."""

    votes: dict[str, list[Vote]] = field(default_factory=dict)
    decision: Decision | None = None

    @property
    def answered(self) -> Answered | None:
        return settle([own[-1] for own in self.votes.values() if own], self.decision)


class Folding:
    """Where a session stands after the events taken up so far. `last_event`: the number of the last one.

    Not safe for threads; the session holds a lock around it.
    """

    def __init__(self, budget: int, answers_per_item: int = 1) -> None:
        self.last_event, self._last_at = 0, ""
        self._last_answer = 0  # the number of the last answer, undo or decision
        self._about_items = 0  # the number of the last event that speaks of items: a round, an answer, a decision
        self._now = SessionState(budget, answers_per_item=answers_per_item)  # all but what is kept of items, below
        self._state: SessionState | None = None
        self._items: dict[str, _Item] = {}
        self._unsettled: set[str] = set()  # answers are settled when the state is read, not after each event
        self._answers: dict[str, Answered] = {}
        self._answered: dict[str, list[Undoable]] = {}  # per annotator, newest last
        self._leases: dict[str, dict[str, Lease]] = {}
        self._notes: dict[str, dict[str, Note]] = {}
        self._marks: dict[str, dict[str, Mark]] = {}
        self._assigned: dict[str, tuple[str, ...]] = {}
        self._names: set[str] = set()  # everybody who did something, or is to
        self._keys: set[tuple[str, str]] = set()  # of the answers taken up, with their annotators
        self._steps: dict[str, Callable[[Event], None]] = {
            **dict.fromkeys(ANSWER_KINDS, self._answer),
            "undo": self._undo,
            "decide": self._decide,
            "lease": self._lease,
            "assign": self._assign,
            "note": self._note,
            "mark": self._mark,
            "round": self._round,
            "refine": self._refine,
            "warm-up": self._warm,
            "estimate": self._estimated,
            "fit": self._fit,
            "pool": self._pool,
            "budget": self._extend,
            "describe": self._describe,
            "maps": self._maps,
            "watch": self._watch,
            "promote": self._promote,
        }

    def add(self, events: Iterable[Event]) -> None:
        """Take up these events."""
        for event in events:
            self._state = None
            try:
                if event.at and datetime.fromisoformat(event.at).tzinfo is None:
                    raise ValueError(f"its time {event.at} has no zone")
                self._steps[event.kind](event)
            except _UNREADABLE as error:
                why = f"{type(error).__name__}: {error}"
                raise SessionError(
                    f"Event {event.number} ({event.kind}) cannot be read: {why}. Restore the session from a copy."
                ) from error
            self.last_event, self._last_at = event.number, event.at
            self._names.add(event.who)
            if event.kind in ABOUT_ITEMS:
                self._about_items = event.number
            if event.kind in SAID:
                self._last_answer = event.number

    def state(self) -> SessionState:
        """A frozen view, which later events leave as it is."""
        if self._state is None:
            for item in tuple(self._unsettled):
                self._settle(item)
            self._state = replace(
                self._now,
                answers=self._there(self._answers),
                undoable={who: answered[-1] for who, answered in self._answered.items() if answered},
                leases={item: tuple(held.values()) for item, held in self._leases.items()},
                written_notes=self._there({item: tuple(notes.values()) for item, notes in self._notes.items()}),
                last_event=self.last_event,
                last_at=self._last_at,
                last_answer=self._last_answer,
                names=frozenset(self._names - {SELF}),
                assigned=self._there(self._assigned),
                marks=self._there({item: tuple(marks.values()) for item, marks in self._marks.items() if marks}),
            )
        return self._state

    def _there(self, known: Mapping[str, Known]) -> dict[str, Known]:
        """What is known of items, but for those that were removed."""
        gone = self._now.gone
        return {item: value for item, value in known.items() if item not in gone} if gone else dict(known)

    def _set(self, **changed: Any) -> None:
        self._now = replace(self._now, **changed)

    def has_key(self, who: str, key: str) -> bool:
        """Whether an answer of this annotator with this key was taken up."""
        return (who, key) in self._keys

    def _answer(self, event: Event) -> None:
        """Take up an answer, unless it is one that was sent twice."""
        key = event.who, str(event.body.get("key", ""))
        if key in self._keys:
            return
        if key[1]:
            self._keys.add(key)
        item, verdict = _item_of(event), verdict_of(event)
        assert verdict is not None  # an answer has one
        own = self._items.setdefault(item, _Item()).votes.setdefault(event.who, [])
        before = own[-1] if own else None
        first = before.first_label if before else None
        if first is None and verdict.label is not None:
            first = event.number
        times_aside = (before.times_aside if before else 0) + (verdict.label is None)
        said = event.body.get("note")
        note, noted = (str(said), event.number) if said is not None else ("", None)
        if said is None and before is not None:
            note, noted = before.note, before.noted
        named = event.body.get("because")
        because = () if named is None else read_names(named)
        if named is None and before is not None and before.verdict is verdict:
            because = before.because
        own.append(Vote(event.who, verdict, event.number, note, event.at, first, times_aside, noted, because))
        self._answered.setdefault(event.who, []).append(Undoable(item, event.number))
        self._unsettled.add(item)

    def _undo(self, event: Event) -> None:
        """Take back the answer that the event names; void where it is not the newest one that stands."""
        answered = self._answered.get(event.who)
        if answered and event.body.get("of") == answered[-1].number:
            item = answered.pop().item
            undone = self._items[item].votes[event.who].pop()
            if undone.noted == undone.number:  # its words stay
                self._keep_note(item, Note(event.who, undone.note, undone.number, undone.at))
            self._unsettled.add(item)

    def _decide(self, event: Event) -> None:
        item, verdict = _item_of(event), verdict_of(event)
        decision = None if verdict is None else Decision(event.who, verdict, event.number, event.at)
        self._items.setdefault(item, _Item()).decision = decision
        self._unsettled.add(item)

    def _settle(self, item: str) -> None:
        self._unsettled.discard(item)
        answered = self._items[item].answered
        if answered is None:
            self._answers.pop(item, None)
        else:
            self._answers[item] = answered

    def _lease(self, event: Event) -> None:
        """Keep a lease where the item was free when it was asked for; of two at once the first one holds."""
        item = _item_of(event)
        lease = read_body(Lease, event.body, item=item, who=event.who, number=event.number)
        held = self._leases.setdefault(item, {})
        if item in self._unsettled:
            self._settle(item)
        assigned = self._assigned.get(item, ())
        if is_free(
            self._answers.get(item), held.values(), event.who, lease.since, self._now.answers_per_item, assigned
        ):
            held[event.who] = lease

    def _assign(self, event: Event) -> None:
        item, names = _item_of(event), tuple(str(name) for name in event.body["to"])
        self._assigned.pop(item, None)
        self._names.update(names)
        if names:
            self._assigned[item] = names

    def _note(self, event: Event) -> None:
        item, text = _item_of(event), event.body["note"]
        if not isinstance(text, str):
            raise TypeError(f"its note is {text!r}")
        self._keep_note(item, Note(event.who, text, event.number, event.at))

    def _keep_note(self, item: str, note: Note) -> None:
        notes = self._notes.setdefault(item, {})
        if note.who not in notes or notes[note.who].number < note.number:
            notes.pop(note.who, None)
            notes[note.who] = note

    def _mark(self, event: Event) -> None:
        """Keep what an annotator drew in place of what the same one drew before; nothing takes it back."""
        mark = read_mark(event.who, event.body, event.number, event.at)
        marks = self._marks.setdefault(_item_of(event), {})
        marks.pop(event.who, None)
        if mark.regions:
            marks[event.who] = mark

    def _round(self, event: Event) -> None:
        """Keep a round, unless another process drew the same one, or changed the pool, a moment before."""
        drawn, rounds = read_body(Round, event.body, event=event.number, at=event.at), self._now.rounds
        _check_number("Round", drawn.number, "round", len(rounds), len(rounds) + 1)
        if drawn.number == len(rounds) + 1 and self._knew_pool(drawn.after):
            self._set(rounds=(*rounds, drawn))

    def _refine(self, event: Event) -> None:
        """Put what was proposed in the middle of a round before all items that were not shown yet.

        It comes too late where the round is over, the pool is another one, or a refine came in that knew as much.
        """
        part, rounds = read_body(Round, event.body, event=event.number, at=event.at), self._now.rounds
        _check_number("A refine of round", part.number, "round", len(rounds), len(rounds))
        drawn = rounds[-1]
        if part.number == drawn.number and self._knew_pool(part.after) and part.after > drawn.parts[-1].after:
            kept = {draw.item for draw in drawn.draws if self._was_shown(draw.item, part.looked_at)}
            self._set(rounds=(*rounds[:-1], drawn.with_refine(part, kept)))

    def _was_shown(self, item: str, at: str) -> bool:
        """Whether an item was answered (even if that was undone), is leased or is assigned."""
        if item in self._items or item in self._assigned:
            return True
        return any(lease.until > at for lease in self._leases.get(item, {}).values())

    def _pool(self, event: Event) -> None:
        """Take up a change of the pool, unless its writer did not know what had happened by then: another change, or
        a question or an answer about an item that was to give way.
        """
        change, now = read_body(PoolChange, event.body), self._now
        pool = replace(change.pool, since=event.number, who=event.who, at=event.at)
        _check_number("Pool", pool.number, "pool", len(now.pools), len(now.pools) + 1)
        is_late = pool.number <= len(now.pools) or change.after < now.pools[-1].since
        if is_late or (pool.n_displaced and self._about_items > change.after):
            return
        self._set(
            pools=(*now.pools, pool),
            gone=(now.gone | change.removed) - change.returned,
            warm_up=None,  # that of the new pool is still to be made
        )

    def _knew_pool(self, after: int) -> bool:
        """Whether a step that knew the events up to this one saw the pool that holds now."""
        return pool_at(self._now.pools, after) == self._now.pools

    def _warm(self, event: Event) -> None:
        ref = read_body(ModelRef, event.body["model"])
        if self._now.warm_up is None and self._knew_pool(int(event.body["after"])):  # every fit restarts from the first
            self._set(warm_up=ref)

    def _estimated(self, event: Event) -> None:
        self._set(estimate=read_body(Estimate, event.body["estimate"]))

    def _fit(self, event: Event) -> None:
        fit, fits = read_body(Fit, event.body, n_rounds=len(self._now.rounds), at=event.at), self._now.fits
        self._set(fits=(*fits, replace(fit, pool=pool_at(self._now.pools, fit.after)[-1].number)))
        if fit.comparison is None:
            self._set(current=len(fits))

    def _promote(self, event: Event) -> None:
        """Let an earlier fit, or a candidate, score from now on."""
        number = int(event.body["fit"])
        if not 1 <= number <= len(self._now.fits):
            raise ValueError(f"there is no fit {number}")
        self._set(current=number - 1)

    def _watch(self, event: Event) -> None:
        self._set(nights=(*self._now.nights, read_body(Night, event.body, at=event.at)))

    def _extend(self, event: Event) -> None:
        self._set(budget=self._now.budget + int(event.body["more"]))

    def _describe(self, event: Event) -> None:
        self._set(name=str(event.body["name"]), description=str(event.body["description"]))

    def _maps(self, event: Event) -> None:
        self._set(maps_wait=bool(event.body["wait"]))


def _item_of(event: Event) -> str:
    if event.item is None:
        raise ValueError("it names no item")
    return event.item


def _check_number(what: str, number: int, before: str, last: int, highest: int) -> None:
    """Refuse a round or a pool whose forerunner is missing."""
    if not 1 <= number <= highest:
        raise SessionError(
            f"{what} {number} is stored after {before} {last}: events are missing. Restore the session from a copy."
        )
