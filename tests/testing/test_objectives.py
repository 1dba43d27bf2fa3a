"""The objectives' kit finds out objectives that are wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from soel.networks.objectives import AllNormal, Objective, OneClass, SoelObjective, Supervised, all_on_normal, answered
from soel.testing import OBJECTIVE_LAWS, check_objective, objectives
from soel.testing.laws import Law
from soel.types import ItemWeights, PoolView, RankedWeights
from tests.testing.broken import cases


class OneTooMany(OneClass):
    def unlabelled(self, view: PoolView) -> ItemWeights:
        return all_on_normal(len(view))


class Negative(OneClass):
    def labelled(self, view: PoolView) -> ItemWeights:
        plain = answered(view)
        return ItemWeights(plain.normal - plain.anomaly, plain.anomaly)


class Idle(Supervised):
    def labelled(self, view: PoolView) -> ItemWeights:
        nothing = np.zeros(len(view.labelled), np.float32)
        return ItemWeights(nothing, nothing)


class MoreThanAll(SoelObjective):
    def unlabelled(self, view: PoolView) -> RankedWeights:
        return RankedWeights(0.5, anomaly_share=1.5)


class Mistrustful(OneClass):
    def labelled(self, view: PoolView) -> ItemWeights:
        plain = answered(view)
        return ItemWeights(plain.anomaly, plain.normal)


class SecretListener(AllNormal):
    def unlabelled(self, view: PoolView) -> ItemWeights:
        weights = all_on_normal(len(view))
        weights.normal[view.labels == 1] = 0
        return weights


class SecretViewer(OneClass):
    def unlabelled(self, view: PoolView) -> ItemWeights:
        weights = all_on_normal(len(view.unlabelled))
        return ItemWeights(weights.normal * (view.scores[view.unlabelled] < 2), weights.anomaly)


class Moody(OneClass):
    def unlabelled(self, view: PoolView) -> ItemWeights:
        return ItemWeights(np.random.default_rng().random(len(view.unlabelled)), np.zeros(len(view.unlabelled)))


class Writes(OneClass):
    def labelled(self, view: PoolView) -> ItemWeights:
        view.embeddings[:] -= view.embeddings.mean(axis=0)
        return super().labelled(view)


BROKEN: dict[Law[Any], Callable[[], Objective]] = {
    objectives.check_weights_cover_their_rows: OneTooMany,
    objectives.check_something_is_learnt: Idle,
    objectives.check_ranked_weights_are_shares: MoreThanAll,
    objectives.check_answers_are_not_contradicted: Mistrustful,
    objectives.check_labels_are_used_only_where_declared: SecretListener,
    objectives.check_embeddings_are_used_only_where_declared: SecretViewer,
    objectives.check_weighing_is_idempotent: Moody,
    objectives.check_view_is_not_changed: Writes,
}


@pytest.mark.parametrize(("law", "broken"), cases(OBJECTIVE_LAWS, BROKEN))
def test_each_law_finds_out_an_objective_that_breaks_it(law: Law[Any], broken: Callable[[], Objective]) -> None:
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        law(broken)
    for sound in (OneClass, SoelObjective, AllNormal):
        law(sound)


def test_weights_below_zero_are_found_out() -> None:
    with pytest.raises(AssertionError, match="finite and at least 0"):
        objectives.check_weights_cover_their_rows(Negative)


def test_the_kit_names_every_broken_law() -> None:
    with pytest.raises(AssertionError, match=r"(?s)1 of 8 laws.*check_answers_are_not_contradicted: .* weighs on L"):
        check_objective(Mistrustful)
