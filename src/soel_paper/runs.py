"""Several runs of one shape trained as one network: seeds of an experiment cost little more than one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soel import networks
from soel.learner import Learner
from soel.model import Blend, Fitted, TrainedNetwork
from soel.types import Evidence, Labels, Pool

if TYPE_CHECKING:
    from soel.networks import Model


def prepare_together(learners: Sequence[Learner], pools: Sequence[Pool]) -> list[Blend]:
    """What `learner.prepare(pool)` gives for each run, up to rounding. Pools: one shape."""
    starts: Sequence[TrainedNetwork | None] = [None] * len(learners)
    if learners[0].starts_with_network:
        starts = _new_networks(learners, pools)
    return [learner.warm(pool, start) for learner, pool, start in zip(learners, pools, starts, strict=True)]


def learn_together(
    learners: Sequence[Learner],
    warm: Sequence[Blend],
    pools: Sequence[Pool],
    rounds: Sequence[Sequence[Evidence]],
    labels: Sequence[Labels],
) -> list[Fitted]:
    """What `learner.learn(...)` gives for each run, up to rounding. All with the same number of labels."""
    runs = list(zip(learners, warm, pools, rounds, labels, strict=True))
    if len(runs) == 1 or not learners[0].uses_network(labels[0]):
        return [learner.learn(start, pool, rounds, known) for learner, start, pool, rounds, known in runs]
    starts = [each.network for each in warm]
    warm_networks = [start for start in starts if start is not None]
    if len(warm_networks) < len(starts):
        warm_networks = _new_networks(learners, pools)
    stack = _Stack(learners, pools)
    estimates = [learner.estimate(rounds) for learner, _, _, rounds, _ in runs]
    each = [
        learner.task(start, pool, known, share)
        for (learner, start, pool, _, known), share in zip(runs, estimates, strict=True)
    ]
    tasks = [task for task in each for _ in range(learners[0].profile.n_members)]
    model = stack.join([network.model for network in warm_networks])
    networks.fit(model, stack.rows, tasks, learners[0].profile.schedule, learners[0].objective.always_summed)
    trained = zip(stack.split(model), runs, estimates, strict=True)
    return [learner.finish(part, pool, known, share) for part, (learner, _, pool, _, known), share in trained]


def _new_networks(learners: Sequence[Learner], pools: Sequence[Pool]) -> list[TrainedNetwork]:
    """What `learner.new_network(pool)` gives for each run."""
    if len(learners) == 1:
        return [learners[0].new_network(pools[0])]
    stack = _Stack(learners, pools)
    model = stack.join([learner.new_model(stack.n_features) for learner in learners])
    networks.warm_up(model, stack.rows, learners[0].profile.schedule)
    trained = zip(learners, stack.split(model), pools, strict=True)
    return [TrainedNetwork.measured(part, networks.losses(part, pool.rows)[0]) for learner, part, pool in trained]


class _Stack:
    """The shape that the runs share. rows: (S, N, d), each run's once for each of its members."""

    def __init__(self, learners: Sequence[Learner], pools: Sequence[Pool]) -> None:
        self.learner, self.n_runs = learners[0], len(learners)
        self.n_features = pools[0].n_features
        self.rows = np.repeat(np.stack([pool.rows for pool in pools]), self.learner.profile.n_members, axis=0)

    def join(self, models: Sequence[Model]) -> Model:
        return networks.join(models, self._make)

    def split(self, model: Model) -> list[Model]:
        return networks.split(model, self.n_runs, self._make)

    def _make(self, n_members: int) -> Model:
        return self.learner.new_model(self.n_features, n_members)
