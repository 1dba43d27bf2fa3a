"""Models as arrays and JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel.assess.conformal import Reference
from soel.errors import SoelError
from soel.model import (
    DETECTOR,
    POOL_SCORES,
    Fitted,
    restore,
    state_of,
)
from soel.settings import PAPER
from tests.conftest import Sample, make_learner
from tests.variants import BESIDE_A_NETWORK

QUICK = replace(BESIDE_A_NETWORK, tables=replace(BESIDE_A_NETWORK.tables, epochs=2), n_members=2)
SHORT = replace(PAPER, tables=replace(PAPER.tables, epochs=2), n_members=2)


def fitted_with(profile: Any, toy: Sample) -> tuple[Any, Any, Fitted]:
    learner, pool = make_learner(profile, toy.x)
    return learner, pool, learner.learn(learner.prepare(pool), pool, [], toy.labels())


def test_a_reference_keeps_its_weights(toy: Sample) -> None:
    learner, _, fitted = fitted_with(QUICK, toy)
    weighed = replace(fitted, reference=Reference(np.array([1.0, 2.0]), np.array([1.0, 0.5])))
    restored = restore(*state_of(weighed), lambda: learner.new_model(6))
    assert isinstance(restored, Fitted)
    assert list(restored.reference.weights) == [1.0, 0.5]


def test_a_state_without_labels_holds_no_network(toy: Sample) -> None:
    learner, pool = make_learner(QUICK, toy.x)
    arrays, notes = state_of(learner.prepare(pool))
    assert notes["network"] is None
    assert all(name.startswith(DETECTOR) for name in arrays)
    assert "estimate" not in notes
    assert POOL_SCORES not in arrays


def test_training_goes_on_from_a_restored_network_as_from_the_first(toy: Sample) -> None:
    learner, pool = make_learner(SHORT, toy.x)
    warm = learner.prepare(pool)
    again = restore(*state_of(warm), lambda: learner.new_model(6))
    assert not isinstance(again, Fitted)
    one, other = (learner.learn(start, pool, [], toy.labels()) for start in (warm, again))
    np.testing.assert_array_equal(one.pool_scores, other.pool_scores)
    assert one.history == other.history


def test_an_unknown_detector_says_which_there_are(toy: Sample) -> None:
    _, _, fitted = fitted_with(QUICK, toy)
    arrays, notes = state_of(fitted)
    with pytest.raises(SoelError, match="neighbours"):
        restore(arrays, {**notes, "detector": "tea-leaves"}, lambda: pytest.fail("no network is made before"))
