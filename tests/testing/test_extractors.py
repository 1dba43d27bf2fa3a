"""The extractors' kit finds out extractors that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soel.images.extractors import Extractor, OwnExtractor, Pictures
from soel.testing import EXTRACTOR_LAWS, check_extractor, extractors
from soel.testing.laws import Law
from soel.types import Floats
from tests.testing.broken import cases


class Colours:
    """A right one: the mean of each colour."""

    name, size, fingerprint = "colours", 8, "1"

    def features(self, pictures: Pictures) -> Floats:
        return np.asarray(pictures.mean(axis=(1, 2)), np.float32)


class OneForAll(Colours):
    def features(self, pictures: Pictures) -> Floats:
        return np.asarray(super().features(pictures).mean(axis=0))


class Blind(Colours):
    def features(self, pictures: Pictures) -> Floats:
        return np.ones((len(pictures), 3), np.float32)


class Normed(Colours):
    """Batch statistics where running ones belong."""

    def features(self, pictures: Pictures) -> Floats:
        found = super().features(pictures)
        return np.asarray(found - found.mean(axis=0) + np.arange(3))


class Untrained(Colours):
    """Other weights each time it is made."""

    def __init__(self) -> None:
        self.weights = np.random.default_rng().normal(size=(3, 3))

    def features(self, pictures: Pictures) -> Floats:
        return np.asarray(super().features(pictures) @ self.weights)


class Writes(Colours):
    def features(self, pictures: Pictures) -> Floats:
        found = super().features(pictures)
        pictures //= 2
        return found


class Renamed(Colours):
    def __init__(self) -> None:
        self.fingerprint = str(id(self))
        KEPT.append(self)


KEPT: list[Renamed] = []  # so that no two have the same address

BROKEN: dict[Law[Any], Callable[[], Extractor]] = {
    extractors.check_features_are_one_vector_a_picture: OneForAll,
    extractors.check_features_tell_pictures_apart: Blind,
    extractors.check_pictures_do_not_meet: Normed,
    extractors.check_extracting_is_idempotent: Untrained,
    extractors.check_pictures_are_not_changed: Writes,
    extractors.check_identity_is_stable: Renamed,
}


@pytest.mark.parametrize(("law", "broken"), cases(EXTRACTOR_LAWS, BROKEN))
def test_each_law_finds_out_an_extractor_that_breaks_it(law: Law[Any], broken: Callable[[], Extractor]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(broken)
    law(Colours)


def test_a_callable_is_held_to_the_same_laws() -> None:
    check_extractor(lambda: OwnExtractor(lambda picture: picture.mean(axis=(0, 1)), size=8))
    with pytest.raises(AssertionError, match=r"(?s)1 of 6 laws.*check_features_tell_pictures_apart"):
        check_extractor(Blind)
