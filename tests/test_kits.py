"""Each kit of `soel.testing` names the law that a part breaks; the parts of the package pass in their own tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from soel import testing
from soel.ask.strategy import Strategy, certain
from soel.detect.neighbours import Neighbours
from soel.networks.base import Pair
from soel.networks.objectives import SoelObjective
from soel.networks.row_networks import Autoencoder
from soel.types import Estimate, Evidence, Floats, ItemWeights, PoolView, Selection


class AsksAgain(Strategy):
    """Picks rows that have a label."""

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        return certain(np.arange(n_rows))


class TurnedRound(Neighbours):
    """The sign of its scores is wrong."""

    name = "turned-round"

    def score(self, x: Floats) -> Floats:
        return -super().score(x)


class Contradicts(SoelObjective):
    """Takes what is labelled normal for an anomaly."""

    def labelled(self, view: PoolView) -> ItemWeights:
        n = len(view.labelled)
        return ItemWeights(normal=np.zeros(n, np.float32), anomaly=np.ones(n, np.float32))


class Deaf:
    """Says the same whatever was answered."""

    reads_scores = False

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        return Estimate(0.5, 0.4, 0.6, "deaf")


class Mixing(Autoencoder):
    """The members' mean instead of each one's own."""

    def losses(self, x: Tensor) -> Pair:
        l0, l1 = super().losses(x)
        return (l0 + l0.mean(dim=0)) / 2, l1


class Sorts(Neighbours):
    """Puts the rows that it is given in another order."""

    name = "sorts"

    def score(self, x: Floats) -> Floats:
        x.sort(axis=0)
        return super().score(x)


class Blank:
    """All pictures have the same features."""

    name, size, fingerprint = "blank", 8, "0"

    def features(self, pictures: np.ndarray) -> Floats:
        return np.ones((len(pictures), 3), np.float32)


@pytest.mark.parametrize(
    ("check", "part", "law"),
    [
        (testing.check_strategy, AsksAgain, "check_rows_are_distinct_and_unlabelled"),
        (testing.check_detector, TurnedRound, "check_anomalies_score_higher"),
        (testing.check_detector, Sorts, "check_fits_repeat"),
        (testing.check_objective, Contradicts, "check_answers_are_not_contradicted"),
        (testing.check_contamination_estimator, Deaf, "check_every_round_counts"),
        (testing.check_backbone, Mixing, "check_members_never_mix"),
        (testing.check_extractor, Blank, "check_features_tell_pictures_apart"),
    ],
)
def test_a_part_that_breaks_a_law_is_named(check: Callable[[Any], None], part: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=rf"laws are broken:\n(.*\n)*{law}: "):
        check(part)
