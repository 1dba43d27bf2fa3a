"""Rounds of questions: what may be asked, what a round or a refine proposes, and how it is stored."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.errors import DataError, SessionError
from soel.records import BESIDE, path_inside
from soel.types import UNLABELLED, Floats, Labels, Rows

if TYPE_CHECKING:
    from soel.session.state import SessionState


SPOT_CHECK = "spot-check"  # the strategy of a round that was drawn by chance, to prove what the figures say


@dataclass(frozen=True)
class Draw:
    """One item of a round: the probability it was drawn with and the score it had."""

    item: str
    odds: float
    score: float


@dataclass(frozen=True)
class ModelRef:
    """A model folder inside the session, and the fingerprint it was saved with."""

    folder: str
    fingerprint: str

    def __post_init__(self) -> None:
        path_inside(self.folder)


@dataclass(frozen=True)
class CheckFacts:
    """What was known when a spot check was drawn, for it to be judged by later.

    threshold: of the model that drew it.
    n_rows, n_alarms: of the pool.
    known_alarms, known_others: items with a label by then, above the threshold and not.
    expected_alarms, expected_others: the sums of the model's probabilities over all other items on either side.
    """

    threshold: float
    n_rows: int
    n_alarms: int
    known_alarms: tuple[str, ...]
    known_others: tuple[str, ...]
    expected_alarms: float
    expected_others: float

    def __post_init__(self) -> None:
        if not 0 <= self.n_alarms <= self.n_rows < 1 << 53:
            raise ValueError(f"{self.n_alarms} alarms of {self.n_rows} rows cannot be")


@dataclass(frozen=True)
class Round:
    """The items to ask in order, the reserve that replaces skipped ones, and how they came about.

    A refine is a round of the same number: what the strategy proposes in the middle of it, knowing more answers.

    record: the file with the pool's scores and embeddings. digest: its SHA-256.
    after: the number of the last event that was known when it was drawn.
    check: of a spot check, what it is judged by.
    looked_at: when a refine looked who holds a lease; empty for a round.
    event, at: number and time of its event.
    refines: those that came in time, oldest first.
    order: all items after them, in the order in which they may be shown; empty before the first.
    """

    number: int
    asked: tuple[Draw, ...]
    reserve: tuple[Draw, ...]
    model: ModelRef
    seed: tuple[int, ...]
    strategy: str
    options: Mapping[str, Any]
    record: str
    digest: str
    after: int
    looked_at: str = ""
    check: CheckFacts | None = None
    event: int = field(default=0, metadata=BESIDE)
    at: str = field(default="", metadata=BESIDE)
    refines: tuple[Round, ...] = field(default=(), metadata=BESIDE)
    order: tuple[Draw, ...] = field(default=(), metadata=BESIDE)

    def __post_init__(self) -> None:
        path_inside(self.record)

    @property
    def draws(self) -> tuple[Draw, ...]:
        """All items in the order in which they may be shown."""
        return self.order or self.proposed

    @property
    def proposed(self) -> tuple[Draw, ...]:
        """The items that were drawn here, by the strategy and the model of this part."""
        return self.asked + self.reserve

    @property
    def parts(self) -> tuple[Round, ...]:
        """The round as it was drawn, and its refines."""
        return (self, *self.refines)

    def with_refine(self, part: Round, kept: Container[str]) -> Round:
        """The round after a refine: no item leaves it. First come those kept, then the new ones, then all others."""
        first = [draw for draw in self.draws if draw.item in kept]
        new = [draw for draw in part.proposed if draw.item not in kept]
        placed = {draw.item for draw in (*first, *new)}
        rest = [draw for draw in self.draws if draw.item not in placed]
        return replace(self, refines=(*self.refines, part), order=(*first, *new, *rest))

    @cached_property
    def items(self) -> frozenset[str]:
        return frozenset(draw.item for draw in self.draws)


USUAL_SIZE, USUAL_CHECK = 10, 10  # items of a round, and of a spot check
NOT_SURE = "not_sure"  # the option of a round that asked those items first
AHEAD = 5  # questions that a refine chooses; the next answer brings the next one


@dataclass(frozen=True)
class Candidates:
    """Rows that may be asked. fresh: never answered. returning: set aside once, asked after all others.

    aside: rows without a label that are not asked again.
    """

    fresh: Rows
    returning: Rows
    aside: Rows

    def __len__(self) -> int:
        return len(self.fresh) + len(self.returning)


def find_candidates(state: SessionState, ids: Sequence[str]) -> Candidates:
    """Rows without a label, but for those set aside twice."""
    answered = rows_of(ids, state.answers)
    is_fresh = np.ones(len(ids), bool)
    is_fresh[list(answered.values())] = False
    returning = [row for item, row in answered.items() if state.may_return(item)]
    others = [row for item, row in answered.items() if item not in state.labels and not state.may_return(item)]
    return Candidates(np.flatnonzero(is_fresh), np.array(returning, np.int64), np.array(others, np.int64))


def rows_of(ids: Sequence[str], items: Container[str]) -> dict[str, int]:
    """The rows of a few items, in row order: one look at every id, nothing kept of the others."""
    return {item: row for row, item in enumerate(ids) if item in items}


def check_number(n: int | None) -> None:
    """Refuse a round of nothing."""
    if n is not None and n < 1:
        raise DataError(f"At least one item must be asked for, got {n}.")


def round_size(state: SessionState, n_candidates: int, n: int | None) -> int:
    """How many items the next round asks: `n`, or as many as usual, within budget and pool."""
    if state.n_left == 0:
        raise SessionError(
            f"The budget of {state.budget} labels is used up. Fit and score, or allow more: `soel set DIR --budget N`."
        )
    if n_candidates == 0:
        raise SessionError("Every item has an answer already; there is nothing left to ask. Fit and score.")
    if n is None:
        return min(USUAL_SIZE, state.n_left, n_candidates)
    if n > state.n_left:
        raise SessionError(
            f"{n} items were asked for but the budget leaves {state.n_left} labels; ask for "
            "fewer, or allow more with `soel set DIR --budget N`."
        )
    if n > n_candidates:
        raise SessionError(f"{n} items were asked for but only {n_candidates} can still be asked; ask for fewer.")
    return n


def label_vector(state: SessionState, ids: Sequence[str]) -> Labels:
    """The labels that hold, by row: (N,) of 1, 0, -1."""
    labels = np.full(len(ids), UNLABELLED, np.int8)
    for item, row in rows_of(ids, state.labels).items():
        labels[row] = state.labels[item]
    return labels


def can_refine(state: SessionState) -> bool:
    """Whether questions are open and something was said since they were chosen. What checks the result stays drawn."""
    if state.round is None or not state.open or state.round.strategy == SPOT_CHECK:
        return False
    return state.last_answer > state.round.parts[-1].after


def items_held(state: SessionState, at: str) -> frozenset[str]:
    """Items of the open round without an answer that are leased or assigned."""
    shown = {item for item, leases in state.leases.items() if any(each.until > at for each in leases)}
    return frozenset((shown | state.assigned.keys()) - state.answers.keys())


def find_record(state: SessionState, drawn: Round) -> Round | None:
    """The part of a round that was drawn by the newest model from the pool that holds now: it has that record."""
    model = state.newest_model
    same = (part for part in drawn.parts if part.model == model and state.pools_of(part) == state.pools)
    return next(same, None)


def describe_check(
    scores: Floats, chances: Floats, threshold: float, state: SessionState, row_of: dict[str, int]
) -> CheckFacts:
    """What the round keeps to be judged by later, the threshold, and what was known on either side.

    chances: (N,) probabilities by the model; their sums on either side are promises that the check can test.
    """
    is_open, is_alarm = np.ones(len(scores), bool), scores > threshold
    is_open[[row for item, row in row_of.items() if item in state.labels]] = False
    known = {item: bool(is_alarm[row]) for item, row in row_of.items() if item in state.labels}
    return CheckFacts(
        threshold=float(threshold),
        n_rows=len(scores),
        n_alarms=int(is_alarm.sum()),
        known_alarms=tuple(sorted(item for item, alarms in known.items() if alarms)),
        known_others=tuple(sorted(item for item, alarms in known.items() if not alarms)),
        expected_alarms=float(chances[is_open & is_alarm].sum()),
        expected_others=float(chances[is_open & ~is_alarm].sum()),
    )
