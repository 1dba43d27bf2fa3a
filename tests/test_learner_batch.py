"""Several loops trained as one network give what each gives alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from soel import networks
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


def test_what_nobody_looks_at_is_not_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise AssertionError("a network was warmed up")

    monkeypatch.setattr(networks, "warm_up", fail)
    monkeypatch.setattr(networks, "fit", fail)
    learners, pools = runs(QUICK)
    warm = prepare_together(learners, pools)
    assert [start.network for start in warm] == [None] * N_RUNS
    free = [np.full(60, -1, np.int8)] * N_RUNS
    for fitted in learn_together(learners, warm, pools, [[]] * N_RUNS, free):
        assert fitted.network is None
        assert fitted.estimate.method == "assumed"


def test_networks_are_warmed_up_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    warm_up = networks.warm_up

    def counted(model: Any, rows: Any, schedule: Any) -> None:
        counts.append(model.n_members)
        warm_up(model, rows, schedule)

    monkeypatch.setattr(networks, "warm_up", counted)
    learners, pools = runs(QUICK)
    warm = prepare_together(learners, pools)
    learn_together(learners, warm, pools, [[]] * N_RUNS, LABELS)  # a detector asked the question, so they start here
    assert counts == [N_RUNS * 2]
    learners, pools = runs(SHORT)
    warm = prepare_together(learners, pools)
    learn_together(learners, warm, pools, [[]] * N_RUNS, LABELS)  # these have theirs from the start
    assert counts == [N_RUNS * 2] * 2


def test_one_run_is_the_loop_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    learn = Learner.learn

    def counted(*given: Any) -> Any:
        calls.append("learn")
        return learn(*given)

    monkeypatch.setattr(Learner, "learn", counted)
    learners, pools = runs(SHORT)
    (warm,) = prepare_together(learners[:1], pools[:1])
    (fitted,) = learn_together(learners[:1], [warm], pools[:1], [[]], LABELS[:1])
    assert calls == ["learn"]
    alone = learn(learners[0], learners[0].prepare(pools[0]), pools[0], [], LABELS[0])
    np.testing.assert_array_equal(fitted.pool_scores, alone.pool_scores)


def test_each_run_s_rows_stand_once_for_each_of_its_members() -> None:
    learners, pools = runs(SHORT)
    stack = _Stack(learners, pools)
    assert stack.rows.shape == (6, 60, 6)
    for member, toy in enumerate(np.repeat(np.arange(N_RUNS), 2)):
        np.testing.assert_array_equal(stack.rows[member], TOYS[toy].x)


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
