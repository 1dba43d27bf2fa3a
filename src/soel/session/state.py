"""Where a session stands: a pure fold over its events, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from soel.errors import SessionError
from soel.session.answers import LABELS
from soel.session.ports import ANSWER_KINDS, Event
from soel.session.rounds import ModelRef, Round, read_round
from soel.types import ANOMALY, Estimate

_WORD_OF = {code: word for word, code in LABELS.items()}


@dataclass(frozen=True)
class Answered:
    """The answer that holds for an item.

    number: of its event. at_round: the round that was current when the item got its first label.
    times_aside: how often it was skipped or left unsure.
    """

    verdict: str
    who: str
    number: int
    note: str = ""
    at_round: int = 0
    times_aside: int = 0


@dataclass(frozen=True)
class Fit:
    """A finished fit: its model, and a digest of the labels it learned from."""

    model: ModelRef
    labels_digest: str
    n_labels: int


@dataclass(frozen=True)
class SessionState:
    """Everything that follows from the events. `undoable`: how many answers each annotator can take back."""

    budget: int
    rounds: tuple[Round, ...] = ()
    answers: Mapping[str, Answered] = field(default_factory=dict)
    undoable: Mapping[str, int] = field(default_factory=dict)
    warm_up: ModelRef | None = None
    estimate: Estimate | None = None
    fit: Fit | None = None

    @cached_property
    def labels(self) -> dict[str, int]:
        """The label that holds for each labelled item: 1 anomaly, 0 normal."""
        return {i: LABELS[a.verdict] for i, a in self.answers.items() if a.verdict in LABELS}

    @property
    def n_left(self) -> int:
        """Labels that the budget still allows."""
        return max(0, self.budget - len(self.labels))

    @property
    def round(self) -> Round | None:
        """The round drawn last."""
        return self.rounds[-1] if self.rounds else None

    @cached_property
    def open(self) -> tuple[str, ...]:
        """The items to show next, in order.

        A round wants as many labels as it asked for. Items not answered yet come first, the reserve
        follows, and what was set aside comes back at the end, once.
        """
        if self.round is None:
            return ()
        items, labels = [draw.item for draw in self.round.draws], self.labels
        n_wanted = len(self.round.asked) - sum(item in labels for item in items)
        fresh = [item for item in items if item not in self.answers]
        again = sorted((i for i in items if self.may_return(i)), key=lambda i: self.answers[i].number)
        return tuple(fresh + again)[: max(0, min(n_wanted, self.n_left))]

    def may_return(self, item: str) -> bool:
        """Whether this item was set aside, and only once."""
        answer = self.answers.get(item)
        return answer is not None and answer.verdict not in LABELS and answer.times_aside == 1

    def round_of(self, item: str) -> int:
        """The number of the round that a label answers: the newest one, at the time, that drew the item.

        0 for an item without a label, or labelled without having been drawn.
        """
        if item not in self.labels:
            return 0
        until = self.answers[item].at_round
        return max((r.number for r in self.rounds[:until] if item in r.items), default=0)

    @property
    def labels_digest(self) -> str:
        """A digest of the labels that hold, whatever their order."""
        return hashlib.sha256(json.dumps(sorted(self.labels.items())).encode()).hexdigest()

    @property
    def fit_is_current(self) -> bool:
        """Whether the last fit learned from exactly the labels that hold now."""
        return self.fit is not None and self.fit.labels_digest == self.labels_digest

    @property
    def n_anomalies(self) -> int:
        """How many items are labelled anomalies."""
        return sum(label == ANOMALY for label in self.labels.values())


def fold(events: Iterable[Event], budget: int) -> SessionState:
    """The state after these events."""
    rounds: list[Round] = []
    live: dict[str, list[tuple[str, Answered]]] = {}
    latest: dict[str, Event] = {}
    for event in events:
        if event.kind == "round":
            _add_round(rounds, read_round(event.body))
        elif event.kind in ANSWER_KINDS:
            live.setdefault(event.who, []).append(_answered(event, len(rounds)))
        elif event.kind == "undo":
            if live.get(event.who):
                live[event.who].pop()
        elif event.kind != "warm-up" or "warm-up" not in latest:  # every fit restarts from the first warm-up
            latest[event.kind] = event
    return SessionState(
        budget,
        tuple(rounds),
        _answers(live),
        {who: len(answers) for who, answers in live.items() if answers},
        _read(latest.get("warm-up"), lambda body: ModelRef(body["folder"], body["fingerprint"])),
        _read(latest.get("estimate"), read_estimate),
        _read(latest.get("fit"), _fit),
    )


def estimate_body(estimate: Estimate) -> dict[str, Any]:
    """An estimate as plain JSON; a diagnostic that is not finite becomes null."""
    diagnostics = {k: v if abs(v) < float("inf") else None for k, v in estimate.diagnostics.items()}
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "method": estimate.method,
        "diagnostics": diagnostics,
    }


def read_estimate(body: Mapping[str, Any]) -> Estimate:
    """The estimate that a stored body describes."""
    diagnostics = {k: float("nan") if v is None else float(v) for k, v in body["diagnostics"].items()}
    low, value, high = (float(body[name]) for name in ("low", "value", "high"))
    return Estimate(value, low, high, str(body["method"]), diagnostics)


def _add_round(rounds: list[Round], drawn: Round) -> None:
    """Keep a round, unless another process drew the same one a moment before."""
    if drawn.number == len(rounds) + 1:
        rounds.append(drawn)
    elif not 1 <= drawn.number <= len(rounds):
        raise SessionError(
            f"Round {drawn.number} is stored after round {len(rounds)}: events are missing. "
            "Restore the session from a copy."
        )


def _answered(event: Event, n_rounds: int) -> tuple[str, Answered]:
    """The item of an answer event, and what was said about it."""
    verdict, note = _verdict(event), str(event.body.get("note", ""))
    is_label = verdict in LABELS
    return str(event.item), Answered(
        verdict, event.who, event.number, note, n_rounds if is_label else 0, int(not is_label)
    )


def _answers(live: Mapping[str, list[tuple[str, Answered]]]) -> dict[str, Answered]:
    """The newest answer of each item among those not taken back, whoever gave it."""
    answers: dict[str, Answered] = {}
    for item, answer in sorted((told for own in live.values() for told in own), key=lambda t: t[1].number):
        if item in answers:
            before = answers[item]
            answer = replace(
                answer,
                at_round=before.at_round or answer.at_round,
                times_aside=before.times_aside + answer.times_aside,
            )
        answers[item] = answer
    return answers


def _verdict(event: Event) -> str:
    if event.kind != "label" and event.item is not None:
        return event.kind
    label = event.body.get("label")
    if not isinstance(label, int) or label not in _WORD_OF or event.item is None:
        raise SessionError(
            f"Event {event.number} is a label of {event.item!r} with code {label!r}, neither 1 nor 0. "
            "Restore the session from a copy."
        )
    return _WORD_OF[label]


def _fit(body: Mapping[str, Any]) -> Fit:
    return Fit(ModelRef(body["folder"], body["fingerprint"]), str(body["labels"]), int(body["n_labels"]))


def _read(event: Event | None, reader: Any) -> Any:
    if event is None:
        return None
    try:
        return reader(event.body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SessionError(
            f"Event {event.number} ({event.kind}) cannot be read ({type(error).__name__}: {error}). "
            "Restore the session from a copy."
        ) from error
