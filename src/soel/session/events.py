"""Events: what a session is made of, only ever appended; what people say about an item, and what follows from it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from soel.errors import LabelError
from soel.types import VERDICT_WORDS, Label, Verdict

SELF = "soel"  # who did what the session does by itself
ANSWER_KINDS = ("label", "skip", "unsure")
KINDS = (
    "warm-up",
    "round",
    "refine",
    *ANSWER_KINDS,
    "undo",
    "lease",
    "decide",
    "note",
    "mark",
    "maps",
    "budget",
    "estimate",
    "fit",
    "pool",
    "describe",
    "assign",
    "watch",
    "promote",
)


@dataclass(frozen=True)
class Event:
    """One thing that happened, kept for ever. The store gives it its `number` and its time `at` (UTC).

    kind: one of KINDS.
    who: the annotator, or 'soel' for what the session did by itself.
    item: an item id for answers, leases, decisions, notes, marks and assignments.
    body: what else belongs to it, plain JSON.
    """

    kind: str
    who: str
    item: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    at: str = ""


class Store(Protocol):
    """An append-only list of events, shared by threads and processes.

    `append` returns after the events are durable, all of them or none; numbers rise by one and never repeat.
    Readers see whole appends only.
    """

    def append(self, events: Sequence[Event]) -> Sequence[Event]:
        """Store these events together and return them with number and time."""

    def read(self, after: int = 0) -> Sequence[Event]:
        """Events with a higher number, in order."""

    def close(self) -> None:
        """Let go of the file or the server."""


DISAGREEMENT: Final = "disagreement"
_VERDICT_OF = {verdict.label: verdict for verdict in Verdict if verdict.label is not None}


@dataclass(frozen=True)
class Answer:
    """An expert's word on one item. note: None keeps the annotator's earlier note, an empty one removes it.

    key: made up by the sender, so that the same answer sent twice is stored once; empty for none.
    because: the columns whose values are why it is an anomaly, or are fine in a normal item; None keeps those that the
    annotator named with the same verdict, and an empty one removes them.
    """

    item: str
    verdict: Verdict
    note: str | None = None
    key: str = ""
    because: tuple[str, ...] | None = None

    def event(self, who: str, at: str = "", number: int = 0) -> Event:
        """The answer as it is stored."""
        label = self.verdict.label
        said = {
            "label": None if label is None else label.value,
            "note": self.note,
            "key": self.key or None,
            "because": None if self.because is None else list(self.because),
        }
        body = {name: value for name, value in said.items() if value is not None}
        return Event(self.verdict.value if label is None else "label", who, self.item, body, number, at)


def decision_on(item: str, verdict: Verdict | None, who: str, at: str = "", number: int = 0) -> Event:
    """The owner's word on an item; None takes it back."""
    label = None if verdict is None else verdict.label
    if verdict is not None and label is None:
        raise LabelError(
            f"{verdict.value!r} decides nothing; the owner says anomaly or normal, or takes a decision back."
        )
    return Event("decide", who, item, {"label": None if label is None else label.value}, number, at)


def verdict_of(event: Event) -> Verdict | None:
    """What an answer or a decision says; None for other events, and for a decision taken back."""
    if event.kind in ("skip", "unsure"):
        return Verdict(event.kind)
    code = event.body["label"] if event.kind in ("label", "decide") else None
    if code is None and event.kind != "label":
        return None
    if code not in _VERDICT_OF:
        raise ValueError(f"its code for {event.item!r} is {code!r}, neither 1 nor 0")
    return _VERDICT_OF[Label(code)]


def read_verdict(word: str) -> Verdict:
    """The verdict that a word, key or code stands for, whatever its case."""
    verdict = VERDICT_WORDS.get(word.strip().lower())
    if verdict is None:
        raise LabelError(
            f"{str(word)!r} is not an answer. Use anomaly, normal, skip or unsure (also a, n, s, u, or 1 and 0)."
        )
    return verdict


def as_answers(answers: Mapping[str, str]) -> tuple[Answer, ...]:
    """Answers from a mapping of item id to word."""
    return tuple(Answer(item, read_verdict(word)) for item, word in answers.items())


