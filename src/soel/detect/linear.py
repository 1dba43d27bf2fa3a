"""A linear score from few labels and many rows without one: ridge regression that trains itself on its own predictions.

With centred rows x_i, weights w_i of 3 for labelled rows and 1 for others, labels y_l of 1 and 0, and C the weighted
covariance with a ridge on its diagonal, q_i is the chance that row i is an anomaly (q_l = y_l where it is labelled):

    q_i = sum_l exp(cos(x_i, x_l) / 0.1) y_l / sum_l exp(cos(x_i, x_l) / 0.1),
    three times: d = C^-1 sum_i w_i (q_i - mean q) x_i / sum_i w_i,  q_i = sigmoid((x_i d - b) / (0.3 sd(x d))),

where b leaves the estimated share of rows above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.numeric import unit
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, Rows

ROUNDS = 3
FOLDS = 20
RIDGE = 0.3  # added to the covariance, as a share of its mean variance; more where rows are few
LABEL_WEIGHT = 3.0  # of a labelled row beside one that is only suspected
TEMPERATURE = 0.1  # of the softmax over cosines to labelled rows
SOFTNESS = 0.3  # of the border between suspected and not, in spreads of the score


@dataclass(frozen=True)
class SelfTrainedRidge:
    """A direction d (p,), and the AUROC of held-out labels along it."""

    direction: Floats
    heldout_auroc: float

    @classmethod
    def fit(cls, points: Floats, labels: Labels, share: float) -> SelfTrainedRidge:
        """From centred points (n, p), their labels (n,) and the share of anomalies among them.

        Each fold of the labels is held out from a fit of its own, and one fit sees all: C fits in the columns of the
        same matrices.
        """
        known = np.flatnonzero(labels != UNLABELLED)
        answers = (labels[known] == ANOMALY).astype(np.float64)
        if not 0 < answers.sum() < len(known):
            return cls(np.zeros(points.shape[1], np.float32), 0.5)
        n_folds = min(FOLDS, len(known))
        shown = np.arange(len(known))[:, None] % n_folds != np.arange(n_folds + 1)  # (K, C)
        arms, covariance = _weighted(points, known)
        weights = np.ones((len(points), n_folds + 1))
        weights[known] = np.where(shown, LABEL_WEIGHT, 1.0)
        n_suspects = int(np.clip(round(share * len(points)), 1, len(points) // 2))
        chances = _by_cosine(points, known, answers, shown)
        for _ in range(ROUNDS):
            chances[known] = np.where(shown, answers[:, None], chances[known])
            middle = (weights * chances).sum(axis=0) / weights.sum(axis=0)
            moment = arms.T @ (weights * (chances - middle)) / weights.sum(axis=0)
            directions = np.linalg.solve(covariance, moment)
            scores = arms @ directions
            border = -np.partition(-scores, n_suspects - 1, axis=0)[n_suspects - 1]
            spread = scores.std(axis=0)
            steps = (scores - border) / np.where(spread > 0, SOFTNESS * spread, np.inf)
            chances = 1 / (1 + np.exp(-np.clip(steps, -50, 50)))
        standardised = (scores - scores.mean(axis=0)) / np.where(spread > 0, spread, 1)
        held_out = standardised[known][~shown]  # row by row: each label is held out once
        gaps = held_out[answers == 1][:, None] - held_out[answers == 0]
        return cls(directions[:, -1].astype(np.float32), float(((gaps > 0) + 0.5 * (gaps == 0)).mean()))


def _weighted(points: Floats, known: Rows) -> tuple[Floats, Floats]:
    """Points (n, p) from their weighted mean, and C (p, p)."""
    weights = np.ones(len(points))
    weights[known] = LABEL_WEIGHT
    arms = points - (weights @ points) / weights.sum()
    covariance = (arms * weights[:, None]).T @ arms / weights.sum()
    width = len(covariance)
    ridge = (RIDGE + width / len(points)) * np.trace(covariance) / width
    return arms, covariance + (ridge + 1e-12) * np.eye(width)


def _by_cosine(points: Floats, known: Rows, answers: Floats, shown: np.ndarray) -> Floats:
    """The first chances (n, C), by the answers (K,) that each fit is shown (K, C)."""
    directions = unit(points)
    cosines = directions @ directions[known].T
    weights = np.exp((cosines - cosines.max(axis=1, keepdims=True)) / TEMPERATURE).astype(np.float64)
    return np.asarray((weights @ (answers[:, None] * shown)) / np.maximum(weights @ shown, 1e-300))
