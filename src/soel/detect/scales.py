"""Patches at two scales: what coarser and what finer layers say about a place, each judged by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from soel.detect.detector import NOTHING, PlaceDetector
from soel.detect.foresight import judge_foresight, trust_in
from soel.detect.patches import QUIET, Patches, fold
from soel.numeric import single_threaded_blas
from soel.types import UNLABELLED, Booleans, Floats, Labels, within

COARSE = 128  # the first values of a patch, from coarser layers; the rest is from finer ones
PARTS = ("coarse.", "fine.")  # as arrays are named
COUNTS = 2.0, 1.0  # of each before any label, as benchmarks/choices.md says


@dataclass(frozen=True)
class Scales(PlaceDetector):
    """One detector of patches for coarser layers, one for finer ones; rows (N, P, D).

    Finer layers see small defects in a quiet surface, coarser ones see what is unusual in a restless one. Which of them
    a pool needs shows with labels: each counts by how well it foretells those that it was not told. Without labels the
    coarser ones count double. Rows of 128 values or fewer have no finer part. The score is the weighted mean of both
    scores in units of its spread over the pool; the map that of both maps, each in units of its own limit.
    """

    name = "scales"
    version = 3

    parts: tuple[Patches, ...]
    shares: Floats  # (B,) how much each counts, 1 together
    limit: Floats  # (1,) of maps, that no place of most unsuspected pictures exceeds
    foresight: Floats  # (1,) the chance that a labelled anomaly lies above a labelled normal picture
    middle: Floats  # (1,) the pool's mean before it is moved to 0
    spread: Floats  # (1,) and its standard deviation

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
    ) -> Scales:
        """From patches (N, P, D), their labels (N,) and the estimated share; all chance comes from the seed."""
        told = [Patches.fit_and_withhold(x, labels, seed, share, options, marked) for x in _split(pool)]
        parts = tuple(part for part, _ in told)
        shares = _share_out([part.trust for part in parts])
        withheld = np.asarray(sum(own * scores for own, (_, scores) in zip(shares, told, strict=True)))
        foresight, one = judge_foresight(withheld, labels), np.ones(1)
        plain = cls(parts, shares, one, np.array([foresight]), 0 * one, one)
        maps = [part.maps(x) for part, x in zip(parts, _split(pool), strict=True)]
        raw = plain._mean([part.score_maps(own) for part, own in zip(parts, maps, strict=True)])
        free = raw[labels == UNLABELLED] if (labels == UNLABELLED).any() else raw
        usual = np.all([part.knows(x) for part, x in zip(parts, _split(pool), strict=True)], axis=0)
        highest = plain._mean([own / part.limit for part, own in zip(parts, maps, strict=True)]).max(axis=1)
        limit = np.quantile(highest[usual] if usual.any() else highest, QUIET)
        centre = np.array([free.mean()]), np.array([free.std() or 1.0])
        return cls.from_arrays(cls(parts, shares, np.array([limit]), np.array([foresight]), *centre).arrays())

    @single_threaded_blas()
    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of patches (n, P, D)."""
        return self._in_units([part.score(each) for part, each in zip(self.parts, _split(x), strict=True)])

    @single_threaded_blas()
    def maps(self, x: Floats) -> Floats:
        """How unusual each place is (n, P), of patches (n, P, D); a fitted picture is measured by the others."""
        return self._mean([part.maps(each) / part.limit for part, each in zip(self.parts, _split(x), strict=True)])

    @single_threaded_blas()
    def space(self, x: Floats) -> Floats:
        """The worst patches (n, D) of each scale, side by side."""
        return np.hstack([part.space(each) for part, each in zip(self.parts, _split(x), strict=True)])

    @property
    def trust(self) -> float:
        """From 0 where labels contradict it to 8 where it foretells every one; 3.4 where there are none."""
        return trust_in(float(self.foresight[0]))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything it has learnt, by name."""
        own = {name: getattr(self, name) for name in ("shares", "limit", "foresight", "middle", "spread")}
        found = {name: np.asarray(array, np.float32) for name, array in own.items()}
        for prefix, part in zip(PARTS, self.parts, strict=False):
            found |= {prefix + name: array for name, array in part.arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The detector back from its arrays."""
        kept = [within(arrays, prefix) for prefix in PARTS]
        own = {name: np.asarray(array, np.float32) for name, array in arrays.items() if "." not in name}
        return cls(parts=tuple(Patches.from_arrays(each) for each in kept if each), **own)

    def _in_units(self, scores: list[Floats]) -> Floats:
        return np.asarray((self._mean(scores) - self.middle) / self.spread)

    def _mean(self, found: list[Floats]) -> Floats:
        return np.asarray(sum(share * each for share, each in zip(self.shares, found, strict=True)))


def _split(x: Floats) -> list[Floats]:
    """Patches (n, P, D) as those of coarser and of finer layers; the latter where there are any."""
    x = fold(x)
    return [x[..., :COARSE], x[..., COARSE:]] if x.shape[-1] > COARSE else [x]


def _share_out(trusts: list[float]) -> Floats:
    """How much each part counts (B,), 1 together: by trust, and as before any label where there is none."""
    told = np.array(COUNTS[: len(trusts)]) * (trusts if sum(trusts) > 0 else 1)
    return np.asarray(told / told.sum())