@dataclass(frozen=True)
class Vote:
    """The newest answer of one annotator about an item, of those not taken back.

    number, at: of its event. noted: the number of the event that gave the note, None without one. first_label: the
    number of the event of this annotator's first label of the item, None without one. times_aside: how often this
    annotator skipped it or was unsure. because: the columns that the annotator named.
    """

    who: str
    verdict: Verdict
    number: int
    note: str = ""
    at: str = ""
    first_label: int | None = None
    times_aside: int = 0
    noted: int | None = None
    because: tuple[str, ...] = ()

    @property
    def label(self) -> Label | None:
        """The label it gives, None where it sets the item aside."""
        return self.verdict.label

    @property
    def is_label(self) -> bool:
        """Whether it says anomaly or normal."""
        return self.label is not None


@dataclass(frozen=True)
class Decision:
    """The owner's word on an item, which stands above all votes."""

    who: str
    verdict: Verdict
    number: int
    at: str = ""


@dataclass(frozen=True)
class Answered:
    """The answer that holds for an item: the owner's decision, else the majority of the labels.

    verdict: 'disagreement' where as many annotators say one as the other.
    who, number, note: of the newest vote for it. first_label: the number of the event that gave the item its first
    label, 0 without one. times_aside: how often it was skipped or left unsure. votes: oldest first.
    """

    verdict: Verdict | Literal["disagreement"]
    who: str
    number: int
    note: str = ""
    first_label: int = 0
    times_aside: int = 0
    votes: tuple[Vote, ...] = ()
    decision: Decision | None = None

    @property
    def label(self) -> Label | None:
        """The label that follows from it, if one does."""
        return self.verdict.label if isinstance(self.verdict, Verdict) else None

    @property
    def is_label(self) -> bool:
        """Whether a label follows from it."""
        return self.label is not None

    @property
    def because(self) -> tuple[str, ...]:
        """The columns that were named by annotators who say what holds."""
        named = (vote.because for vote in self.votes if vote.verdict == self.verdict)
        return tuple(dict.fromkeys(name for names in named for name in names))

    @property
    def n_labels(self) -> int:
        """How many annotators call it anomaly or normal."""
        return sum(vote.is_label for vote in self.votes)

    @property
    def is_settled(self) -> bool:
        """Whether it counts against the budget: it has a label, or the owner decided."""
        return self.is_label or self.verdict == DISAGREEMENT

    def vote_of(self, who: str) -> Vote | None:
        """What this annotator says."""
        return next((vote for vote in self.votes if vote.who == who), None)


def read_names(names: object) -> tuple[str, ...]:
    """Names of columns from a list, or from text in which ';' separates them and quotes hold a name with a ';'."""
    if isinstance(names, str):
        names = next(csv.reader([names.replace("\n", " ")], delimiter=";", skipinitialspace=True), [])
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise LabelError(f"Columns are named in a list of text, or in text separated by ';', got {names!r}.")
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def join_names(names: Sequence[str]) -> str:
    """The text that `read_names` reads."""
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="").writerow(names)
    return out.getvalue()


def settle(votes: Sequence[Vote], decision: Decision | None) -> Answered | None:
    """The answer that follows from these votes and the owner's decision; None from nothing."""
    ordered = tuple(votes if len(votes) < 2 else sorted(votes, key=lambda vote: vote.number))
    times_aside = sum(vote.times_aside for vote in ordered)
    labels = [vote.first_label for vote in ordered if vote.first_label is not None]
    if decision is not None:
        first = min([*labels, decision.number])
        return Answered(decision.verdict, decision.who, decision.number, "", first, times_aside, ordered, decision)
    if not ordered:
        return None
    verdict = majority(ordered)
    newest = [vote for vote in ordered if verdict in (vote.verdict, DISAGREEMENT)][-1]
    return Answered(verdict, newest.who, newest.number, newest.note, min(labels, default=0), times_aside, ordered)


def majority(votes: Sequence[Vote]) -> Verdict | Literal["disagreement"]:
    """What most labels say; without any label, what the newest vote says."""
    labels = [vote.verdict for vote in votes if vote.is_label]
    if not labels:
        return votes[-1].verdict
    n_anomaly, n_normal = labels.count(Verdict.ANOMALY), labels.count(Verdict.NORMAL)
    if n_anomaly == n_normal:
        return DISAGREEMENT
    return Verdict.ANOMALY if n_anomaly > n_normal else Verdict.NORMAL
