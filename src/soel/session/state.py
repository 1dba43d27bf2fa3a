"""Where a session stands: what follows from its events, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.assess.conformal import FitFigures
from soel.records import BESIDE, body_of
from soel.session.alarms import Night
from soel.session.config import FIRST, PoolRef, pool_at
from soel.session.events import Answer, Answered, Event, Vote, decision_on
from soel.session.marks import Mark
from soel.session.people import Lease
from soel.session.pool_records import StoppingAdvice
from soel.session.rounds import ModelRef, Round
from soel.text import Message
from soel.types import ANOMALY, Estimate, Floats, Label

if TYPE_CHECKING:
    from soel.detect.detector import Detector


@dataclass(frozen=True)
class Note:
    """What an annotator wrote about an item. number, at: of its event."""

    who: str
    text: str
    number: int
    at: str = ""


@dataclass(frozen=True)
class Undoable:
    """The newest answer of an annotator that still stands. number: of its event."""

    item: str
    number: int


WORSE = 0.02  # AUROC on held-out labels by which a candidate may be below the current model


@dataclass(frozen=True)
class Comparison:
    """AUROC of the current model and of candidates on `n_labels` labels that neither has learnt from.

    Both are None where these labels are all of one kind.
    """

    n_labels: int
    current: float | None
    candidate: float | None

    @property
    def is_promoted(self) -> bool:
        """Whether the candidate takes over: it has learnt from more, so it does unless it is clearly worse."""
        if self.current is None or self.candidate is None:
            return True
        return self.candidate >= self.current - WORSE


@dataclass(frozen=True)
class NamedEffect:
    """What columns that experts named did to a fit: of `n_alarms` alarms, `n_moved` would not be among as many without
    the names of `n_answers` answers.
    """

    n_answers: int
    n_moved: int
    n_alarms: int

    @classmethod
    def of(
        cls, scores: Floats, threshold: float, detector: Detector | None, rows: Floats, n_answers: int
    ) -> NamedEffect:
        """The alarms of a pool (rows (N, d), scores (N,)) beside as many of the same detector without the names."""
        is_alarm, without = scores > threshold, scores
        n_alarms = int(is_alarm.sum())
        if detector is not None and (plain := detector.without_names()[0]) is not detector:
            without = without - detector.score(rows) + plain.score(rows)
        highest = np.argsort(-without, kind="stable")[:n_alarms]
        return cls(n_answers, n_alarms - int(is_alarm[highest].sum()), n_alarms)

    @property
    def message(self) -> Message:
        counts = {"moved": self.n_moved, "alarms": self.n_alarms}
        return Message("because.effect" if self.n_moved else "because.nothing", {"n": self.n_answers, **counts})


@dataclass(frozen=True)
class Fit:
    """A finished fit.

    labels_digest, n_labels: of the labels that it learned from.
    figures: what it says of the pool, roughly.
    after: the number of the last event that was known when it began.
    advice: what was measured on the way about when to stop; None where nothing could be compared.
    comparison: of a candidate with the model that scored then. named: None where no column was named.
    n_rounds: how many rounds were drawn until then. pool: the number of the pool it saw.
    at: the time of its event.
    """

    model: ModelRef
    labels_digest: str
    n_labels: int
    figures: FitFigures
    after: int
    advice: StoppingAdvice | None = None
    comparison: Comparison | None = None
    named: NamedEffect | None = None
    n_rounds: int = field(default=0, metadata=BESIDE)
    pool: int = field(default=1, metadata=BESIDE)
    at: str = field(default="", metadata=BESIDE)


@dataclass(frozen=True)
class SessionState:
    """Everything that follows from the events.

    undoable: the answer that each annotator can take back.
    estimate: the share of anomalies by the last fit. current: the position of the fit that
    scores, -1 before the first one. nights: the inputs that were watched.
    answers_per_item: how many annotators are to label each item.
    last_event, last_at: number and time of the newest event. last_answer: of the newest answer, undo or decision.
    pools: each state of the pool, the one that holds last.
    gone: items that were removed; nothing said of them counts.
    names: everybody who did something, or is to.
    name, description: what the owner calls the session.
    assigned: who is to label which items.
    marks: what each annotator drew on a picture. maps_wait: whether a map is shown only after an own answer.
    """

    budget: int
    rounds: tuple[Round, ...] = ()
    answers: Mapping[str, Answered] = field(default_factory=dict)
    undoable: Mapping[str, Undoable] = field(default_factory=dict)
    warm_up: ModelRef | None = None
    estimate: Estimate | None = None
    fits: tuple[Fit, ...] = ()
    current: int = -1
    nights: tuple[Night, ...] = ()
    answers_per_item: int = 1
    leases: Mapping[str, tuple[Lease, ...]] = field(default_factory=dict)
    written_notes: Mapping[str, tuple[Note, ...]] = field(default_factory=dict)
    last_event: int = field(default=0, compare=False)
    pools: tuple[PoolRef, ...] = (FIRST,)
    gone: frozenset[str] = frozenset()
    names: frozenset[str] = field(default=frozenset(), compare=False)
    name: str = ""
    description: str = ""
    last_at: str = field(default="", compare=False)
    last_answer: int = field(default=0, compare=False)
    assigned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    maps_wait: bool = False

    @cached_property
    def labels(self) -> dict[str, Label]:
        """The label that holds for each labelled item: 1 anomaly, 0 normal."""
        return {i: label for i, a in self.answers.items() if (label := a.label) is not None}

    @cached_property
    def disagreements(self) -> tuple[str, ...]:
        """Items that annotators label differently and that the owner has not decided, oldest first."""
        open_ones = (
            item
            for item, answered in self.answers.items()
            if answered.decision is None and len({vote.verdict for vote in answered.votes if vote.is_label}) > 1
        )
        return tuple(sorted(open_ones, key=lambda item: self.answers[item].votes[0].number))

    @cached_property
    def n_spent(self) -> int:
        """How much of the budget is used: items with a label, or decided by the owner."""
        return sum(answered.is_settled for answered in self.answers.values())

    @property
    def n_left(self) -> int:
        """Labels that the budget still allows."""
        return max(0, self.budget - self.n_spent)

    @property
    def fit(self) -> Fit | None:
        """The fit that scores: the last one, or the one that was promoted after it."""
        return self.fits[self.current] if self.current >= 0 else None

    @property
    def newest_model(self) -> ModelRef | None:
        """That of the fit that scores; before the first label, of the warm-up."""
        return self.warm_up if self.fit is None else self.fit.model

    @property
    def pool(self) -> PoolRef:
        return self.pools[-1]

    def pools_of(self, drawn: Round) -> tuple[PoolRef, ...]:
        """The pools up to the one that a round was drawn from."""
        return pool_at(self.pools, drawn.after)

    @property
    def round(self) -> Round | None:
        return self.rounds[-1] if self.rounds else None

    @cached_property
    def open(self) -> tuple[str, ...]:
        """The items to show next, in order.

        First those that more annotators are to label. A round wants as many labelled items as it asked for:
        items not answered yet come next, the reserve follows, and what was set aside comes back at the end.
        """
        if self.round is None:
            return ()
        items = [draw.item for draw in self.round.draws if draw.item not in self.gone]
        known = {item: self.answers[item] for item in items if item in self.answers}
        n_wanted = len(self.round.asked) - sum(answered.is_settled for answered in known.values())
        started = [
            item
            for item, answered in known.items()
            if answered.decision is None and 0 < answered.n_labels < self.answers_per_item
        ]
        fresh = [item for item in items if item not in known]
        again = sorted((i for i in known if self.may_return(i)), key=lambda i: known[i].number)
        return tuple(started) + tuple(fresh + again)[: max(0, min(n_wanted, self.n_left))]

    def may_return(self, item: str) -> bool:
        """Whether this item was set aside, and not more often than annotators are to label it."""
        answer = self.answers.get(item)
        if answer is None or answer.is_settled:
            return False
        return answer.times_aside <= self.answers_per_item

    @property
    def standing(self) -> list[Event]:
        """Everything that stands, oldest first: each annotator's newest answer, the owner's decisions, notes, marks."""
        found = list[Event]()
        for item, answered in self.answers.items():
            answers = (
                (vote, Answer(item, vote.verdict, vote.note or None, because=vote.because or None))
                for vote in answered.votes
            )
            found += [answer.event(vote.who, vote.at, vote.number) for vote, answer in answers]
            if (ruled := answered.decision) is not None:
                found.append(decision_on(item, ruled.verdict, ruled.who, ruled.at, ruled.number))
        for item, notes in self.written_notes.items():
            written = (note for note in notes if note.text)
            found += [Event("note", note.who, item, {"note": note.text}, note.number, note.at) for note in written]
        for item, marks in self.marks.items():
            found += [Event("mark", mark.who, item, body_of(mark), mark.number, mark.at) for mark in marks]
        return sorted(found, key=lambda event: event.number)

    def vote_of(self, item: str, who: str) -> Vote | None:
        return self.answers[item].vote_of(who) if item in self.answers else None

    def notes_of(self, item: str) -> tuple[Note, ...]:
        """What annotators wrote about an item, each one's newest words, oldest first."""
        votes = self.answers[item].votes if item in self.answers else ()
        notes = [Note(v.who, v.note, v.noted, v.at) for v in votes if v.noted is not None]
        newest: dict[str, Note] = {}
        for note in sorted([*notes, *self.written_notes.get(item, ())], key=lambda note: note.number):
            newest.pop(note.who, None)
            newest[note.who] = note
        return tuple(note for note in newest.values() if note.text)

    def note_of(self, item: str, who: str) -> str:
        return next((note.text for note in self.notes_of(item) if note.who == who), "")

    def round_of(self, item: str) -> int:
        """The number of the round that a label answers: the newest one, at the time, that drew the item.

        0 for an item without a label, or labelled without having been drawn.
        """
        part = self.part_of(item)
        return 0 if part is None else part.number

    def part_of(self, item: str) -> Round | None:
        """The part of a round that a label answers: the newest round or refine, at the time, that drew the item."""
        return self._parts_answered.get(item)

    def newest_part(self, item: str) -> Round | None:
        """The newest round or refine that drew an item."""
        parts = (part for drawn in reversed(self.rounds) for part in reversed(drawn.parts))
        return next((part for part in parts if any(draw.item == item for draw in part.proposed)), None)

    @cached_property
    def _parts_answered(self) -> dict[str, Round]:
        labels, found = self.labels, dict[str, Round]()
        for part in (part for drawn in self.rounds for part in drawn.parts):
            here = (draw.item for draw in part.proposed if draw.item in labels)
            found |= {item: part for item in here if part.event < self.answers[item].first_label}
        return found

    @cached_property
    def labels_digest(self) -> str:
        """A digest of the labels that hold, and of the marks and named columns that count, whatever their order."""
        labels: list[Any] = [[item, label] for item, label in sorted(self.labels.items())]
        drawn = sorted((item, mark.who, body_of(mark)) for item, own in self.taught_marks.items() for mark in own)
        known: list[Any] = [labels, drawn] if drawn else labels
        if self.named:
            known = [labels, drawn, sorted((item, sorted(names)) for item, names in self.named.items())]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    @cached_property
    def named(self) -> dict[str, tuple[str, ...]]:
        """The columns that experts named for labelled items: why one is an anomaly, or what is fine in a normal one."""
        return {item: names for item in self.labels if (names := self.answers[item].because)}

    @cached_property
    def taught_marks(self) -> dict[str, tuple[Mark, ...]]:
        """What was drawn on items that hold as anomalies: there it says what to look for."""
        return {item: own for item, own in self.marks.items() if self.labels.get(item) == ANOMALY}

    @property
    def fit_is_current(self) -> bool:
        """Whether the last fit learned from exactly the labels and the pool that hold now."""
        if self.fit is None or self.fit.pool != self.pool.number:
            return False
        return self.fit.labels_digest == self.labels_digest

    @property
    def n_anomalies(self) -> int:
        return sum(label == ANOMALY for label in self.labels.values())
