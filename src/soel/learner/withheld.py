"""How much patches count beside whole pictures, by the labels that were withheld from each."""

from __future__ import annotations

import numpy as np

from soel.detectors.foresight import judge_foresight, trust_in
from soel.learner.held_out import Fit
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels

FOLDS = 5
FAR_BETTER = 1.5  # times the trust of patches: from there on the whole picture is the better judge (docs/choices.md)


def weigh_patches(trust: float, rows: Floats, labels: Labels, fit: Fit, seed: int) -> float:
    """Their own trust; less, by the square, where whole pictures (N, d) foretell withheld labels (N,) far better.

    fit: the detector of whole pictures, from rows and their labels. It is fitted only if it could be far better.
    """
    highest = trust_in(judge_foresight(labels.astype(np.float64), labels))  # of scores that foretell every label
    if not trust or FAR_BETTER * trust >= highest:
        return trust
    scores = _withhold(rows, labels, fit, seed)
    rival = 0.0 if scores is None else trust_in(judge_foresight(scores, labels))
    return trust * min(1.0, FAR_BETTER * trust / rival) ** 2 if rival > 0 else trust


def _withhold(rows: Floats, labels: Labels, fit: Fit, seed: int) -> Floats | None:
    """Scores (N,) of labelled rows by fits that did not know their labels, a fifth of each kind at a time."""
    rng, scores = np.random.default_rng([seed, len(rows)]), np.zeros(len(rows))
    kinds = [rng.permutation(np.flatnonzero(labels == label)) for label in (ANOMALY, NORMAL)]
    for start in range(FOLDS):
        fold = np.concatenate([kind[start::FOLDS] for kind in kinds])
        if len(fold):
            told = labels.copy()
            told[fold] = UNLABELLED
            detector = fit(rows, told)
            if detector is None:
                return None
            scores[fold] = detector.score(rows[fold])
    return scores
