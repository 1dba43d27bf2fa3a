"""Where a session stands, and what its steps give back."""

from __future__ import annotations

from dataclasses import dataclass

from soel.assess.conformal import FitFigures
from soel.assess.quality import Quality
from soel.session.check_rounds import measure_quality
from soel.session.folder import SessionFolder
from soel.session.people import Person, measure_people
from soel.session.rounds import ModelRef
from soel.session.state import SessionState
from soel.types import Estimate


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
