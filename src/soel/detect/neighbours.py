"""How far a row lies from what looks normal, corrected by the labels around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.detect.detector import NOTHING, Detector, Options
from soel.detect.fingerprints import fingerprints, positions_among
from soel.numeric import blocks, gaussian, mahalanobis, mean_of_nearest, nearest, remember
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels, Rows

# Chosen on other tables than the paper's four (benchmarks/choices.md).
CLIP = 3.0  # in scaled units: one wild column must not decide alone
NEIGHBOUR_SHARE, FEWEST_NEIGHBOURS = 0.03, 5  # of the reference rows
ANOMALY_NEIGHBOURS = 10
TINY = 1e-6


@dataclass(frozen=True)
class NeighboursOptions(Options):
    """reference_rows: a larger pool is represented by a random sample of this size. dropped_share: the most isolated
    rows are no reference for what is normal. grown_share: rows around labelled anomalies that are taken for anomalies,
    as a share of the pool.
    """

    reference_rows: int = 4000
    dropped_share: float = 0.1
    grown_share: float = 0.05


@dataclass(frozen=True)
class Neighbours(Detector):
    """Two distances to the cleaned pool (to its nearest rows, and Mahalanobis') minus the distance to anomalies.

    Cleaned: without the most isolated rows, and without the labelled anomalies and the rows around them. Around a
    labelled normal row the score is lowered by what that row had too much. Scores are logarithms of distances, in
    units of their spread over the pool, so that they add up with others. A row of the pool is no neighbour of itself.
    O(N) memory; O(N) distances to at most `reference_rows` rows.
    """

    name = "neighbours"
    version = 2

    reference: Floats  # (m, d) rows that count as normal
    centre: Floats  # (d,)
    whitening: Floats  # (d, d)
    anomalies: Floats  # (a, d) labelled anomalies and the rows around them
    normals: Floats  # (b, d) rows labelled normal
    excess: Floats  # (b,) how far above the middle each of those scored
    reach: float  # scale on which the correction by a normal label decays
    spread: float  # of the distances' logarithm over the pool
    middle: float  # the pool's mean score before it is moved to 0

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Neighbours:
        """From scaled rows (N, d) and their labels (N,); the share is not looked at. All chance is from the seed."""
        chosen, rng, x = NeighboursOptions.read(options), np.random.default_rng(seed), clip_rows(pool)
        most = chosen.reference_rows
        suspects, is_normal = around_anomalies(x, labels, chosen.grown_share), labels == NORMAL
        isolation = _isolation(x, _sample(np.arange(len(x)), rng, most)).copy()
        isolation[is_normal] = -1
        kept = ~suspects
        kept[np.argsort(-isolation, kind="stable")[: int(chosen.dropped_share * len(x))]] = False
        kept = kept if kept.sum() > 1 else np.ones(len(x), bool)
        rows = _sample(np.flatnonzero(kept), rng, most)
        anomalies = x[_sample(np.flatnonzero(suspects), rng, most)]
        known = x[is_normal]
        plain = cls(x[rows], *gaussian(x[kept]), anomalies, known, np.zeros(len(known)), 1.0, 1.0, 0.0)
        distance = plain._distance(x, _positions(len(x), rows))
        excess = np.maximum(distance[is_normal] - np.median(distance), 0)
        reach = np.median(nearest(x, x[labels != UNLABELLED])) if is_normal.any() else 1.0
        learnt = {
            "excess": excess,
            "reach": reach + TINY,
            "spread": distance.std() or 1.0,
        }
        uncentred = cls.from_arrays(plain.arrays() | learnt)
        shown = _sample(np.arange(len(x)), rng, most)
        middle = uncentred._corrected(x[shown], distance[shown]).mean()
        return cls.from_arrays(uncentred.arrays() | {"middle": middle})

    def score(self, x: Floats) -> Floats:
        x = clip_rows(x)
        return self._corrected(x, self._distance(x, positions_among(fingerprints(x), fingerprints(self.reference))))

    def space(self, x: Floats) -> Floats:
        """Rows (n, d) as the points between which distances are measured."""
        return clip_rows(x)

    def _corrected(self, x: Floats, distance: Floats) -> Floats:
        """Scores (n,) from the distances to the pool (n,), corrected by the labels."""
        score = distance.copy()
        if len(self.anomalies):
            score -= np.log(mean_of_nearest(x, self.anomalies, ANOMALY_NEIGHBOURS) + TINY)
        if len(self.normals):
            for block, distances in blocks(x, self.normals):
                score[block] -= (np.exp(-distances / self.reach) * self.excess).max(axis=1)
        return np.asarray(score / self.spread - self.middle)

    def _distance(self, x: Floats, own: Rows) -> Floats:
        """The mean logarithm (n,) of the two distances to the cleaned pool; own: (n,) which of its rows each is."""
        near = mean_of_nearest(x, self.reference, _neighbours(len(self.reference)), own)
        far = mahalanobis(x, self.centre, self.whitening)
        return np.asarray(0.5 * (np.log(near + TINY) + np.log(far + TINY)), np.float64)


def clip_rows(x: Floats) -> Floats:
    """Rows (n, d) with every value within +-CLIP: the space in which distances are measured."""
    return np.clip(np.asarray(x, np.float32), -CLIP, CLIP)


def around_anomalies(x: Floats, labels: Labels, grown_share: float) -> np.ndarray:
    """Which rows (N,) are labelled anomalies or lie among their nearest, and nearer to them than to any normal."""
    suspects = np.asarray(labels == ANOMALY)
    anomalies = np.flatnonzero(suspects)
    if not len(anomalies):
        return suspects
    to_normal = nearest(x, x[labels == NORMAL])
    n_each = max(1, int(grown_share * len(x) / len(anomalies)))
    to_each = np.concatenate([distances for _, distances in blocks(x, x[anomalies])])  # (N, a): a is small
    theirs = to_each.min(axis=1) < to_normal
    for distances in to_each.T:
        closest = np.argpartition(distances, min(n_each, len(x) - 1))[:n_each]
        suspects[closest[theirs[closest]]] = True
    return np.asarray(suspects & (labels != NORMAL))


@remember(1)
def _isolation(x: Floats, rows: Rows) -> Floats:
    """Mean distance (N,) to the nearest of some rows of the pool, labels unseen."""
    return mean_of_nearest(x, x[rows], _neighbours(len(rows)), _positions(len(x), rows))


def _neighbours(n_rows: int) -> int:
    return max(FEWEST_NEIGHBOURS, int(np.ceil(NEIGHBOUR_SHARE * n_rows)))


def _sample(rows: Rows, rng: np.random.Generator, most: int) -> Rows:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _positions(n_rows: int, rows: Rows) -> Rows:
    """Where each row of the pool stands among the sampled ones; -1 where it does not."""
    positions = np.full(n_rows, -1)
    positions[rows] = np.arange(len(rows))
    return positions
