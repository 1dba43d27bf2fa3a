"""Better questions in the middle of a round: when there is something to gain, and what must stay as it is."""

from __future__ import annotations

from soel.session.rounds import Round
from soel.session.spot_check import STRATEGY
from soel.session.state import SessionState

AHEAD = 5  # questions that a refine chooses; the next answer brings the next one


def can_refine(state: SessionState) -> bool:
    """Whether questions are open and something was said since they were chosen. What checks the result stays drawn."""
    if state.round is None or not state.open or state.round.strategy == STRATEGY:
        return False
    return state.last_answer > (state.round.parts[-1].after or 0)


def items_held(state: SessionState, at: str) -> frozenset[str]:
    """Items of the open round without an answer that somebody is looking at, or is to label."""
    shown = {item for item, leases in state.leases.items() if any(each.until > at for each in leases)}
    return frozenset((shown | state.assigned.keys()) - state.answers.keys())


def find_record(state: SessionState, drawn: Round) -> Round | None:
    """The part of a round that was drawn by the newest model from the pool that holds now: it has that record."""
    model = state.warm_up if state.fit is None else state.fit.model
    same = (part for part in drawn.parts if part.model == model and state.pools_of(part) == state.pools)
    return next(same, None)
