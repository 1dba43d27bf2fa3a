"""How unlike the patches of a picture are to those of the pool at the same places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from soel.detect.detector import NOTHING, Options, PlaceDetector
from soel.detect.examples import Examples, arms_at, find_examples, weigh, weigh_arms
from soel.detect.fingerprints import fingerprints, is_among
from soel.detect.foresight import judge_foresight, trust_in
from soel.detect.places import (
    Gaussians,
    bring_to_scale,
    choose_own_share,
    distances,
    fit_gaussians,
    fit_scales,
    whiten,
    without_itself,
)
from soel.types import ANOMALY, NORMAL, UNLABELLED, Booleans, Floats, Labels, Rows

WORST = 3  # patches whose mean distance is the picture's
USUAL_SHARE = 0.1  # of the pool, left out as suspicious at least: a few sound pictures less cost nothing
QUIET = 0.95  # of the unsuspected pictures, no patch of which lies beyond the limit
SMALLEST = 1e-6  # of a distance, before its logarithm is taken
# Chosen on solar cells, boards and granite (benchmarks/choices.md):
ALIKE = 6.0  # spreads of usual pictures' scores that a patch gains which points where an example of an anomaly does


@dataclass(frozen=True)
class PatchesOptions(Options):
    """fitted_rows: of a larger pool, a random sample of this size is learnt from."""

    fitted_rows: int = 1000


@dataclass(frozen=True)
class Patches(PlaceDetector):
    """A Gaussian at each place of the picture; rows (N, P, D), or (N, D) for pictures of one patch.

    The covariance of a place is mixed with that of all places: so much that the pool's pictures, each left out in
    turn, are most likely. Where all pictures show the same object the places differ and keep their own; in a texture
    they share. The pool's most suspicious pictures are left out of a second fit, those labelled normal are not, and
    labelled anomalies are in neither; where there are labels, a third fit leaves out those that are suspicious by what
    these teach. Distances are brought to one scale at all places. That of a patch counts more where it leaves the
    normal in the direction of a labelled anomaly's worst patches, or of those that somebody marked; and less where it
    looks like one of a picture labelled normal. The score is the logarithm of the mean distance of the worst patches,
    in units of its spread over the pool.
    """

    name = "patches"
    version = 5

    means: Floats  # (P, D)
    whitenings: Floats  # (P, D, D) make the spread at a place the same in every direction
    factors: Floats  # (P,) and
    powers: Floats  # (P,) bring distances to the scale of all places
    leverage: Floats  # (1,) the weight of one picture in the covariances that it was fitted into
    members: Floats  # (m, 2) fingerprints of the pictures that were fitted
    limit: Floats  # (1,) the distance that no patch of most unsuspected pictures exceeds
    foresight: Floats  # (1,) the chance that a labelled anomaly lies above a labelled normal picture
    middle: Floats  # (1,) the pool's mean before it is moved to 0
    spread: Floats  # (1,) and its standard deviation
    anomalous: Floats  # (a, D) directions in which patches of labelled anomalies leave the normal
    harmless: Floats  # (b, D) and those of pictures labelled normal
    reach: Floats  # (1,) the logarithm of how much more a patch counts that points where an anomalous one does

    @classmethod
    def fit(
        cls,
        pool: Floats,
        labels: Labels,
        seed: int,
        share: float | None = None,
        options: Mapping[str, Any] = NOTHING,
        marked: Booleans | None = None,
    ) -> Patches:
        """From patches (N, P, D), their labels (N,) and the estimated share; all chance comes from the seed.

        marked: (N, P), which places somebody pointed at in labelled anomalies.
        """
        return cls.fit_and_withhold(pool, labels, seed, share, options, marked)[0]

    @classmethod
    def fit_and_withhold(
        cls,
        pool: Floats,
        labels: Labels,
        seed: int,
        share: float | None = None,
        options: Mapping[str, Any] = NOTHING,
        marked: Booleans | None = None,
    ) -> tuple[Patches, Floats]:
        """The same, and scores (N,) of labelled pictures as if each one's own label were not known."""
        most, rng, x = PatchesOptions.read(options).fitted_rows, np.random.default_rng(seed), fold(pool)
        candidates = _fitted_rows(labels, most, rng)
        own = choose_own_share(x[candidates])
        rows = _unsuspected(_worst(_Usual.fit(x, candidates, own).found), candidates, labels, share)
        lesson = _Lesson.fit(x, rows, own, labels, marked, rng)
        withheld = _score_without_own_label(lesson, x)  # by this fit: in the next each label says who is left out
        if (labels != UNLABELLED).any():
            rows = _unsuspected(_worst(lesson.weighed), candidates, labels, share)
            lesson = _Lesson.fit(x, rows, own, labels, marked, rng)
        usual, raw = lesson.usual, _worst(lesson.weighed)
        free = raw[labels == UNLABELLED] if (labels == UNLABELLED).any() else raw
        fitted = cls.from_arrays(
            {
                "means": usual.normal.means,
                "whitenings": usual.normal.whitenings,
                "factors": usual.factors,
                "powers": usual.powers,
                "leverage": np.array([usual.normal.leverage]),
                "members": fingerprints(x[rows]),
                "limit": np.array([np.quantile(lesson.weighed[rows].max(axis=1), QUIET)]),
                "foresight": np.array([judge_foresight(withheld, labels)]),
                "middle": np.array([free.mean()]),
                "spread": np.array([free.std() or 1.0]),
                "anomalous": lesson.anomalous.arms,
                "harmless": lesson.harmless.arms,
                "reach": np.array([lesson.reach]),
            }
        )
        return fitted, fitted._in_units(withheld)

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of patches (n, P, D)."""
        return self.score_maps(self.maps(x))

    def score_maps(self, maps: Floats) -> Floats:
        """Anomaly scores (n,) of pictures by their maps (n, P)."""
        return self._in_units(_worst(maps))

    def maps(self, x: Floats) -> Floats:
        """The distance (n, P) of each patch (n, P, D) from what is normal at its place, as examples weigh it.

        A picture that was fitted is measured by the others, wherever it stands now.
        """
        found, own = distances(fold(x), self.means, self.whitenings), self.knows(x)
        found[own] = without_itself(found[own], len(self.members), float(self.leverage[0]))
        return bring_to_scale(found, self.factors, self.powers) * self._weights(x)

    def knows(self, x: Floats) -> Booleans:
        """Which pictures (n,) were fitted."""
        return is_among(fingerprints(fold(x)), self.members)

    def space(self, x: Floats) -> Floats:
        """The mean (n, D) of the worst patches, as they lie around what is normal at their places."""
        x = fold(x)
        at = np.argpartition(-self.maps(x), min(WORST, x.shape[1]) - 1, axis=1)[:, :WORST]  # (n, WORST)
        return np.asarray(arms_at(self.means, self.whitenings, x, at).mean(axis=1))

    @property
    def trust(self) -> float:
        """From 0 where labels contradict it to 8 where it foretells every one; 3.4 where there are none."""
        return trust_in(float(self.foresight[0]))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The detector back from its arrays; older ones had no examples or scales, and knew pictures by their place."""
        none, same = np.zeros((0, arrays["means"].shape[-1]), np.float32), np.ones(len(arrays["means"]))
        older: dict[str, np.ndarray] = {
            "anomalous": none,
            "harmless": none,
            "factors": same,
            "powers": same,
            "reach": np.ones(1),
        }
        known = {} if arrays["members"].ndim == 2 else {"members": np.zeros((0, 2))}
        return super().from_arrays({**older, **arrays, **known})

    def _weights(self, x: Floats) -> Floats:
        normal = Gaussians(self.means, self.whitenings, float(self.leverage[0]))
        return weigh(normal, fold(x), self.anomalous, self.harmless, float(self.reach[0]))

    def _in_units(self, raw: Floats) -> Floats:
        return np.asarray((raw - self.middle) / self.spread)


