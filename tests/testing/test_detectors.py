"""The detectors' kit finds out detectors that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest

from soel.detect.base import NOTHING, Detector, Options
from soel.testing import DETECTOR_LAWS, check_detector, detectors
from soel.testing.laws import Law
from soel.types import Floats, Labels
from tests.testing.broken import cases


@dataclass(frozen=True)
class Distance(Detector):
    """A right one: the distance from the middle of what is not labelled anomaly, more near anomalies."""

    name = "distance"

    centre: Floats
    anomalies: Floats
    normals: Floats
    middle: Floats
    spread: Floats

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        Options.read(options)
        kept = pool[labels != 1] if (labels != 1).any() else pool
        plain = cls(np.median(kept, axis=0), pool[labels == 1], pool[labels == 0], np.zeros(1), np.ones(1))
        scores = plain.score(pool)
        return replace(plain, middle=np.array([scores.mean()]), spread=np.array([scores.std() or 1.0]))

    def score(self, x: Floats) -> Floats:
        raw = np.linalg.norm(x - self.centre, axis=1)
        for rows, sign in ((self.anomalies, 2.0), (self.normals, -0.2)):
            for row in rows:
                raw = raw + sign * np.exp(-np.linalg.norm(x - row, axis=1))
        return np.asarray((raw - self.middle) / self.spread, np.float32)

    def space(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(**arrays)


class Nameless(Distance):
    name = ""


class Column(Distance):
    def score(self, x: Floats) -> Floats:
        return super().score(x)[:, None]


class Raw(Distance):
    def score(self, x: Floats) -> Floats:
        return 10 + super().score(x)


class UpsideDown(Distance):
    def score(self, x: Floats) -> Floats:
        return -super().score(x)


class Deaf(Distance):
    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        return super().fit(pool, np.full_like(labels, -1), seed, share, options)


class Restless(Distance):
    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        return super().fit(pool + 0.01 * np.random.default_rng().normal(size=pool.shape), labels, seed, share, options)


class Forgetful(Distance):
    def arrays(self) -> dict[str, np.ndarray]:
        return super().arrays() | {"spread": np.ones(1)}


class Ranking(Distance):
    def score(self, x: Floats) -> Floats:
        scores = super().score(x)
        return np.asarray((np.argsort(np.argsort(scores)) / len(scores) - 0.5) * 3.4)


class Flat(Distance):
    def space(self, x: Floats) -> Floats:
        return np.zeros((len(x), 2), np.float32)


class Scales(Distance):
    def score(self, x: Floats) -> Floats:
        found = super().score(x)
        x /= 2
        return found


class Divides(Distance):
    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        found = super().fit(pool, labels, seed, share, options)
        return replace(found, spread=np.array([pool.std(axis=0).mean()]))

    def score(self, x: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return super().score(x)


class AnyOption(Distance):
    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        return super().fit(pool, labels, seed, share)


BROKEN: dict[Law[Any], type[Detector]] = {
    detectors.check_name_and_version_are_declared: Nameless,
    detectors.check_scores_are_one_number_a_row: Column,
    detectors.check_scores_have_the_unit_of_the_pool: Raw,
    detectors.check_anomalies_score_higher: UpsideDown,
    detectors.check_labels_are_heeded: Deaf,
    detectors.check_seeding_is_idempotent: Restless,
    detectors.check_arrays_are_the_whole_detector: Forgetful,
    detectors.check_rows_do_not_meet: Ranking,
    detectors.check_space_is_one_point_a_row: Flat,
    detectors.check_pool_is_not_changed: Scales,
    detectors.check_odd_pools_are_no_trouble: Divides,
    detectors.check_unknown_options_are_refused: AnyOption,
}


@pytest.mark.parametrize(("law", "broken"), cases(DETECTOR_LAWS, BROKEN))
def test_each_law_finds_out_a_detector_that_breaks_it(law: Law[Any], broken: type[Detector]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(broken)
    law(Distance)


def test_the_kit_names_every_broken_law() -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 of 12 laws.*check_unknown_options_are_refused: .*ConfigError"):
        check_detector(AnyOption)
