"""How unlike the patches of a picture are to those of the pool at the same places, and what answers teach of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from soel.detect.detector import NOTHING, Options, PlaceDetector
from soel.detect.fingerprints import fingerprints, is_among
from soel.detect.places import Gaussians, Moments
from soel.numeric import single_threaded_blas
from soel.types import ANOMALY, NORMAL, UNLABELLED, Booleans, Floats, Labels, Progress, Rows

WORST = 3  # patches whose mean distance is the picture's
SUSPICIOUS = 0.1  # of the pool, left out of the fit: a few sound pictures less cost nothing
PASSES = 4  # over the pool in a fit
QUIET = 0.95  # of the unsuspected pictures, no patch of which lies beyond the limit
SMALLEST = 1e-6  # of a distance, before its logarithm is taken
UP, DOWN = 2.0, 1.0  # what a patch gains that points where an anomalous one does, and loses where a normal one does
LABEL_PATCHES = {ANOMALY: 3, NORMAL: 5}  # worst patches of a labelled picture that stand for its label
MOST_MARKED, MOST_PICTURES = 20, 200  # patches of one picture, and pictures of each label, that teach
ASKED, KEPT = 2000, 16  # pictures that questions are chosen among, and patches of each that are kept for it
LARGEST = 6e4  # that half precision holds
PLACES = 1 << 22  # of pictures that are scored at once


@dataclass(frozen=True)
class PatchesOptions(Options):
    """fitted_rows: of a larger pool, a random sample of this size is learnt from."""

    fitted_rows: int = 1000


@dataclass(frozen=True)
class Patches(PlaceDetector):
    """A Gaussian at each place of the picture; rows (N, P, D), or (N, D) for pictures of one patch.

    A patch x at place p is whitened, w = S_p (x - m_p), and its distance d = |w| becomes

        d (1 + 2 max_i cos+(w, a_i)^2 - 1 max_j cos+(w, b_j)^2),

    a_i the unit vectors of the three worst patches of each labelled anomaly, or of those that somebody marked, and b_j
    those of the five worst patches of each picture labelled normal. Labelled anomalies are not fitted, pictures
    labelled normal are; the most suspicious tenth of the others is left out of a second fit. A picture's score is the
    logarithm of the mean of its three largest distances, in units of its spread over the pool.

    It fails where normal patches are rare at their place, as those of parts at any angle are.
    """

    name = "patches"
    version = 6

    means: Floats  # (P, D)
    whitenings: Floats  # (C, D (D + 1) / 2) rows of lower triangles, see `Gaussians`
    leverage: Floats  # (1,) the weight of one picture in the covariances that it was fitted into
    members: Floats  # (m, 2) fingerprints of the pictures that were fitted
    limit: Floats  # (1,) the distance that no patch of most unsuspected pictures exceeds
    middle: Floats  # (1,) the pool's mean before it is moved to 0
    spread: Floats  # (1,) and its standard deviation
    anomalous: Floats  # (a, D) directions in which patches of labelled anomalies leave the normal
    harmless: Floats  # (b, D) and those of pictures labelled normal
    asked: Floats  # (R,) rows of the pool that questions are chosen among, and the number of all its rows after them
    arms: Floats  # (R, K, D) the whitened worst patches of each

    @classmethod
    @single_threaded_blas()
    def fit(
        cls,
        pool: Floats,
        labels: Labels,
        seed: int,
        share: float | None = None,
        options: Mapping[str, Any] = NOTHING,
        marked: Booleans | None = None,
        progress: Progress | None = None,
    ) -> Patches:
        """From patches (N, P, D) and their labels (N,); all chance comes from the seed. The share is not asked.

        marked: (N, P), which places somebody pointed at in labelled anomalies. progress: told of the passes over x.
        """

        def tell(n_passes: int) -> None:
            if progress is not None:
                progress(n_passes, PASSES)

        tell(0)
        most, rng, x = PatchesOptions.read(options).fitted_rows, np.random.default_rng(seed), fold(pool)
        rows = _fitted_rows(labels, most, rng)
        moments = Moments.of(x, rows)
        tell(1)
        normal = Gaussians.of(moments)
        raw = _worst(normal.measure(x, rows, np.ones(len(rows), bool)))
        tell(2)
        kept = _unsuspected(raw, labels[rows])
        normal, fitted = Gaussians.of(moments.without(x, rows[~kept])), rows[kept]
        worst = {
            label: _directions(normal, x, np.flatnonzero(labels == label), label, marked, rng)
            for label in (ANOMALY, NORMAL)
        }
        own = cls(
            means=normal.means,
            whitenings=_pack(normal.whitenings),
            leverage=np.array([normal.leverage], np.float32),
            members=np.concatenate([fingerprints(x[part]) for part in np.array_split(fitted, -(-len(fitted) // 64))]),
            limit=np.ones(1, np.float32),
            middle=np.zeros(1, np.float32),
            spread=np.ones(1, np.float32),
            anomalous=worst[ANOMALY],
            harmless=worst[NORMAL],
            asked=np.zeros(1, np.float32),
            arms=np.zeros((0, KEPT, x.shape[2]), np.float16),
        )
        tell(3)
        own = own._measured(x, labels, fitted)
        tell(PASSES)
        return own

    @single_threaded_blas()
    def score(self, x: Floats) -> Floats:
        x, step = fold(x), max(1, PLACES // self.means.shape[0])
        parts = [_worst(self.maps(x[start : start + step])) for start in range(0, len(x), step)]
        return np.asarray((np.concatenate([*parts, np.zeros(0)]) - self.middle) / self.spread)

    @single_threaded_blas()
    def maps(self, x: Floats) -> Floats:
        """The distance (n, P) of each patch (n, P, D) from what is normal at its place, as answers weigh it.

        A picture that was fitted is measured by the others, wherever it stands now.
        """
        return self._maps(fold(x), is_among(fingerprints(fold(x)), self.members))

    def space(self, x: Floats) -> Floats:
        """The mean (n, D) of the worst patches, as they lie around what is normal at their places."""
        x = fold(x)
        return np.array([self._arms(x[row], at, WORST).mean(axis=0) for row, at in enumerate(self.maps(x))])

    def gain(self, labels: Labels) -> tuple[Rows, Floats]:
        """Rows (R,) of its pool and how far answers (N,) that came since raise the score of each."""
        *_, n_pool = rows = self.asked.astype(np.int64)
        if n_pool != len(labels):
            return rows[:0], np.zeros(0)
        rows, arms = rows[:-1], self.arms.astype(np.float32)  # (R, K, D), the worst first
        lengths = np.linalg.norm(arms, axis=2)
        units = arms / np.maximum(lengths, SMALLEST)[..., None]
        more = {
            label: units[labels[rows] == label, :n].reshape(-1, units.shape[2]) for label, n in LABEL_PATCHES.items()
        }
        anomalous, harmless = np.vstack([self.anomalous, more[ANOMALY]]), np.vstack([self.harmless, more[NORMAL]])
        before = _worst(lengths * _factor(units, self.anomalous, self.harmless))
        return rows, (_worst(lengths * _factor(units, anomalous, harmless)) - before) / self.spread

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(**{name: np.asarray(array) for name, array in arrays.items()})

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything it has learnt, by name: the large ones in half precision."""
        return super().arrays() | {"whitenings": self.whitenings.astype(np.float16), "arms": self.arms}

    @cached_property
    def _normal(self) -> Gaussians:
        whitenings = _unpack(self.whitenings, self.means.shape[1])
        return Gaussians(self.means, whitenings, float(self.leverage[0]), len(self.members))

    def _maps(self, x: Floats, is_fitted: Booleans) -> Floats:
        def factor(units: Floats) -> Floats:
            return _factor(units, self.anomalous, self.harmless)

        teaches = len(self.anomalous) + len(self.harmless) > 0
        return self._normal.measure(x, np.arange(len(x)), is_fitted, factor if teaches else None)

    def _arms(self, picture: Floats, distances: Floats, n: int) -> Floats:
        """The whitened arms (n, D) of the worst patches of a picture (P, D), the worst first."""
        places = np.argsort(-distances, kind="stable")[:n]
        return self._normal.arms(picture[places], places)

    def _measured(self, x: Floats, labels: Labels, fitted: Rows) -> Patches:
        """The same with its units, from the pool's own distances, and what questions are chosen by."""
        maps = self._maps(x, np.isin(np.arange(len(x)), fitted))
        raw = _worst(maps)
        free = raw[labels == UNLABELLED] if (labels == UNLABELLED).any() else raw
        asked = np.sort(np.argsort(-raw, kind="stable")[:ASKED])
        return replace(
            self,
            limit=np.array([np.quantile(maps[fitted].max(axis=1), QUIET)], np.float32),
            middle=np.array([free.mean()], np.float32),
            spread=np.array([free.std() or 1.0], np.float32),
            asked=np.append(asked, len(x)).astype(np.float32),
            arms=np.array([self._arms(x[row], maps[row], KEPT) for row in asked], np.float16),
        )


