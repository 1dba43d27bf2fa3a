"""The computing steps of a session as functions of what was known: a session takes them, a replay repeats them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soel.session.draw import find_candidates, label_vector, rows_of
from soel.session.files import PoolRecord
from soel.session.folder import SessionFolder
from soel.session.ports import Loop
from soel.session.rounds import Round
from soel.session.state import SessionState
from soel.types import Evidence, Pool, Proposal


def propose(
    place: SessionFolder,
    loop: Loop,
    model: Any,
    pool: Pool,
    state: SessionState,
    n: int,
    seed: Sequence[int] | None = None,
) -> Proposal:
    """The next round's rows with their reserve, and the pool as the model sees it. seed: of a repeated round."""
    candidates = find_candidates(state, place.ids)
    share = None if state.estimate is None else float(np.clip(state.estimate.value, 0, 0.5))
    return loop.propose(
        model,
        pool,
        label_vector(state, place.ids),
        n,
        share=share,
        aside=candidates.aside,
        last=candidates.returning,
        for_record=True,
        seed=seed,
    )


def gather_evidence(
    state: SessionState, ids_of: Callable[[Round], Sequence[str]], record_of: Callable[[Round], PoolRecord]
) -> list[Evidence]:
    """The labels of each round that has any, with the pool as that round's model saw it."""
    labels, evidence = state.labels, []
    looked_at: Sequence[str] = ()
    row_of = dict[str, int]()
    for drawn in state.rounds:
        answered = [each for each in drawn.draws if state.round_of(each.item) == drawn.number]
        if answered:
            record, ids = record_of(drawn), ids_of(drawn)
            if ids is not looked_at:
                looked_at, row_of = ids, rows_of(ids, labels)
            rows = np.array([row_of[each.item] for each in answered], np.int64)
            codes = np.array([labels[each.item] for each in answered], np.int8)
            evidence.append(Evidence(record.scores, record.embeddings, rows, codes))
    return evidence
