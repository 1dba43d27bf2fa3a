"""How unlike a feature vector is to the pool's: angles to its nearest rows, less the angle to labelled anomalies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from soel.companions.distances import mean_of_nearest, nearest
from soel.types import ANOMALY, UNLABELLED, Floats, Labels

NEIGHBOURS = 5
REFERENCE_ROWS = 10_000  # a larger pool is represented by a random sample of this size
ANOMALY_WEIGHT = 0.5
SMALLEST, SMALLEST_TO_ANOMALY = 1e-6, 1e-2  # of a distance between unit vectors, before its logarithm is taken


@dataclass(frozen=True)
class Angles:
    """Rows as unit vectors: the logarithm of the mean distance to the nearest of the pool, less half that of the
    distance to the nearest labelled anomaly, in units of its spread over the pool.

    Labelled anomalies are no part of the reference. The length of a feature vector says little; its direction much.
    """

    reference: Floats  # (m, d) unit rows of the pool without labelled anomalies
    anomalies: Floats  # (a, d) labelled anomalies as unit rows
    middle: Floats  # (1,) the pool's mean score before it is moved to 0
    spread: Floats  # (1,) and its standard deviation

    @classmethod
    def fit(cls, pool: Floats, labels: Labels, seed: int) -> Angles:
        """From features (N, d) and their labels (N,); all chance comes from the seed."""
        rng, x, is_anomaly = np.random.default_rng(seed), unit(pool), labels == ANOMALY
        rows = np.flatnonzero(~is_anomaly) if (labels != ANOMALY).sum() > 1 else np.arange(len(x))
        if len(rows) > REFERENCE_ROWS:
            rows = np.sort(rng.choice(rows, REFERENCE_ROWS, replace=False))
        raw = cls(x[rows], x[is_anomaly], np.zeros(1), np.ones(1))
        own = np.full(len(x), -1)
        own[rows] = np.arange(len(rows))
        scores = raw._logarithms(x, own)
        spread = scores[labels == UNLABELLED].std() if (labels == UNLABELLED).any() else scores.std()
        learnt = {"middle": np.array([scores.mean()]), "spread": np.array([spread or 1.0])}
        return cls.from_arrays(raw.arrays() | learnt)

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of features (n, d)."""
        return np.asarray((self._logarithms(unit(x)) - self.middle) / self.spread)

    def space(self, x: Floats) -> Floats:
        """Rows (n, d) as the points between which distances are measured."""
        return unit(x)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything it has learnt, by name."""
        return {field.name: np.asarray(getattr(self, field.name), np.float32) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Angles:
        """The scorer back from its arrays."""
        return cls(**{field.name: np.asarray(arrays[field.name], np.float32) for field in fields(cls)})

    def _logarithms(self, x: Floats, own: np.ndarray | None = None) -> Floats:
        score = np.log(mean_of_nearest(x, self.reference, NEIGHBOURS, own).astype(np.float64) + SMALLEST)
        if len(self.anomalies):
            score -= ANOMALY_WEIGHT * np.log(nearest(x, self.anomalies) + SMALLEST_TO_ANOMALY)
        return np.asarray(score)


def unit(x: Floats) -> Floats:
    """Rows (n, d) at length 1; a row of zeros stays as it is."""
    x = np.asarray(x, np.float32)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1))
