"""How unlike a feature vector is to the pool's: by its angles to them, and along a direction that labels point out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.detect.detector import NOTHING, Detector, Options
from soel.numeric import gaussian, mahalanobis, mean_of_nearest, nearest, single_threaded_blas, unit
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels, Rows

# Chosen on parts of the pools of CIFAR-10, Fashion-MNIST and MVTec-AD that were held out: benchmarks/choices.md.
AXES = 128  # of the pool's directions; the rest is noise that distances are better off without
NEIGHBOUR_SHARE, FEWEST_NEIGHBOURS = 0.03, 5  # of the reference rows
ANOMALY_WEIGHT = 0.7  # of the distance to the nearest labelled anomaly beside that to the pool
MOST_LABELS = 1000  # that axes and the linear part are fitted to
LINEAR_WEIGHT = 2.0  # of the linear part where it ranks every held-out label right
SHAPE_WEIGHT = 0.5  # of the second part beside the first
SMALLEST, SMALLEST_TO_ANOMALY = 1e-6, 1e-2  # of a distance between unit vectors, before its logarithm is taken


@dataclass(frozen=True)
class AngularOptions(Options):
    """reference_rows: a larger pool is represented by a random sample of this size."""

    reference_rows: int = 10_000


@dataclass(frozen=True)
class Angular(Detector):
    """Rows as unit vectors, seen from the middle of the pool, along the axes in which these differ most.

    The score adds two parts in units of their spread over the pool. Neighbours: the logarithm of the mean distance
    to the nearest of the pool, less 0.7 times that of the distance to the nearest labelled anomaly, plus a linear part
    (`SelfTrainedRidge`) that counts by its AUROC on held-out labels. Shape, half as much: the logarithm of
    Mahalanobis' distance from the rows that the first part leaves unsuspected. Labelled anomalies are no part of the
    reference. The length of a feature vector says little; its direction much.
    """

    name = "angular"

    centre: Floats  # (d,) the mean of the pool's unit vectors
    axes: Floats  # (d, p) orthonormal
    reference: Floats  # (m, p) points of the pool without labelled anomalies
    anomalies: Floats  # (a, p) labelled anomalies
    direction: Floats  # (p,) of the linear part, times its weight
    unit_of_distance: float  # of the neighbours' logarithms
    core: Floats  # (p,) the mean of the unsuspected points
    whitening: Floats  # (p, p) makes their spread the same in every direction
    unit_of_shape: float  # of the shape's logarithms
    middle: float  # the pool's mean score before it is moved to 0
    spread: float  # and its standard deviation

    @classmethod
    @single_threaded_blas()
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Angular:
        """From features (N, d), their labels (N,) and the estimated share; all chance comes from the seed."""
        most = AngularOptions.read(options).reference_rows
        rng, is_anomaly = np.random.default_rng(seed), labels == ANOMALY
        rows = np.flatnonzero(~is_anomaly) if (labels != ANOMALY).sum() > 1 else np.arange(len(pool))
        if len(rows) > most:
            rows = np.sort(rng.choice(rows, most, replace=False))
        centre, axes = _view(unit(pool[np.union1d(rows, _some(np.flatnonzero(is_anomaly), rng))]), rng)
        points = _project(pool, centre, axes)
        neighbours, learnt = _neighbours(points, rows, labels, share, rng)
        normal = _drop_suspects(neighbours, rows, labels, share)
        core, whitening = gaussian(points[normal])
        shape = np.log(mahalanobis(points, core, whitening) + SMALLEST)
        learnt |= {"centre": centre, "axes": axes, "core": core, "whitening": whitening}
        learnt["unit_of_shape"] = _spread(shape) / SHAPE_WEIGHT
        scores = neighbours + shape / learnt["unit_of_shape"]
        free = labels == UNLABELLED
        spread = scores[free].std() if free.any() else 0.0
        learnt |= {"middle": scores.mean(), "spread": spread if spread > 0 else _spread(scores)}
        return cls.from_arrays(learnt)

    @single_threaded_blas()
    def score(self, x: Floats) -> Floats:
        points = self.space(x)
        raw = _logarithms(points, self.reference, self.anomalies) / self.unit_of_distance + points @ self.direction
        raw += np.log(mahalanobis(points, self.core, self.whitening) + SMALLEST) / self.unit_of_shape
        return np.asarray((raw - self.middle) / self.spread)

    @single_threaded_blas()
    def space(self, x: Floats) -> Floats:
        """Rows (n, d) as the points (n, p) between which distances are measured."""
        return _project(x, self.centre, self.axes)


def _project(x: Floats, centre: Floats, axes: Floats) -> Floats:
    """Rows (n, d) as unit vectors from the centre, along the axes: (n, p)."""
    x = np.asarray(x, np.float32)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray((x @ axes) / np.where(lengths > 0, lengths, 1) - centre @ axes)


def _neighbours(
    points: Floats, rows: Rows, labels: Labels, share: float | None, rng: np.random.Generator
) -> tuple[Floats, dict[str, Any]]:
    """The first part of the score (N,) in units of its spread, and what is needed to compute it again."""
    anomalies = points[labels == ANOMALY]
    own = np.full(len(points), -1)
    own[rows] = np.arange(len(rows))
    distances = _logarithms(points, points[rows], anomalies, own)
    unit_of_distance = _spread(distances)
    direction: Floats = np.zeros(points.shape[1])
    if share is not None:
        linear = _fit_ridge(points, rows, labels, share, rng)
        weight = LINEAR_WEIGHT * max(2 * linear.heldout_auroc - 1, 0.0) ** 2
        direction = linear.direction * (weight / _spread(points @ linear.direction))
    scores = distances / unit_of_distance + points @ direction
    whole = _spread(scores)
    learnt = {"reference": points[rows], "anomalies": anomalies}
    return scores / whole, learnt | {"direction": direction / whole, "unit_of_distance": unit_of_distance * whole}


def _drop_suspects(scores: Floats, rows: Rows, labels: Labels, share: float | None) -> Rows:
    """Of the reference rows, those that the share leaves unsuspected; labelled normal ones in any case."""
    below = scores[rows] <= np.quantile(scores, 1 - min(share or 0.0, 0.5))
    normal = rows[below | (labels[rows] == NORMAL)]
    return normal if len(normal) > 1 else rows


def _logarithms(points: Floats, reference: Floats, anomalies: Floats, own: np.ndarray | None = None) -> Floats:
    n_neighbours = max(FEWEST_NEIGHBOURS, int(NEIGHBOUR_SHARE * len(reference)))
    score = np.log(mean_of_nearest(points, reference, n_neighbours, own).astype(np.float64) + SMALLEST)
    if len(anomalies):
        score -= ANOMALY_WEIGHT * np.log(nearest(points, anomalies) + SMALLEST_TO_ANOMALY)
    return np.asarray(score)


def _spread(values: Floats) -> float:
    return float(values.std()) or 1.0


def _fit_ridge(points: Floats, rows: Rows, labels: Labels, share: float, rng: np.random.Generator) -> SelfTrainedRidge:
    """The linear part, from the reference rows and the labelled ones, or some of these where they are many."""
    known = _some(np.flatnonzero(labels != UNLABELLED), rng)
    shown = np.full_like(labels, UNLABELLED)
    shown[known] = labels[known]
    seen = np.union1d(rows, known)
    return SelfTrainedRidge.fit(points[seen], shown[seen], share)


def _some(known: Rows, rng: np.random.Generator) -> Rows:
    return known if len(known) <= MOST_LABELS else rng.choice(known, MOST_LABELS, replace=False)


def _view(directions: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The mean (d,) of unit vectors (m, d), and the axes (d, p) along which they differ most."""
    from sklearn.utils.extmath import randomized_svd  # takes a second to import

    centre = directions.mean(axis=0)
    n_axes = min(AXES, *directions.shape)
    with single_threaded_blas():  # once more: the import above has brought scipy's matrix library
        _, _, axes = randomized_svd(directions - centre, n_axes, random_state=int(rng.integers(2**31)))
    return centre, np.ascontiguousarray(axes.T)


ROUNDS = 3
FOLDS = 20
RIDGE = 0.3  # added to the covariance, as a share of its mean variance; more where rows are few
LABEL_WEIGHT = 3.0  # of a labelled row beside one that is only suspected
TEMPERATURE = 0.1  # of the softmax over cosines to labelled rows
SOFTNESS = 0.3  # of the border between suspected and not, in spreads of the score


@dataclass(frozen=True)
class SelfTrainedRidge:
    """A linear score from few labels and many rows: ridge regression that trains itself on its own predictions.

    direction: d (p,). heldout_auroc: of held-out labels along it.

    With centred rows x_i, weights w_i of 3 for labelled rows and 1 for others, labels y_l of 1 and 0, and C the
    weighted covariance with a ridge on its diagonal, q_i is the chance that row i is an anomaly (q_l = y_l where it is
    labelled):

        q_i = sum_l exp(cos(x_i, x_l) / 0.1) y_l / sum_l exp(cos(x_i, x_l) / 0.1),
        three times: d = C^-1 sum_i w_i (q_i - mean q) x_i / sum_i w_i,  q_i = sigmoid((x_i d - b) / (0.3 sd(x d))),

    where b leaves the estimated share of rows above it.
    """

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