def fold(x: Floats) -> Floats:
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


def _unsuspected(scores: Floats, labels: Labels) -> Booleans:
    """Which rows (m,) are not the most suspicious by their scores; labelled normal ones in any case."""
    limit = np.quantile(scores, 1 - SUSPICIOUS)
    kept = np.asarray((scores <= limit) | (labels == NORMAL))
    return kept if kept.sum() > 1 else np.ones(len(scores), bool)


def _directions(
    normal: Gaussians, x: Floats, rows: Rows, label: int, marked: Booleans | None, rng: np.random.Generator
) -> Floats:
    """Unit vectors (m, D) of the marked or the worst patches of pictures with this label."""
    rows = rows if len(rows) <= MOST_PICTURES else np.sort(rng.choice(rows, MOST_PICTURES, replace=False))
    found: list[Floats] = [np.zeros((0, x.shape[2]), np.float32)]
    for row, distances in zip(rows, normal.measure(x, rows), strict=True):
        places = np.argsort(-distances, kind="stable")
        pointed_at = label == ANOMALY and marked is not None and bool(marked[row].any())
        places = places[marked[row][places]][:MOST_MARKED] if pointed_at else places[: LABEL_PATCHES[label]]  # type: ignore[index]
        found.append(normal.arms(x[row][places], places))
    arms = np.concatenate(found)
    return np.asarray(arms / np.maximum(np.linalg.norm(arms, axis=1, keepdims=True), SMALLEST), np.float32)


