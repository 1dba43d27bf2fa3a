"""Scores of rows by detectors that were fitted without them or their labels, and what follows.

They stand for those of new normal rows, and say how much patches count beside whole pictures.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soel.assess.conformal import Reference
from soel.detect.base import Detector
from soel.detect.foresight import judge_foresight, trust_in
from soel.model import Blend
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels, Pool, Rows

FOLDS = 10
MOST_ROWS = 2000  # of a larger pool so many are left out at once, and only they are scored
OPTIMISM = 0.6  # of its spread: how much lower a network scores rows that it was trained on (benchmarks/choices.md)
# benchmarks/choices.md says how these two were chosen
DOUBT = 5.0  # the odds that a row is an anomaly may be so many times lower than they seem
COUNTERWEIGHT = 0.5  # what a labelled anomaly weighs beside a normal row
LABEL_FOLDS = 5
FAR_BETTER = 1.5  # times the trust of patches: the whole picture is the better judge (benchmarks/choices.md)
Fit = Callable[[Floats, Labels], Detector | None]
LARGE = 20_000  # rows from which one row more or less makes no difference


def reference_scores(
    blend: Blend, scores: Floats, pool: Pool, labels: Labels, suspected: Floats | None, fit: Fit, seed: int
) -> Reference:
    """What stands for the scores of new normal rows: the pool's (N,), as far as they are not anomalies.

    A detector that was fitted on a row scores it lower than a new one, so it is fitted without it for this; one that
    leaves it out by itself is asked what it would say without the row's label, and rows that it suspects weigh less. A
    network is too dear to be trained again: what it adds is raised by what is usual. Patches are taken as they are.

    suspected: (N,) probabilities of being an anomaly; None where the share is only assumed, and every row weighs 1.
    fit: the blend's detector, from rows and their labels.
    """
    scores = scores + OPTIMISM * blend.network_weight
    detector, kept = blend.detector, labels != ANOMALY
    if detector is not None and detector.leaves_out:
        answered = np.flatnonzero(labels != UNLABELLED)
        labelled = pool.rows[answered]
        scores[answered] += detector.score_unlabelled(labelled) - detector.score(labelled)
        return Reference.of(scores[kept]) if suspected is None else Reference(scores, weigh(labels, suspected))
    if detector is None or len(pool) > LARGE:
        return Reference.of(scores[kept])
    rows, held_out = score_held_out(fit, pool.rows, labels, seed)
    return Reference.of(scores[rows] + held_out - detector.score(pool.rows[rows]))


def weigh(labels: Labels, suspected: Floats) -> Floats:
    """How far each row of a pool stands for a normal one: (N,), by its label or its chance (N,) to be an anomaly.

    Labelled anomalies keep a weight. Questions go to what is suspicious in the pool, and the answers teach the detector
    about just these rows: new rows score a little higher than the others, and would raise more alarms than is said.
    """
    doubted = DOUBT * (1 - suspected)
    weights = np.where(labels == NORMAL, 1.0, doubted / (suspected + doubted))
    return np.where(labels == ANOMALY, COUNTERWEIGHT, weights)


def score_held_out(fit: Fit, rows: Floats, labels: Labels, seed: int) -> tuple[Rows, Floats]:
    """Positions (m,) in the pool and their scores (m,). Labelled anomalies stay in: they stand for nothing normal.

    fit: a detector from rows and their labels.
    """
    rng = np.random.default_rng([seed, len(rows)])
    open_rows = rng.permutation(np.flatnonzero(labels != ANOMALY))
    if len(rows) > MOST_ROWS:
        parts = [open_rows[:MOST_ROWS]]
    else:
        parts = [part for part in np.array_split(open_rows, FOLDS) if len(part)]
    scores = [_score_part(fit, rows, labels, part) for part in parts]
    return np.concatenate(parts), np.concatenate(scores)


def _score_part(fit: Fit, rows: Floats, labels: Labels, part: Rows) -> Floats:
    kept = np.ones(len(rows), bool)
    kept[part] = False
    detector = fit(rows[kept], labels[kept])
    assert detector is not None  # or there would be nothing to leave out
    return detector.score(rows[part])


def weigh_patches(trust: float, rows: Floats, labels: Labels, fit: Fit, seed: int) -> float:
    """Their own trust; less, by the square, where whole pictures (N, d) foretell withheld labels (N,) far better.

    fit: the detector of whole pictures, from rows and their labels. It is fitted only if it could be far better.
    """
    highest = trust_in(judge_foresight(labels.astype(np.float64), labels))  # of scores that foretell every label
    if not trust or FAR_BETTER * trust >= highest:
        return trust
    scores = _score_without_labels(rows, labels, fit, seed)
    rival = 0.0 if scores is None else trust_in(judge_foresight(scores, labels))
    return trust * min(1.0, FAR_BETTER * trust / rival) ** 2 if rival > 0 else trust


def _score_without_labels(rows: Floats, labels: Labels, fit: Fit, seed: int) -> Floats | None:
    """Scores (N,) of labelled rows by fits that did not know their labels, a fifth of each kind at a time."""
    rng, scores = np.random.default_rng([seed, len(rows)]), np.zeros(len(rows))
    kinds = [rng.permutation(np.flatnonzero(labels == label)) for label in (ANOMALY, NORMAL)]
    for start in range(LABEL_FOLDS):
        fold = np.concatenate([kind[start::LABEL_FOLDS] for kind in kinds])
        if len(fold):
            told = labels.copy()
            told[fold] = UNLABELLED
            detector = fit(rows, told)
            if detector is None:
                return None
            scores[fold] = detector.score(rows[fold])
    return scores
