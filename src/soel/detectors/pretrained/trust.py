"""Whether labels help: some are withheld, and foretold by the others and without any."""

from __future__ import annotations

import numpy as np

from soel.detectors.pretrained.context import choose
from soel.detectors.pretrained.reading import Context, Reading
from soel.types import ANOMALY, UNLABELLED, Floats, Labels

FOLDS = 5
MOST_ROWS = 400  # of the context, to be read once for each fold
# Chosen on 118 tables (docs/pretraining.md): labels are believed unless those withheld speak against them.
BELIEF, SLOPE = 0.25, 0.5  # in log odds: for each label before any is withheld, and for each unit of log likelihood
MIDDLE = 1.3  # the score, in deviations, that is as likely an anomaly's as a normal row's


def trust_in_labels(rows: Context, labels: Labels) -> float:
    """Between 0 and 1 for the labels (m,) of a context: how likely those withheld are by the others, and without."""
    known = np.flatnonzero(labels != UNLABELLED)
    if len(known) < 2:
        return 1.0
    few = choose(rows.values, labels, MOST_ROWS, rows.seed)
    rows, labels = Context(rows.values[few], rows.views, rows.seed, rows.weights), labels[few]
    known = np.flatnonzero(labels != UNLABELLED)
    by_others = np.empty(len(known))
    for fold in range(min(FOLDS, len(known))):
        withheld = known[fold::FOLDS]
        others = labels.copy()
        others[withheld] = UNLABELLED
        by_others[fold::FOLDS] = _foretold(rows, others)[withheld]
    without = _foretold(rows, np.full_like(labels, UNLABELLED))[known]
    gain = _likelihood(by_others, labels[known]) - _likelihood(without, labels[known])
    return float(1 / (1 + np.exp(-(BELIEF * len(known) + SLOPE * gain))))


def _foretold(rows: Context, labels: Labels) -> Floats:
    """Scores (m,) of the context in deviations over it."""
    scores = Reading(rows, labels).context_logits()
    return np.asarray((scores - scores.mean()) / max(float(scores.std()), 1e-2))


def _likelihood(scores: Floats, labels: Labels) -> float:
    """The log likelihood of labels (k,) by scores (k,)."""
    signs = np.where(labels == ANOMALY, 1.0, -1.0)
    return float(-np.logaddexp(0, -signs * (scores - MIDDLE)).sum())
