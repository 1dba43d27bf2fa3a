"""What a session answers: frozen values for the faces above it."""

from __future__ import annotations

from dataclasses import dataclass

from soel.assess.conformal import FitFigures
from soel.assess.spot_check import Quality
from soel.session.people import Person
from soel.session.rounds import ModelRef
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