@dataclass(frozen=True)
class _Usual:
    """What is normal at each place, and the distances (N, P) of the pool's pictures from it.

    Those of fitted rows are as if each had been left out. factors, powers: (P,) of the scale they were brought to.
    """

    normal: Gaussians
    found: Floats
    factors: Floats
    powers: Floats

    @classmethod
    def fit(cls, x: Floats, rows: Rows, own: float) -> _Usual:
        normal = fit_gaussians(x[rows], own)
        found = distances(x, normal.means, normal.whitenings)
        found[rows] = without_itself(found[rows], len(rows), normal.leverage)
        factors, powers = fit_scales(found[rows])
        return cls(normal, bring_to_scale(found, factors, powers), factors, powers)


@dataclass(frozen=True)
class _Lesson:
    """What is normal, examples of each label, and the distances (N, P) of the pool's pictures as these weigh them."""

    usual: _Usual
    anomalous: Examples
    harmless: Examples
    reach: float
    weighed: Floats

    @classmethod
    def fit(
        cls, x: Floats, rows: Rows, own: float, labels: Labels, marked: Booleans | None, rng: np.random.Generator
    ) -> _Lesson:
        """rows: those that are taken for normal."""
        usual = _Usual.fit(x, rows, own)
        normal, found = usual.normal, usual.found
        anomalous = find_examples(normal, x, found, labels, ANOMALY, marked, rng)
        harmless = find_examples(normal, x, found, labels, NORMAL, marked, rng)
        reach = ALIKE * _spread_below(_worst(found[rows]))
        weighed = np.asarray(found * weigh(normal, x, anomalous.arms, harmless.arms, reach))
        return cls(usual, anomalous, harmless, reach, weighed)


def _score_without_own_label(lesson: _Lesson, x: Floats) -> Floats:
    """Raw scores (N,) of labelled pictures as if each one's own label were not known; of others as they are without."""
    usual, examples = lesson.usual, (lesson.anomalous, lesson.harmless)
    raw = _worst(usual.found)
    for row in np.union1d(*(each.owners for each in examples)):
        arms = whiten(x[[row]], usual.normal.means, usual.normal.whitenings)
        anomalous, harmless = (each.arms[each.owners != row] for each in examples)
        raw[row] = _worst(usual.found[[row]] * weigh_arms(arms, anomalous, harmless, lesson.reach))[0]
    return raw


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


def _unsuspected(scores: Floats, rows: Rows, labels: Labels, share: float | None) -> Rows:
    """Of the fitted rows, those that the share leaves unsuspected; labelled normal ones in any case."""
    limit = np.quantile(scores[rows], 1 - min(max(share or 0.0, USUAL_SHARE), 0.5))
    kept = rows[(scores[rows] <= limit) | (labels[rows] == NORMAL)]
    return kept if len(kept) > 1 else rows


def _spread_below(scores: Floats) -> float:
    """How far the lower part of scores (n,) lies from their middle: a spread that anomalies do not widen."""
    return float(np.median(scores) - np.quantile(scores, 0.16))


def _worst(maps: Floats) -> Floats:
    """The logarithm (n,) of the mean of each picture's largest distances (n, P)."""
    n_worst = min(WORST, maps.shape[1])
    return np.asarray(np.log(-np.partition(-maps, n_worst - 1, axis=1)[:, :n_worst].mean(axis=1) + SMALLEST))
