"""Whether labels help: some are withheld, and foretold by the others and without any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.detect.incontext.context import Keys, choose, keys
from soel.detect.incontext.predictor import Context, Reading
from soel.types import ANOMALY, UNLABELLED, Booleans, Floats, Labels

FOLDS = 5
MOST_ROWS = 400  # of the context, to be read once for each fold
# In log odds, chosen on 118 tables (benchmarks/choices.md). Labels of one kind mislead most.
DOUBT, BELIEF = 2.0, 0.6  # before any label is withheld, and what each label of the rarer kind takes from that
SLOPE = 0.5  # for each unit of log likelihood by which withheld labels are foretold better with the others than without
MIDDLE = 1.3  # the score, in deviations, that is as likely an anomaly's as a normal row's


@dataclass(frozen=True)
class WithheldScores:
    """What withheld labels told. trust: between 0 and 1, in all labels.

    keys, scores: (k,) of the labelled rows, each scored by the labels of others alone, in units of the spread over the
    rows that nobody labelled.
    """

    trust: float
    keys: Keys
    scores: Floats

    def find(self, x: Floats) -> Floats:
        """The scores (n,) of rows (n, d), NaN where they have no label; equal rows share their mean."""
        own, at = np.unique(self.keys, return_inverse=True)
        means = np.append(np.bincount(at, self.scores) / np.bincount(at), np.nan)
        key = keys(x)
        places = np.minimum(np.searchsorted(own, key), max(len(own) - 1, 0))
        return np.asarray(means[np.where(own[places] == key, places, -1)] if len(own) else np.full(len(x), np.nan))


def withhold_labels(rows: Context, labels: Labels) -> WithheldScores:
    """For the labels (m,) of a context: how likely those withheld are by the others, and without any."""
    known = np.flatnonzero(labels != UNLABELLED)
    if not len(known):
        return WithheldScores(1.0, np.zeros(0, np.uint64), np.zeros(0))
    few = choose(rows.values, labels, MOST_ROWS, rows.seed)
    rows, labels = Context(rows.values[few], rows.views, rows.seed, rows.weights), labels[few]
    free = labels == UNLABELLED
    known = np.flatnonzero(~free)
    by_others, found = np.empty(len(known)), np.empty(len(known))
    for fold in range(min(FOLDS, len(known))):
        withheld = known[fold::FOLDS]
        others = labels.copy()
        others[withheld] = UNLABELLED
        reading = Reading(rows, others)
        by_others[fold::FOLDS] = _standardise(reading.context_logits())[withheld]
        # Questions go to the most suspicious rows: counted among the usual ones, those withheld would widen the unit
        # that they are told in, and seem less suspicious than a new row like them.
        found[fold::FOLDS] = reading.context_logits_beside(free)[withheld]
    without = _standardise(Reading(rows, np.full_like(labels, UNLABELLED)).context_logits())[known]
    gains = _likelihoods(by_others, labels[known]) - _likelihoods(without, labels[known])
    return WithheldScores(_trust(gains, labels[known] == ANOMALY), keys(rows.values[known]), found)


def _trust(gains: Floats, is_anomaly: Booleans) -> float:
    """Trust from what each withheld label (k,) gained by the others, and its kind (k,).

    Questions go to suspicious rows: that many of them were normal after all is soon foretold, and says nothing of
    anomalies. So the normal ones count at most as much as if they were as few as the anomalies.
    """
    n_anomalies, n_normal = int(is_anomaly.sum()), int((~is_anomaly).sum())
    gain = gains[is_anomaly].sum() + gains[~is_anomaly].sum() * min(1.0, n_anomalies / max(n_normal, 1))
    belief = BELIEF * min(n_anomalies, n_normal) - DOUBT
    return float(1 / (1 + np.exp(-(belief + SLOPE * gain))))


def _standardise(scores: Floats) -> Floats:
    """Scores (m,) of a context in deviations over it."""
    return np.asarray((scores - scores.mean()) / max(float(scores.std()), 1e-2))


def _likelihoods(scores: Floats, labels: Labels) -> Floats:
    """The log likelihood of each label (k,) by its score (k,)."""
    signs = np.where(labels == ANOMALY, 1.0, -1.0)
    return np.asarray(-np.logaddexp(0, -signs * (scores - MIDDLE)))
