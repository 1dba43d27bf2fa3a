"""Drawing a round: which items may be asked, how many, and in which order."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from soel.errors import DataError, SessionError
from soel.session.rounds import Draw
from soel.session.state import SessionState
from soel.types import UNLABELLED, Labels, Proposal, Rows

USUAL_SIZE = 10


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


def as_draws(proposal: Proposal, ids: Sequence[str]) -> tuple[Draw, ...]:
    """The proposal by item id, each with its odds and score."""
    chosen = proposal.selection
    return tuple(
        Draw(ids[row], float(odds), float(proposal.scores[row]))
        for row, odds in zip(chosen.rows, chosen.odds, strict=True)
    )
