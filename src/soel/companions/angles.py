"""How unlike a feature vector is to the pool's: by its angles to them, and along a direction that labels point out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from soel.companions.distances import mean_of_nearest, nearest, unit
from soel.companions.linear import Linear
from soel.errors import ModelFileError
from soel.types import ANOMALY, UNLABELLED, Floats, Labels, Rows

AXES = 128  # of the pool's directions; the rest is noise that distances are better off without
NEIGHBOUR_SHARE, FEWEST_NEIGHBOURS = 0.03, 5  # of the reference rows
REFERENCE_ROWS = 10_000  # a larger pool is represented by a random sample of this size
ANOMALY_WEIGHT = 0.5
MOST_LABELS = 1000  # that the linear part listens to
LINEAR_WEIGHT = 2.0  # of the linear part where it foretells every label
SMALLEST, SMALLEST_TO_ANOMALY = 1e-6, 1e-2  # of a distance between unit vectors, before its logarithm is taken


@dataclass(frozen=True)
class Angles:
    """Rows as unit vectors, seen from the middle of the pool, along the axes in which these differ most.

    The score is the logarithm of the mean distance to the nearest of the pool, less half that of the distance to the
    nearest labelled anomaly, plus a linear part (`Linear`) that counts as much as it foretells of the labels. All in
    units of their spread over the pool. Labelled anomalies are no part of the reference. The length of a feature
    vector says little; its direction much.
    """

    centre: Floats  # (d,) the mean of the pool's unit vectors
    axes: Floats  # (d, p) orthonormal
    reference: Floats  # (m, p) points of the pool without labelled anomalies
    anomalies: Floats  # (a, p) labelled anomalies
    direction: Floats  # (p,) of the linear part, times its weight
    unit_of_distance: Floats  # (1,) spread of the logarithms over the pool
    middle: Floats  # (1,) the pool's mean score before it is moved to 0
    spread: Floats  # (1,) and its standard deviation

    @classmethod
    def fit(cls, pool: Floats, labels: Labels, seed: int, share: float | None = None) -> Angles:
        """From features (N, d), their labels (N,) and the estimated share; all chance comes from the seed."""
        rng, is_anomaly = np.random.default_rng(seed), labels == ANOMALY
        rows = np.flatnonzero(~is_anomaly) if (labels != ANOMALY).sum() > 1 else np.arange(len(pool))
        if len(rows) > REFERENCE_ROWS:
            rows = np.sort(rng.choice(rows, REFERENCE_ROWS, replace=False))
        centre, axes = _view(unit(pool[rows]), rng)
        nothing, one = np.zeros(axes.shape[1], np.float32), np.ones(1)
        bare = cls(centre, axes, nothing[None], nothing[None][:0], nothing, one, np.zeros(1), one)
        points = bare.space(pool)
        learnt = {"reference": points[rows], "anomalies": points[is_anomaly]}
        plain = cls.from_arrays(bare.arrays() | learnt)
        own = np.full(len(points), -1)
        own[rows] = np.arange(len(rows))
        distances = plain._logarithms(points, own)
        learnt["unit_of_distance"] = np.array([distances.std() or 1.0])
        scores = distances / learnt["unit_of_distance"]
        if share is not None:
            linear = _taught(points, rows, labels, share, rng)
            weight = LINEAR_WEIGHT * max(2 * linear.foresight - 1, 0.0) ** 2
            learnt["direction"] = linear.direction * (weight / ((points @ linear.direction).std() or 1.0))
            scores = scores + points @ learnt["direction"]
        free = labels == UNLABELLED
        learnt |= {"middle": np.array([scores.mean()]), "spread": np.array([scores[free].std() if free.any() else 0])}
        if not learnt["spread"] > 0:
            learnt["spread"] = np.array([scores.std() or 1.0])
        return cls.from_arrays(plain.arrays() | learnt)

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of features (n, d)."""
        points = self.space(x)
        raw = self._logarithms(points) / self.unit_of_distance + points @ self.direction
        return np.asarray((raw - self.middle) / self.spread)

    def space(self, x: Floats) -> Floats:
        """Rows (n, d) as the points (n, p) between which distances are measured."""
        x = np.asarray(x, np.float32)
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        return np.asarray((x @ self.axes) / np.where(lengths > 0, lengths, 1) - self.centre @ self.axes)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything it has learnt, by name."""
        return {field.name: np.asarray(getattr(self, field.name), np.float32) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Angles:
        """The scorer back from its arrays."""
        if "axes" not in arrays:
            raise ModelFileError("This model was saved before angles were measured along axes; fit it again.")
        return cls(**{field.name: np.asarray(arrays[field.name], np.float32) for field in fields(cls)})

    def _logarithms(self, points: Floats, own: np.ndarray | None = None) -> Floats:
        n_neighbours = max(FEWEST_NEIGHBOURS, int(NEIGHBOUR_SHARE * len(self.reference)))
        score = np.log(mean_of_nearest(points, self.reference, n_neighbours, own).astype(np.float64) + SMALLEST)
        if len(self.anomalies):
            score -= ANOMALY_WEIGHT * np.log(nearest(points, self.anomalies) + SMALLEST_TO_ANOMALY)
        return np.asarray(score)


def _taught(points: Floats, rows: Rows, labels: Labels, share: float, rng: np.random.Generator) -> Linear:
    """The linear part, from the reference rows and the labelled ones, or some of these where they are many."""
    known = np.flatnonzero(labels != UNLABELLED)
    known = known if len(known) <= MOST_LABELS else rng.choice(known, MOST_LABELS, replace=False)
    told = np.full_like(labels, UNLABELLED)
    told[known] = labels[known]
    seen = np.union1d(rows, known)
    return Linear.fit(points[seen], told[seen], share)


def _view(directions: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The mean (d,) of unit vectors (m, d), and the axes (d, p) along which they differ most."""
    from sklearn.utils.extmath import randomized_svd  # takes a second to import

    centre = directions.mean(axis=0)
    n_axes = min(AXES, *directions.shape)
    _, _, axes = randomized_svd(directions - centre, n_axes, random_state=int(rng.integers(2**31)))
    return centre, np.ascontiguousarray(axes.T)
