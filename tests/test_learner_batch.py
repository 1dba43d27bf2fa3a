"""Several loops trained as one network give what each gives alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel.learner import Learner
from soel.settings import PAPER, Profile
from soel.types import Pool
from soel_paper.experiment import _Stack, learn_together, prepare_together
from tests.conftest import make_learner, make_toy
from tests.variants import BESIDE_A_NETWORK

QUICK = replace(BESIDE_A_NETWORK, tables=replace(BESIDE_A_NETWORK.tables, epochs=2), n_members=2)
SHORT = replace(PAPER, tables=replace(PAPER.tables, epochs=2), n_members=2)
N_RUNS = 3
TOYS = [make_toy(seed, n_rows=60, n_anomalies=6) for seed in range(N_RUNS)]
LABELS = [toy.labels() for toy in TOYS]


def runs(profile: Profile) -> tuple[list[Learner], list[Pool]]:
    pairs = [make_learner(profile, toy.x, seed) for seed, toy in enumerate(TOYS)]
    return [learner for learner, _ in pairs], [pool for _, pool in pairs]


@pytest.mark.parametrize("profile", [QUICK, SHORT], ids=["with a detector", "a network alone"])
def test_together_as_alone(profile: Profile) -> None:
    learners, pools = runs(profile)
    warm = prepare_together(learners, pools)
    evidence = [
        each.evidence(start, pool, known)
        for each, start, pool, known in zip(learners, warm, pools, LABELS, strict=True)
    ]
    together = learn_together(learners, warm, pools, evidence, LABELS)
    for learner, pool, start, seen, known, toy, found in zip(
        learners, pools, warm, evidence, LABELS, TOYS, together, strict=True
    ):
        begun = learner.prepare(pool)
        np.testing.assert_allclose(start.score(toy.x), begun.score(toy.x), atol=1e-4)
        alone = learner.learn(begun, pool, seen, known)
        np.testing.assert_allclose(found.pool_scores, alone.pool_scores, atol=1e-3)
        assert found.estimate == alone.estimate
        assert found.threshold == pytest.approx(alone.threshold, abs=1e-3)


def test_joining_and_taking_apart_changes_nothing() -> None:
    learners, pools = runs(SHORT)
    models = [learner.new_network(pool).model for learner, pool in zip(learners, pools, strict=True)]
    stack = _Stack(learners, pools)
    joined = stack.join(models)
    assert joined.n_members == 6
    for before, after in zip(models, stack.split(joined), strict=True):
        assert after.history == before.history
        assert same(after.tensors(), before.tensors())
        assert [rng.bit_generator.state for rng in after.rngs] == [rng.bit_generator.state for rng in before.rngs]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    names: Sequence[str] = sorted(one)
    return names == sorted(other) and all(one[name].equal(other[name]) for name in names)
