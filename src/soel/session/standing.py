"""Where a session stands, what its steps give back, and what the newest spot check proves.

What a check proves stays true: its figures are about the scores and the threshold of the model that stood when it was
drawn, and that model had not seen its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from soel.assess.conformal import FitFigures
from soel.assess.quality import Quality, SpotCheck, Stratum
from soel.errors import SessionError
from soel.session.folder import SessionFolder
from soel.session.people import Person, measure_people
from soel.session.rounds import ModelRef, Round
from soel.session.state import NamedEffect, SessionState
from soel.types import ANOMALY, Estimate, Label


@dataclass(frozen=True)
class AskResult:
    """The questions that are open now. drawn: whether a new round was drawn for them."""

    round: int
    items: tuple[str, ...]
    drawn: bool


@dataclass(frozen=True)
class TellResult:
    """How many answers were stored, and how many said what was known already. unknown: items that are not here."""

    n_stored: int
    n_repeated: int
    unknown: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was not stored, to follow what was."""
        known = f", {self.n_repeated} were known" if self.n_repeated else ""
        if not self.unknown:
            return known
        return f"{known}; {len(self.unknown)} are about rows that are not in the pool, such as {self.unknown[0]!r}"


@dataclass(frozen=True)
class FitResult:
    """A finished fit. note: what a reader should know about it, or empty."""

    model: ModelRef
    estimate: Estimate
    n_labels: int
    n_anomalies: int
    note: str

    @classmethod
    def of(cls, model: ModelRef, estimate: Estimate, state: SessionState, effect: NamedEffect | None) -> FitResult:
        """What a fit by the labels of this state says. effect: of the columns that were named."""
        n_labels, n_anomalies = len(state.labels), state.n_anomalies
        note = "" if effect is None else str(effect.message)
        if not n_labels:
            note = "Nothing was labelled: the model learned as if all items were normal."
        elif n_anomalies in (0, n_labels):
            word = Label(n_anomalies > 0).word
            rough = f"All labels say {word}: the estimate of the contamination is rough until both kinds were seen."
            note = f"{rough} {note}".rstrip()
        return cls(model, estimate, n_labels, n_anomalies, note)


@dataclass(frozen=True)
class Status:
    """Where the session stands. next: the step to take.

    n_rows: how many rows the data have that the items were drawn from; None where every row is an item.
    pool: the number of its state, 1 until data are added or removed. name, description: what the owner calls it.
    quality: what the newest spot check proves, None without one. people: what each annotator did and
    is to do. figures: what the last fit says, roughly; None before one.
    """

    session: str
    source: str
    n_items: int
    round: int
    n_open: int
    n_labels: int
    n_anomalies: int
    n_set_aside: int
    budget: int
    n_left: int
    n_disagreements: int
    estimate: Estimate | None
    model: ModelRef | None
    fit_is_current: bool
    next: str
    n_rows: int | None = None
    pool: int = 1
    name: str = ""
    description: str = ""
    quality: Quality | None = None
    figures: FitFigures | None = None
    people: tuple[Person, ...] = ()

    @classmethod
    def of(cls, state: SessionState, place: SessionFolder) -> Status:
        """The status by a state, in the folder with the pool that holds then."""
        return cls(
            session=place.config.session,
            source=place.config.source,
            n_items=place.n_items,
            round=len(state.rounds),
            n_open=len(state.open),
            n_labels=len(state.labels),
            n_anomalies=state.n_anomalies,
            n_set_aside=len(state.answers) - state.n_spent,
            budget=state.budget,
            n_left=state.n_left,
            n_disagreements=len(state.disagreements),
            estimate=state.estimate,
            model=None if state.fit is None else state.fit.model,
            fit_is_current=state.fit_is_current,
            next=_next_step(state),
            n_rows=place.n_rows,
            pool=len(state.pools),
            name=state.name,
            description=state.description,
            quality=measure_quality(state),
            figures=None if state.fit is None else state.fit.figures,
            people=measure_people(state),
        )


def _next_step(state: SessionState) -> str:
    if state.open:
        return "tell"
    if state.labels and not state.fit_is_current:
        return "fit"
    return "ask" if state.n_left else "score"


def measure_quality(state: SessionState) -> Quality | None:
    """What the newest spot check proves; None without one, or before the first of its answers.

    Checks that follow one another with nothing learnt or asked between them count as one. Items set aside are left
    out, as if they were like the others.
    """
    checks = newest_checks(state)
    if not checks or checks[0].check is None:
        return None
    facts, numbers = checks[0].check, {check.number for check in checks}
    scores = {draw.item: draw.score for check in checks for draw in check.draws}
    answered = [item for item in scores if state.round_of(item) in numbers]
    if not answered:
        return None
    alarms = [item for item in answered if scores[item] > facts.threshold]
    others = [item for item in answered if scores[item] <= facts.threshold]
    n_others = facts.n_rows - facts.n_alarms
    strata = (
        _stratum(state, facts.n_alarms, facts.known_alarms, alarms, facts.expected_alarms),
        _stratum(state, n_others, facts.known_others, others, facts.expected_others),
    )
    try:
        return SpotCheck(*strata).quality()
    except ValueError as error:
        raise SessionError(
            f"What a spot check stored makes no sense ({error}). Restore the session from a copy."
        ) from error


def newest_checks(state: SessionState) -> tuple[Round, ...]:
    """The newest spot check, and those just before it by the same model; oldest first."""
    last = next((i for i in reversed(range(len(state.rounds))) if state.rounds[i].check is not None), None)
    if last is None:
        return ()
    first = last
    while first and _goes_on(state, state.rounds[first - 1], state.rounds[first]):
        first -= 1
    return state.rounds[first : last + 1]


def _goes_on(state: SessionState, before: Round, check: Round) -> bool:
    """Whether a check draws from what the one before it left, and from that alone."""
    old, new = before.check, check.check
    if old is None or new is None or before.model != check.model or state.pools_of(before) != state.pools_of(check):
        return False
    if (old.threshold, old.n_rows) != (new.threshold, new.n_rows):
        return False
    meanwhile = {*new.known_alarms, *new.known_others} - {*old.known_alarms, *old.known_others}
    return meanwhile <= before.items


def _stratum(
    state: SessionState, n_rows: int, known: Sequence[str], checked: Sequence[str], expected: float | None
) -> Stratum:
    def anomalies(items: Sequence[str]) -> int:
        return sum(state.labels[item] == ANOMALY for item in items)

    standing = [item for item in known if item in state.labels]
    return Stratum(n_rows, len(standing), anomalies(standing), len(checked), anomalies(checked), expected)
