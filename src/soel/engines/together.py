"""Several runs of the same shape, computed as one batched model: seeds of an experiment cost little more than one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.engines.detector import Detector
from soel.engines.local import LocalEngine
from soel.training import Model, fit, warm_up
from soel.training.stack import join, split
from soel.types import UNLABELLED, Estimate, Floats, Labels


def warm_up_together(engines: Sequence[LocalEngine], pools: Sequence[Floats]) -> list[Detector]:
    """What `engine.warm_up(pool)` gives for each run, up to rounding. Pools: (N, d) each, one shape."""
    if len(engines) == 1:
        return [engines[0].warm_up(pools[0])]
    stack = _Stack(engines, pools)
    model = stack.join([engine.new_model(stack.n_features) for engine in engines])
    warm_up(model, stack.pool, stack.schedule)
    unlabelled = np.full(len(pools[0]), UNLABELLED, np.int8)
    trained = zip(engines, stack.split(model), pools, strict=True)
    return [engine.dressed(part, pool, unlabelled) for engine, part, pool in trained]


def learn_together(
    engines: Sequence[LocalEngine],
    warm: Sequence[Detector],
    pools: Sequence[Floats],
    labels: Sequence[Labels],
    estimates: Sequence[Estimate],
) -> list[Detector]:
    """What `engine.learn(...)` gives for each run, up to rounding. All with the same number of labels."""
    if len(engines) == 1:
        return [engines[0].learn(warm[0], pools[0], labels[0], estimates[0])]
    stack = _Stack(engines, pools)
    runs = list(zip(engines, warm, pools, labels, estimates, strict=True))
    each = [engine.task(start, pool, known, share) for engine, start, pool, known, share in runs]
    tasks = [task for task in each for _ in range(stack.engine.profile.n_members)]
    model = stack.join([detector.model for detector in warm])
    fit(model, stack.pool, tasks, stack.schedule, engines[0].objective.always_summed)
    trained = zip(stack.split(model), runs, strict=True)
    return [
        engine.decide(engine.dressed(part, pool, known, share.value), known, share)
        for part, (engine, _, pool, known, share) in trained
    ]


class _Stack:
    """The shape that the runs share."""

    def __init__(self, engines: Sequence[LocalEngine], pools: Sequence[Floats]) -> None:
        self.engine, self.n_runs = engines[0], len(engines)
        self.n_features = pools[0].shape[1]
        self.schedule = self.engine.profile.schedule(self.n_features)
        self.pool = np.repeat(np.stack(pools), self.engine.profile.n_members, axis=0)  # (S, N, d)

    def join(self, models: Sequence[Model]) -> Model:
        return join(models, self._make)

    def split(self, model: Model) -> list[Model]:
        return split(model, self.n_runs, self._make)

    def _make(self, n_members: int) -> Model:
        return self.engine.new_model(self.n_features, n_members)
