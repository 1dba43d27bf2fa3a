"""A linear score that few labels start and the unlabelled rows carry on: ridge regression on its own suspicions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.numeric import unit
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, Rows

ROUNDS = 3  # of suspecting anew
FOLDS = 20
RIDGE = 0.3  # added to the covariance, as a share of its mean variance; more where rows are few
LABEL_WEIGHT = 3.0  # of a labelled row beside one that is only suspected
WARMTH = 0.1  # how fast a label's word fades with the angle, in units of a cosine
SOFTNESS = 0.3  # of the border between suspected and not, in spreads of the score


@dataclass(frozen=True)
class SelfTrainedRidge:
    """A direction (p,) along which anomalies lie, and how far the labels bear it out.

    foresight: the chance that a withheld anomaly scores above a withheld normal row; 0.5 is none at all.
    """

    direction: Floats
    foresight: float

    @classmethod
    def fit(cls, points: Floats, labels: Labels, share: float) -> SelfTrainedRidge:
        """From centred points (n, p), their labels (n,) and the share of anomalies among them.

        At first every row takes the labels of those that lie in its direction. Then, in rounds, a direction is fitted
        and the share of rows that lie farthest along it are suspected. Each fold of the labels is withheld from a fit
        of its own; all fits are columns of the same matrices.
        """
        known = np.flatnonzero(labels != UNLABELLED)
        answers = (labels[known] == ANOMALY).astype(np.float64)
        nothing = cls(np.zeros(points.shape[1], np.float32), 0.5)
        if not 0 < answers.sum() < len(known):
            return nothing
        n_folds = min(FOLDS, len(known))
        fold = np.arange(len(known))[:, None] % n_folds
        shown = fold != np.arange(n_folds + 1)  # (K, C): which answers each column sees; the last one sees all
        columns = _Columns(points, known, answers, shown, share)
        for _ in range(ROUNDS):
            scores = columns.fit()
        withheld = _standardise(scores)[known][~shown]  # row by row: each label is withheld once
        return cls(columns.directions[:, -1].astype(np.float32), _chance_above(withheld, answers == 1))


class _Columns:
    """C fits side by side, each shown some of the labels."""

    def __init__(self, points: Floats, known: Rows, answers: Floats, shown: np.ndarray, share: float) -> None:
        self.points, self.known, self.shown = points, known, shown
        self.answers = np.broadcast_to(answers[:, None], shown.shape)
        self.n_suspects = int(np.clip(round(share * len(points)), 1, len(points) // 2))
        weights = np.ones(len(points))
        weights[known] = LABEL_WEIGHT
        self.mean = (weights @ points) / weights.sum()
        arms = points - self.mean
        covariance = (arms * weights[:, None]).T @ arms / weights.sum()
        width = len(covariance)
        ridge = (RIDGE + width / len(points)) * np.trace(covariance) / width
        covariance += (ridge + 1e-12) * np.eye(width)
        self._arms, self._covariance = arms, covariance
        self.directions = np.zeros((points.shape[1], shown.shape[1]))
        self.chances = self._by_direction()

    def fit(self) -> Floats:
        """Directions from what is suspected now; then who is suspected by their scores (n, C)."""
        weights = np.ones_like(self.chances)
        weights[self.known] = np.where(self.shown, LABEL_WEIGHT, 1.0)
        middle = (weights * self.chances).sum(axis=0) / weights.sum(axis=0)
        moment = self._arms.T @ (weights * (self.chances - middle)) / weights.sum(axis=0)
        self.directions = np.linalg.solve(self._covariance, moment)
        scores = self._arms @ self.directions
        border = -np.partition(-scores, self.n_suspects - 1, axis=0)[self.n_suspects - 1]
        spread = scores.std(axis=0)
        steps = (scores - border) / np.where(spread > 0, SOFTNESS * spread, np.inf)
        self.chances = self._with_labels(1 / (1 + np.exp(-np.clip(steps, -50, 50))))
        return np.asarray(scores)

    def _by_direction(self) -> Floats:
        directions = unit(self.points)
        cosines = directions @ directions[self.known].T
        voices = np.exp((cosines - cosines.max(axis=1, keepdims=True)) / WARMTH).astype(np.float64)
        return self._with_labels((voices @ (self.answers * self.shown)) / np.maximum(voices @ self.shown, 1e-300))

    def _with_labels(self, chances: Floats) -> Floats:
        chances[self.known] = np.where(self.shown, self.answers, chances[self.known])
        return chances


def _standardise(scores: Floats) -> Floats:
    spread = scores.std(axis=0)
    return np.asarray((scores - scores.mean(axis=0)) / np.where(spread > 0, spread, 1))


def _chance_above(scores: Floats, is_anomaly: np.ndarray) -> float:
    gaps = scores[is_anomaly][:, None] - scores[~is_anomaly]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
