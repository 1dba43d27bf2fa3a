"""Learning from answers to watched rows: a candidate beside the current model, compared on labels that neither knew.

    answered rows -> join the pool; rows that were sampled by chance replace its oldest -> warm-up, fit -> candidate
    current, candidate -> scores of the new labels, held out -> promote, or keep

Rows that were chosen by their scores say nothing of how many anomalies there are: share, threshold and p-values of the
candidate leave them out (`Pool.selected`).
"""

from __future__ import annotations

from math import ceil

import numpy as np

from soel.assess.metrics import auroc
from soel.errors import SessionError
from soel.session import Session, SessionState
from soel.session.feedback import adopt_answered
from soel.session.pool_records import pool_of
from soel.session.rounds import label_vector
from soel.session.state import Comparison
from soel.types import ANOMALY, UNLABELLED, Floats, Progress

FEWEST, SHARE = 10, 0.2  # new labels that a refit is worth: so many, and so many times those known to the model
FOLDS = 3


def count_new_labels(state: SessionState) -> int:
    """Labels that the current model has not learnt from."""
    return len(state.labels) - (0 if state.fit is None else state.fit.n_labels)


def labels_until_due(state: SessionState) -> int:
    """How many more labels make a refit worth it; 0 where enough was answered since the current fit."""
    known = 0 if state.fit is None else state.fit.n_labels
    return max(0, ceil(max(FEWEST, SHARE * known)) - count_new_labels(state))


def refit(session: Session, progress: Progress | None = None) -> Comparison:
    """Fit a candidate on a pool with the answered rows in it, compare it with the current model, promote the better."""
    if session.state.fit is None:
        raise SessionError("There is no fitted model to compare with; run `soel fit` first.")
    adopt_answered(session)
    comparison = compare(session)
    session.fit(progress, comparison=comparison)
    if comparison.is_promoted:
        session.promote(len(session.state.fits))
    return comparison


def compare(session: Session) -> Comparison:
    """The current model and candidates that are fitted without a third of the new labels each, on these."""
    state, place = session.state, session.folder
    assert state.fit is not None
    labels, pool = label_vector(state, place.ids), pool_of(place, state)
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
