"""Models as arrays and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel.assess.calibration import Calibration
from soel.assess.conformal import Reference
from soel.errors import SoelError
from soel.model import (
    DETECTOR,
    NETWORK,
    POOL_LABELS,
    POOL_SCORES,
    REFERENCE,
    REFERENCE_WEIGHTS,
    Fitted,
    restore,
    state_of,
)
from soel.settings import PAPER
from soel.types import UNLABELLED, Estimate
from tests.conftest import Sample, make_learner
from tests.variants import BESIDE_A_NETWORK

QUICK = replace(BESIDE_A_NETWORK, tables=replace(BESIDE_A_NETWORK.tables, epochs=2), n_members=2)
SHORT = replace(PAPER, tables=replace(PAPER.tables, epochs=2), n_members=2)

NO_LABELS = np.zeros(0, np.int8)


def fitted_with(profile: Any, toy: Sample) -> tuple[Any, Any, Fitted]:
    learner, pool = make_learner(profile, toy.x)
    return learner, pool, learner.learn(learner.prepare(pool), pool, [], toy.labels())


def test_what_a_state_holds(toy: Sample) -> None:
    _, _, fitted = fitted_with(QUICK, toy)
    arrays, notes = state_of(fitted)
    beside = (POOL_SCORES, POOL_LABELS, REFERENCE, REFERENCE_WEIGHTS)
    assert {name.split(".")[0] + "." for name in arrays if name not in beside} == {DETECTOR, NETWORK}
    assert arrays[POOL_SCORES].dtype == np.float64
    assert notes["detector"] == "neighbours"
    assert notes["threshold"] == fitted.threshold
    assert notes["estimate"]["value"] == fitted.estimate.value
    assert notes["deep_weight"] == QUICK.tables.deep_weight
    assert json.loads(json.dumps(notes)) == notes  # plain values


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


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(-1e6, 1e6))
def test_an_alarm_is_a_score_above_the_threshold(scores: list[float], threshold: float) -> None:
    fitted = Fitted(
        detector=None,
        estimate=Estimate(0.1, 0, 1, "fixed"),
        threshold=threshold,
        calibration=Calibration(1, 0),
        pool_scores=np.zeros(0),
        pool_labels=np.zeros(0, np.int8),
        reference=Reference.none(),
    )
    assert fitted.alarms(np.array(scores)).tolist() == [score > threshold for score in scores]


@pytest.mark.parametrize("known", [0, 3])
def test_the_rule_for_the_seed_is_the_seed_and_how_many_labels_are_known(known: int, toy: Sample) -> None:
    learner, pool = make_learner(QUICK, toy.x, seed=5)
    labels = np.full(200, UNLABELLED, np.int8)
    labels[:known] = 0
    proposal = learner.propose(learner.prepare(pool), pool, labels, 2)
    assert proposal.seed == (5, known)
    again = learner.propose(learner.prepare(pool), pool, labels, 2, seed=[5, known])
    assert again.rows.tolist() == proposal.rows.tolist()


def test_kept_scores_are_not_computed_again(toy: Sample) -> None:
    learner, pool, fitted = fitted_with(QUICK, toy)
    told = replace(fitted, pool_scores=np.arange(200.0))
    np.testing.assert_array_equal(learner.look(told, pool)[0], np.arange(200.0))
    np.testing.assert_array_equal(learner.look(replace(told, pool_scores=np.zeros(0)), pool)[0], fitted.score(toy.x))
