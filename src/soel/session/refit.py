"""Learning from answers to watched rows: a candidate beside the current model, compared on labels that neither knew.

    answered rows -> join the pool; rows that were sampled by chance replace its oldest -> warm-up, fit -> candidate
    current, candidate -> scores of the new labels, held out -> promote, or keep

Rows that were chosen by their scores say nothing of how many anomalies there are: share, threshold and p-values of the
candidate leave them out (`Pool.selected`).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from soel.assess.metrics import auroc
from soel.errors import SessionError
from soel.session import Session, SessionFolder, SessionState
from soel.session.alarms import read_kept
from soel.session.draw import label_vector
from soel.session.feedback import adopt_answered
from soel.session.growth import change_pool
from soel.session.pool import NewPool, PoolRef
from soel.session.state import Comparison
from soel.tables.rows import write_parquet
from soel.types import ANOMALY, UNLABELLED, Floats, Progress

FEWEST, SHARE = 10, 0.2  # new labels that a refit is worth: so many, and so many times those known to the model
FOLDS = 3


def count_new_labels(state: SessionState) -> int:
    """Labels that the current model has not learnt from."""
    return len(state.labels) - (0 if state.fit is None else state.fit.n_labels)


def is_due(state: SessionState) -> bool:
    """Whether enough was answered since the current fit."""
    known = 0 if state.fit is None else state.fit.n_labels
    return count_new_labels(state) >= max(FEWEST, SHARE * known)


def refit(session: Session, progress: Progress | None = None) -> Comparison:
    """Fit a candidate on a pool with the answered rows in it, compare it with the current model, promote the better."""
    if session.state.fit is None:
        raise SessionError("There is no fitted model to compare with; run `soel fit` first.")
    adopt_answered(session)
    take_in_kept(session)
    comparison = compare(session)
    session.fit(progress, comparison=comparison)
    if comparison.is_promoted:
        session.promote(len(session.state.fits))
    return comparison


def take_in_kept(session: Session) -> None:
    """Let answered rows join the pool, and rows that were sampled by chance replace its oldest unlabelled ones."""
    place = session.folder
    table = read_kept(place, session.state.nights, ["alarm_id", "sampled", "cells", "features"])
    rows = [] if table is None else table.to_pylist()
    if rows:
        change_pool(session, "owner", lambda state, now: _renew(state, now, rows))


def _renew(state: SessionState, place: SessionFolder, rows: list[dict[str, Any]]) -> NewPool:
    """The pool with new labelled and sampled rows at its end, and no more unlabelled ones than it began with."""
    known = set(place.ids)
    fresh = [
        row for row in rows if row["alarm_id"] not in known and (row["sampled"] or row["alarm_id"] in state.labels)
    ]
    n_unlabelled = sum(row["alarm_id"] not in state.labels for row in fresh)
    free = np.array([item not in state.answers for item in place.ids])
    n_gone = max(0, int(free.sum()) + n_unlabelled - place.config.n_items)
    keep = np.ones(len(place.ids), bool)
    keep[np.flatnonzero(free)[:n_gone]] = False  # new rows stand at the end, so the first are the oldest
    gone = [item for item, stays in zip(place.ids, keep.tolist(), strict=True) if not stays]
    ids, number = [row["alarm_id"] for row in fresh], len(place.pools) + 1
    cells = [json.loads(row["cells"]) for row in fresh]
    id_column = place.config.id_column
    names = list(dict.fromkeys(name for each in cells for name in each))
    columns = {name: [each.get(name) for each in cells] for name in names}
    if id_column is not None:
        columns[id_column] = ids
    features = np.array([row["features"] for row in fresh], np.float32).reshape(len(fresh), place.pool.shape[1])
    origin = np.stack([np.full(len(fresh), number), np.arange(len(fresh))], axis=1)
    ref = PoolRef(what="add", data="watched rows", n_added=len(ids), n_removed=len(gone))
    return NewPool(
        [*(item for item in place.ids if item not in set(gone)), *ids],
        np.concatenate([place.pool[keep], features]),
        np.concatenate([place.rows[keep], origin]),
        ref,
        removed=gone,
        write=lambda folder: write_parquet(folder / "source.parquet", columns),
    )


def compare(session: Session) -> Comparison:
    """The current model and candidates that are fitted without a third of the new labels each, on these."""
    state, place = session.state, session.folder
    assert state.fit is not None
    labels, pool = label_vector(state, place.ids), session.pool_in(place, state)
    known = {item for item in state.labels if (state.answers[item].first_label or 0) <= state.fit.after}
    new = np.array([row for row, item in enumerate(place.ids) if labels[row] != UNLABELLED and item not in known], int)
    truth = labels[new] == ANOMALY
    if len(set(truth.tolist())) < 2:
        return Comparison(len(new), None, None)
    learner, warm = session.learner, session.learner.prepare(pool)
    held_out: Floats = np.zeros(len(new))
    for fold in range(FOLDS):
        part = np.argsort(np.argsort(truth, kind="stable"), kind="stable") % FOLDS == fold  # as many of each kind
        told = labels.copy()
        told[new[part]] = UNLABELLED
        candidate = learner.learn(warm, pool, learner.evidence(warm, pool, told), told)
        scores = candidate.pool_scores
        held_out[part] = (scores[new[part]] - scores.mean()) / scores.std()
    current = session.load_model(state.fit.model).score(np.asarray(pool.rows)[new], None)
    return Comparison(len(new), auroc(truth, current), auroc(truth, held_out))