def _factor(units: Floats, anomalous: Floats, harmless: Floats) -> Floats:
    """What distances of patches with these directions (..., D) are multiplied by."""
    return np.asarray(1 + UP * _likeness(units, anomalous) - DOWN * _likeness(units, harmless))


def _likeness(units: Floats, examples: Floats) -> Floats:
    """The square of the largest cosine to any example (m, D), 0 where all are negative."""
    if not len(examples):
        return np.zeros(units.shape[:-1], np.float32)
    return np.asarray(np.maximum((units @ examples.T).max(axis=-1), 0) ** 2)


def _worst(maps: Floats) -> Floats:
    """The logarithm (n,) of the mean of each picture's largest distances (n, P)."""
    n_worst = min(WORST, maps.shape[1])
    return np.asarray(np.log(-np.partition(-maps, n_worst - 1, axis=1)[:, :n_worst].mean(axis=1) + SMALLEST))


def _pack(lower: Floats) -> Floats:
    """Lower triangles (C, D, D) as rows (C, D (D + 1) / 2), rounded as they are stored."""
    rows = np.clip(lower[:, *np.tril_indices(lower.shape[1])], -LARGEST, LARGEST)
    return np.asarray(rows, np.float16).astype(np.float32)


def _unpack(packed: Floats, width: int) -> Floats:
    """Lower triangles (C, D, D) from their rows."""
    lower = np.zeros((len(packed), width, width), np.float32)
    lower[:, *np.tril_indices(width)] = packed
    return lower
