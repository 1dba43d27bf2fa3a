"""Several runs trained as one model give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from soel.runs import learn_together, prepare_together
from soel.settings import AUTHORS, PAPER, Schedule
from tests.conftest import make_learner, make_toy


@pytest.mark.parametrize("profile", [AUTHORS, PAPER], ids=["authors", "paper"])
def test_runs_in_a_stack_match_runs_alone(profile: object) -> None:
    # Few epochs: beyond them rounding differences grow, as in any training.
    short = profile.with_parts()  # type: ignore[attr-defined]
    schedule = Schedule(3, 1e-3, step=short.tables.step, pseudo_labels=short.tables.pseudo_labels)
    short = type(short)("short", schedule, schedule, n_members=2)
    toys = [make_toy(seed) for seed in (0, 1, 2)]
    runs = [make_learner(short, toy.x, seed, contamination=0.1) for toy, seed in zip(toys, (10, 11, 12), strict=True)]
    learners, pools = [learner for learner, _ in runs], [pool for _, pool in runs]
    warm, labels = prepare_together(learners, pools), [toy.labels() for toy in toys]
    together = learn_together(learners, warm, pools, [[]] * 3, labels)
    for (learner, pool), toy, fitted in zip(runs, toys, together, strict=True):
        alone = learner.learn(learner.prepare(pool), pool, [], toy.labels())
        np.testing.assert_allclose(fitted.score(toy.x), alone.score(toy.x), atol=2e-3)
        states = [each.trained.model.notes()["generators"] for each in (fitted, alone)]
        assert states[0] == states[1]
