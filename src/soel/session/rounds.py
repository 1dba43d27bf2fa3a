"""One round of questions as it was drawn, and its form in the store."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from soel.errors import SessionError


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


@dataclass(frozen=True)
class Round:
    """The items to ask in order, the reserve that replaces skipped ones, and how they came about.

    record: the file with the pool's scores and embeddings, digest its SHA-256. after: the number of the last event
    that was known when it was drawn; None in sessions of older releases, which did not say. event: its own number.

    A refine is a round of the same number: what the strategy proposes in the middle of it, knowing more answers.
    at: when it looked who holds a lease, empty for a round. refines: those that came in time, oldest first.
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
    after: int | None = None
    at: str = ""
    event: int = 0
    refines: tuple[Round, ...] = ()
    order: tuple[Draw, ...] = ()

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
        """The ids of all items drawn."""
        return frozenset(draw.item for draw in self.draws)

    def body(self) -> dict[str, Any]:
        """The round, or the refine, as plain JSON."""
        when = {"at": self.at} if self.at else {}
        return {
            "round": self.number,
            "asked": [vars(draw) for draw in self.asked],
            "reserve": [vars(draw) for draw in self.reserve],
            "model": vars(self.model),
            "seed": list(self.seed),
            "strategy": self.strategy,
            "options": dict(self.options),
            "record": self.record,
            "sha256": self.digest,
            "after": self.after,
            **when,
        }


def read_round(body: Mapping[str, Any]) -> Round:
    """The round that a stored body describes."""
    try:
        return Round(
            number=int(body["round"]),
            asked=_draws(body["asked"]),
            reserve=_draws(body["reserve"]),
            model=ModelRef(**body["model"]),
            seed=tuple(int(part) for part in body["seed"]),
            strategy=str(body["strategy"]),
            options=dict(body["options"]),
            record=str(body["record"]),
            digest=str(body["sha256"]),
            after=None if body.get("after") is None else int(body["after"]),
            at=str(body.get("at", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SessionError(
            f"A stored round cannot be read ({type(error).__name__}: {error}). Restore it from a copy."
        ) from error


def _draws(rows: Sequence[Mapping[str, Any]]) -> tuple[Draw, ...]:
    return tuple(Draw(str(row["item"]), float(row["odds"]), float(row["score"])) for row in rows)
