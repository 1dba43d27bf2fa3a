"""The events of a session folded one by one: new ones are taken up without reading the old ones again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from soel.assess.conformal import FitFigures
from soel.errors import LabelError, SessionError
from soel.session.answers import Answered, Decision, Vote, settle
from soel.session.events import ANSWER_KINDS, Event
from soel.session.leases import Lease, is_free, read_lease
from soel.session.marks import Mark, read_mark
from soel.session.pool import FIRST, PoolChange, PoolRef, pool_at, read_change
from soel.session.rounds import ModelRef, Round, read_round
from soel.session.state import Fit, Note, SessionState, Undoable, read_estimate
from soel.types import Estimate, Label, Verdict

ABOUT_ITEMS = (*ANSWER_KINDS, "undo", "decide", "note", "mark", "round", "refine")
SAID = (*ANSWER_KINDS, "undo", "decide")
_VERDICT_OF = {verdict.label: verdict for verdict in Verdict if verdict.label is not None}

Known = TypeVar("Known")


@dataclass
class _Item:
    """All that still stands about one item. votes: the votes of each annotator, newest last."""

    votes: dict[str, list[Vote]] = field(default_factory=dict)
    decision: Decision | None = None

    @property
    def answered(self) -> Answered | None:
        return settle([own[-1] for own in self.votes.values() if own], self.decision)


class Ledger:
    """Where a session stands after the events taken up so far. `cursor`: the number of the last one.

    Not safe for threads; the session holds a lock around it.
    """

    def __init__(self, budget: int, answers_per_item: int = 1) -> None:
        self.cursor = 0
        self._budget, self._per_item = budget, answers_per_item
        self._rounds: list[Round] = []
        self._items: dict[str, _Item] = {}
        self._answered: dict[str, list[Undoable]] = {}  # per annotator, newest last
        self._answers: dict[str, Answered] = {}
        self._keys: set[tuple[str, str]] = set()  # of the answers taken up, with their annotators
        self._leases: dict[str, dict[str, Lease]] = {}
        self._notes: dict[str, dict[str, Note]] = {}
        self._marks: dict[str, dict[str, Mark]] = {}
        self._assigned: dict[str, tuple[str, ...]] = {}
        self._warm_up: ModelRef | None = None
        self._estimate: Estimate | None = None
        self._fits: list[Fit] = []
        self._pools: list[PoolRef] = [FIRST]
        self._gone: set[str] = set()
        self._said = 0  # the number of the last answer, undo or decision
        self._about_items = 0  # the number of the last event that speaks of items: a round, an answer, a decision
        self._called, self._at = ("", ""), ""
        self._maps_wait = False
        self._state: SessionState | None = None
        self._unsettled: set[str] = set()  # an answer is worked out when somebody looks, not after each event
        self._steps: dict[str, Callable[[Event], None]] = {
            **dict.fromkeys(ANSWER_KINDS, self._answer),
            "round": self._round,
            "refine": self._refine,
            "undo": self._undo,
            "lease": self._lease,
            "decide": self._decide,
            "note": self._note,
            "mark": self._mark,
            "assign": self._assign,
            "pool": self._pool,
        }

    def add(self, events: Iterable[Event]) -> None:
        """Take up these events."""
        for event in events:
            self._state = None
            self._steps.get(event.kind, self._machine)(event)
            self.cursor, self._at = event.number, event.at
            if event.kind in ABOUT_ITEMS:
                self._about_items = event.number
            if event.kind in SAID:
                self._said = event.number

    def state(self) -> SessionState:
        """A frozen view, which later events leave as it is."""
        if self._state is None:
            for item in tuple(self._unsettled):
                self._settle(item)
            self._state = SessionState(
                self._budget,
                tuple(self._rounds),
                self._there(self._answers),
                {who: answered[-1] for who, answered in self._answered.items() if answered},
                self._warm_up,
                self._estimate,
                tuple(self._fits),
                self._per_item,
                {item: tuple(held.values()) for item, held in self._leases.items()},
                self._there({item: tuple(notes.values()) for item, notes in self._notes.items()}),
                self.cursor,
                tuple(self._pools),
                frozenset(self._gone),
                *self._called,
                self._at,
                self._said,
                self._there(self._assigned),
                self._there({item: tuple(marks.values()) for item, marks in self._marks.items() if marks}),
                self._maps_wait,
            )
        return self._state

    def has_key(self, who: str, key: str) -> bool:
        """Whether an answer of this annotator with this key was taken up."""
        return (who, key) in self._keys

    def _there(self, known: Mapping[str, Known]) -> dict[str, Known]:
        """What is known of items, but for those that were removed."""
        return {item: value for item, value in known.items() if item not in self._gone} if self._gone else dict(known)

    def _answer(self, event: Event) -> None:
        """Take up an answer, unless it is one that was sent twice."""
        item, verdict = _item_of(event), _verdict(event)
        if key := event.body.get("key"):
            if (event.who, key) in self._keys:
                return
            self._keys.add((event.who, str(key)))
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
        own.append(Vote(event.who, verdict, event.number, note, event.at, first, times_aside, noted))
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
        item, label = _item_of(event), event.body.get("label")
        decision = None
        if label is not None:
            decision = Decision(event.who, _label_verdict(event), event.number, event.at)
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
        lease: Lease = _read(event, lambda body: read_lease(item, event.who, event.number, body))
        held = self._leases.setdefault(item, {})
        if item in self._unsettled:
            self._settle(item)
        assigned = self._assigned.get(item, ())
        if is_free(self._answers.get(item), held.values(), event.who, lease.since, self._per_item, assigned):
            held[event.who] = lease

    def _note(self, event: Event) -> None:
        item, text = _item_of(event), event.body.get("note")
        if not isinstance(text, str):
            raise _damage_error(event, f"its note is {text!r}")
        self._keep_note(item, Note(event.who, text, event.number, event.at))

    def _keep_note(self, item: str, note: Note) -> None:
        notes = self._notes.setdefault(item, {})
        if note.who not in notes or notes[note.who].number < note.number:
            notes.pop(note.who, None)
            notes[note.who] = note

    def _assign(self, event: Event) -> None:
        item = _item_of(event)
        self._assigned[item] = _read(event, lambda body: tuple(str(name) for name in body["to"]))
        if not self._assigned[item]:
            del self._assigned[item]

    def _mark(self, event: Event) -> None:
        """Keep what an annotator drew in place of what the same one drew before; nothing takes it back."""
        item = _item_of(event)
        try:
            mark = read_mark(event.who, event.body, event.number, event.at)
        except LabelError as error:
            raise _damage_error(event, str(error)) from error
        marks = self._marks.setdefault(item, {})
        marks.pop(event.who, None)
        if mark.regions:
            marks[event.who] = mark

    def _round(self, event: Event) -> None:
        """Keep a round, unless another process drew the same one, or changed the pool, a moment before."""
        drawn = replace(read_round(event.body), event=event.number)
        if drawn.number == len(self._rounds) + 1:
            if len(pool_at(self._pools, drawn.after)) == len(self._pools):
                self._rounds.append(drawn)
        elif not 1 <= drawn.number <= len(self._rounds):
            raise _missing("Round", drawn.number, "round", len(self._rounds))

    def _refine(self, event: Event) -> None:
        """Put what was proposed in the middle of a round before all that nobody has looked at yet.

        It comes too late where the round is over, the pool is another one, or a refine came in that knew as much.
        """
        part = replace(read_round(event.body), event=event.number)
        if not 1 <= part.number <= len(self._rounds):
            raise _missing("A refine of round", part.number, "round", len(self._rounds))
        drawn = self._rounds[-1]
        knows_pool = len(pool_at(self._pools, part.after)) == len(self._pools)
        if part.number == drawn.number and knows_pool and (part.after or 0) > (drawn.parts[-1].after or 0):
            kept = {draw.item for draw in drawn.draws if self._was_shown(draw.item, part.at)}
            self._rounds[-1] = drawn.with_refine(part, kept)

    def _was_shown(self, item: str, at: str) -> bool:
        """Whether somebody answered an item, even if it was taken back, holds a lease on it, or is to label it."""
        if item in self._items or item in self._assigned:
            return True
        return any(lease.until > at for lease in self._leases.get(item, {}).values())

    def _pool(self, event: Event) -> None:
        """Take up a change of the pool, unless its writer did not know what had happened by then: another change, or
        a question or an answer about an item that was to give way.
        """
        change: PoolChange = _read(event, lambda body: read_change(body, event.number, event.who, event.at))
        if change.pool.number > len(self._pools) + 1:
            raise _missing("Pool", change.pool.number, "pool", len(self._pools))
        is_late = change.pool.number <= len(self._pools) or change.after < self._pools[-1].since
        if is_late or (change.pool.n_displaced and self._about_items > change.after):
            return
        self._pools.append(change.pool)
        self._gone = (self._gone | change.removed) - change.returned
        self._warm_up = None  # that of the new pool is still to be made

    def _pool_known_to(self, event: Event) -> int:
        """The number of the pool that a computing step saw; other events may have come in while it ran."""
        return pool_at(self._pools, event.body.get("after", event.number - 1))[-1].number

    def _machine(self, event: Event) -> None:
        if event.kind == "warm-up":  # every fit restarts from the pool's first one
            ref = _read(event, lambda body: ModelRef(body["folder"], body["fingerprint"]))
            if self._warm_up is None and self._pool_known_to(event) == len(self._pools):
                self._warm_up = ref
        elif event.kind == "estimate":
            self._estimate = _read(event, read_estimate)
        elif event.kind == "fit":
            n_rounds, pool = len(self._rounds), self._pool_known_to(event)
            self._fits.append(_read(event, lambda body: _fit(body, n_rounds, pool)))
        elif event.kind == "budget":
            self._budget += _read(event, lambda body: int(body["more"]))
        elif event.kind == "maps":
            self._maps_wait = _read(event, lambda body: bool(body["wait"]))
        elif event.kind == "describe":
            self._called = _read(event, lambda body: (str(body["name"]), str(body["description"])))


def fold(events: Iterable[Event], budget: int, answers_per_item: int = 1) -> SessionState:
    """The state after these events."""
    ledger = Ledger(budget, answers_per_item)
    ledger.add(events)
    return ledger.state()


def _item_of(event: Event) -> str:
    if event.item is None:
        raise _damage_error(event, "it names no item")
    return event.item


def _verdict(event: Event) -> Verdict:
    return Verdict(event.kind) if event.kind != "label" else _label_verdict(event)


def _label_verdict(event: Event) -> Verdict:
    label = event.body.get("label")
    if not isinstance(label, int) or label not in _VERDICT_OF:
        raise _damage_error(event, f"its code for {event.item!r} is {label!r}, neither 1 nor 0")
    return _VERDICT_OF[Label(label)]


def _fit(body: Mapping[str, Any], n_rounds: int, pool: int) -> Fit:
    model = ModelRef(body["folder"], body["fingerprint"])
    advice = body.get("advice") or body.get("worth") or {}  # as older releases called it
    figures = body.get("figures")
    kept = None if figures is None else FitFigures.from_json(figures)
    return Fit(model, str(body["labels"]), int(body["n_labels"]), n_rounds, dict(advice), pool, kept)


def _read(event: Event, reader: Callable[[Mapping[str, Any]], Any]) -> Any:
    try:
        return reader(event.body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damage_error(event, f"{type(error).__name__}: {error}") from error


def _missing(what: str, number: int, before: str, last: int) -> SessionError:
    return SessionError(
        f"{what} {number} is stored after {before} {last}: events are missing. Restore the session from a copy."
    )


def _damage_error(event: Event, why: str) -> SessionError:
    return SessionError(f"Event {event.number} ({event.kind}) cannot be read: {why}. Restore the session from a copy.")
