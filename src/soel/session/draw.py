"""What may be asked, what a round or a refine proposes, and what answers say of the pool as it was seen at a moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from soel.assess.conformal import UnsureBand
from soel.assess.quality import draw_check
from soel.errors import DataError, SessionError
from soel.session.folder import SessionFolder
from soel.session.rounds import SPOT_CHECK, CheckFacts, Draw, PoolRecord, Round
from soel.session.state import SessionState
from soel.types import NO_ROWS, UNLABELLED, Evidence, Floats, Labels, Pool, Proposal, Rows

if TYPE_CHECKING:
    from soel.learner import Learner
    from soel.model import Blend, Fitted

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


def as_draws(proposal: Proposal, ids: Sequence[str]) -> tuple[Draw, ...]:
    """The proposal by item id, each with its odds and score."""
    chosen = proposal.selection
    return tuple(
        Draw(ids[row], float(odds), float(proposal.scores[row]))
        for row, odds in zip(chosen.rows, chosen.odds, strict=True)
    )


def propose(
    place: SessionFolder,
    learner: Learner,
    model: Blend,
    pool: Pool,
    state: SessionState,
    n: int,
    seed: Sequence[int] | None = None,
    held: Collection[str] = (),
    seen: PoolRecord | None = None,
    not_sure: bool = False,
) -> Proposal:
    """The next round's rows with their reserve, and the pool as the model sees it. seed: of a repeated round.

    held: items that somebody is looking at, for a refine. seen: what the same model saw of the pool before.
    not_sure: items that the model is not sure of are asked first, however few they are.
    """
    candidates = find_candidates(state, place.ids)
    looked_at = np.array(list(rows_of(place.ids, held).values()), np.int64) if held else NO_ROWS
    share = None if state.estimate is None else float(np.clip(state.estimate.value, 0, 0.5))
    return learner.propose(
        model,
        pool,
        label_vector(state, place.ids),
        n,
        share=share,
        aside=np.concatenate([candidates.aside, looked_at]),
        first=_unsure_rows(learner, cast("Fitted", model), pool, seen) if not_sure else NO_ROWS,
        last=candidates.returning,
        for_record=True,
        seed=seed,
        seen=None if seen is None else (seen.scores, seen.embeddings),
    )


def _unsure_rows(learner: Learner, model: Fitted, pool: Pool, seen: PoolRecord | None) -> Rows:
    """Rows on whose side the model is not sure. seen: what it saw of the pool before."""
    scores = learner.look(model, pool)[0] if seen is None else seen.scores
    return np.flatnonzero(UnsureBand.of(scores, model.estimate.low, model.estimate.high).holds(scores))


def gather_evidence(
    state: SessionState, ids_of: Callable[[Round], Sequence[str]], record_of: Callable[[Round], PoolRecord]
) -> list[Evidence]:
    """The labels of each round that has any, with the pool as that round's model saw it.

    Refines by the model of their round saw the pool as it did, so their labels are evidence of one kind. Items of
    rounds that were drawn from an earlier pool are found in the newest round's pool, as that round's model saw it.
    """
    labels, evidence = state.labels, []
    parts = _answered_parts(state)
    if not parts:
        return []
    newest = parts[-1][0]
    row_of = rows_of(ids_of(newest), labels)
    for part, answered in parts:
        record = record_of(part if state.pools_of(part) == state.pools_of(newest) else newest)
        here = [item for item in answered if item in row_of]
        rows, codes = np.array([row_of[item] for item in here], np.int64), [labels[item] for item in here]
        evidence.append(Evidence(record.scores, record.embeddings, rows, np.array(codes, np.int8)))
    return [each for each in evidence if len(each.rows)]


def _answered_parts(state: SessionState) -> list[tuple[Round, list[str]]]:
    """What was labelled of each round, by the record that it was drawn with: its first part, and the items."""
    found = list[tuple[Round, list[str]]]()
    for drawn in state.rounds:
        by_record: dict[str, tuple[Round, list[str]]] = {}
        for part in drawn.parts:
            answered = [each.item for each in part.proposed if state.part_of(each.item) is part]
            by_record.setdefault(part.record, (part, []))[1].extend(answered)
        found += [group for group in by_record.values() if group[1]]
    return found


def can_refine(state: SessionState) -> bool:
    """Whether questions are open and something was said since they were chosen. What checks the result stays drawn."""
    if state.round is None or not state.open or state.round.strategy == SPOT_CHECK:
        return False
    return state.last_answer > state.round.parts[-1].after


def items_held(state: SessionState, at: str) -> frozenset[str]:
    """Items of the open round without an answer that somebody is looking at, or is to label."""
    shown = {item for item, leases in state.leases.items() if any(each.until > at for each in leases)}
    return frozenset((shown | state.assigned.keys()) - state.answers.keys())


def find_record(state: SessionState, drawn: Round) -> Round | None:
    """The part of a round that was drawn by the newest model from the pool that holds now: it has that record."""
    model = state.warm_up if state.fit is None else state.fit.model
    same = (part for part in drawn.parts if part.model == model and state.pools_of(part) == state.pools)
    return next(same, None)


def propose_check(
    scores: Floats, embeddings: Floats, threshold: float, open_rows: Rows, n: int, seed: tuple[int, ...]
) -> Proposal:
    """A spot check of `n` items, with the pool as the model sees it."""
    selection = draw_check(scores > threshold, open_rows, n, np.random.default_rng(seed))
    return Proposal(selection, seed, scores, embeddings)


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
