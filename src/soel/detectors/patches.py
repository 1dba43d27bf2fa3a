"""How unlike the patches of a picture are to those of the pool at the same places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.detectors.base import NOTHING, Detector, Options
from soel.numeric.places import Gaussians, choose_own_share, distances, fit_gaussians, without_itself
from soel.types import ANOMALY, NORMAL, UNLABELLED, Floats, Labels, Rows

WORST = 3  # patches whose mean distance is the picture's
USUAL_SHARE = 0.1  # of the pool, left out as suspicious where nobody knows better
QUIET = 0.95  # of the unsuspected pictures, no patch of which lies beyond the limit
SMALLEST = 1e-6  # of a distance, before its logarithm is taken
# Chosen on the pools of solar cells, boards and weaves (docs/detection.md), where from 3 on more changed little.
HIGHEST_TRUST = 4.0
ASSUMED, PSEUDO_LABELS = 0.875, 2.0  # the foresight taken for granted, and how many labels it takes to doubt it


@dataclass(frozen=True)
class PatchesOptions(Options):
    """fitted_rows: of a larger pool, a random sample of this size is learnt from."""

    fitted_rows: int = 1000


@dataclass(frozen=True)
class Patches(Detector):
    """A Gaussian at each place of the picture; rows (N, P, D), or (N, D) for pictures of one patch.

    The covariance of a place is mixed with that of all places: so much that the pool's pictures, each left out in
    turn, are most likely. Where all pictures show the same object the places differ and keep their own; in a texture
    they share. The pool's most suspicious pictures are left out of a second fit, those labelled normal are not, and
    labelled anomalies are in neither. The score is the logarithm of the mean distance of the worst patches, in units
    of its spread over the pool.
    """

    name = "patches"

    means: Floats  # (P, D)
    whitenings: Floats  # (P, D, D) make the spread at a place the same in every direction
    leverage: Floats  # (1,) the weight of one picture in the covariances that it was fitted into
    members: Floats  # (N,) 1 for the rows of the pool that were fitted
    limit: Floats  # (1,) the distance that no patch of most unsuspected pictures exceeds
    foresight: Floats  # (1,) the chance that a labelled anomaly lies above a labelled normal picture
    middle: Floats  # (1,) the pool's mean before it is moved to 0
    spread: Floats  # (1,) and its standard deviation

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Patches:
        """From patches (N, P, D), their labels (N,) and the estimated share; all chance comes from the seed."""
        most, rng, x = PatchesOptions.read(options).fitted_rows, np.random.default_rng(seed), _folded(pool)
        rows = _fitted_rows(labels, most, rng)
        own = choose_own_share(x[rows])
        first = fit_gaussians(x[rows], own)
        rows = _unsuspected(_worst(_pool_distances(first, x, rows)), rows, labels, share)
        normal = fit_gaussians(x[rows], own)
        found = _pool_distances(normal, x, rows)
        raw = _worst(found)
        free = raw[labels == UNLABELLED] if (labels == UNLABELLED).any() else raw
        members = np.zeros(len(x))
        members[rows] = 1
        return cls.from_arrays(
            {
                "means": normal.means,
                "whitenings": normal.whitenings,
                "leverage": np.array([normal.leverage]),
                "members": members,
                "limit": np.array([np.quantile(found[rows].max(axis=1), QUIET)]),
                "foresight": np.array([_foresight(raw, labels)]),
                "middle": np.array([free.mean()]),
                "spread": np.array([free.std() or 1.0]),
            }
        )

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of patches (n, P, D)."""
        return self._in_units(_worst(self.maps(x)))

    def score_pool(self, pool: Floats) -> Floats:
        """Scores (N,) of the pool, each picture measured by the others."""
        return self._in_units(_worst(self.pool_maps(pool)))

    def maps(self, x: Floats) -> Floats:
        """The distance (n, P) of each patch (n, P, D) from what is normal at its place."""
        return distances(_folded(x), self.means, self.whitenings)

    def pool_maps(self, pool: Floats, rows: Rows | None = None) -> Floats:
        """The same (n, P) for rows of the pool, or all of them, each picture measured by the others."""
        rows = np.arange(len(pool)) if rows is None else rows
        found, n_fitted = self.maps(pool[rows]), int(self.members.sum())
        is_member = self.members[rows] > 0
        found[is_member] = without_itself(found[is_member], n_fitted, float(self.leverage[0]))
        return found

    def space(self, x: Floats) -> Floats:
        """The mean (n, D) of the worst patches, as they lie around what is normal at their places."""
        x = _folded(x)
        at = np.argpartition(-self.maps(x), min(WORST, x.shape[1]) - 1, axis=1)[:, :WORST]  # (n, WORST)
        arms = np.take_along_axis(x, at[..., None], axis=1).astype(np.float32) - self.means[at]
        return np.asarray(np.einsum("nwij,nwj->nwi", self.whitenings[at], arms).mean(axis=1))

    @property
    def trust(self) -> float:
        """From 0 where labels contradict it to 4 where it foretells every one; 3 where there are none."""
        return HIGHEST_TRUST * max(2 * float(self.foresight[0]) - 1, 0.0)

    def _in_units(self, raw: Floats) -> Floats:
        return np.asarray((raw - self.middle) / self.spread)


def _folded(x: Floats) -> Floats:
    """Rows as patches (n, P, D); those that have no places are patches themselves."""
    return x[:, None] if x.ndim == 2 else x


def _fitted_rows(labels: Labels, most: int, rng: np.random.Generator) -> Rows:
    """All but labelled anomalies, or a sample of them with every labelled normal row."""
    rows = np.flatnonzero(labels != ANOMALY)
    if len(rows) < 2:
        return np.arange(len(labels))
    if len(rows) <= most:
        return rows
    free, known = rows[labels[rows] != NORMAL], rows[labels[rows] == NORMAL][:most]
    return np.union1d(known, rng.choice(free, most - len(known), replace=False)) if len(known) < most else known


def _unsuspected(scores: Floats, rows: Rows, labels: Labels, share: float | None) -> Rows:
    """Of the fitted rows, those that the share leaves unsuspected; labelled normal ones in any case."""
    limit = np.quantile(scores[rows], 1 - min(USUAL_SHARE if share is None else share, 0.5))
    kept = rows[(scores[rows] <= limit) | (labels[rows] == NORMAL)]
    return kept if len(kept) > 1 else rows


def _pool_distances(normal: Gaussians, x: Floats, rows: Rows) -> Floats:
    """Distances (N, P); those of fitted rows as if each had been left out."""
    found = distances(x, normal.means, normal.whitenings)
    found[rows] = without_itself(found[rows], len(rows), normal.leverage)
    return found


def _worst(maps: Floats) -> Floats:
    """The logarithm (n,) of the mean of each picture's largest distances (n, P)."""
    n_worst = min(WORST, maps.shape[1])
    return np.asarray(np.log(-np.partition(-maps, n_worst - 1, axis=1)[:, :n_worst].mean(axis=1) + SMALLEST))


def _foresight(scores: Floats, labels: Labels) -> float:
    """The chance that a labelled anomaly scores above a labelled normal picture, drawn towards what is assumed."""
    anomalies, normals = scores[labels == ANOMALY], scores[labels == NORMAL]
    n_labels = min(len(anomalies), len(normals))
    gaps = anomalies[:, None] - normals
    chance = float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if n_labels else ASSUMED
    return (n_labels * chance + PSEUDO_LABELS * ASSUMED) / (n_labels + PSEUDO_LABELS)
