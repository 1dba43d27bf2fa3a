"""Several runs trained as one model give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from soel.engines.local import LocalEngine
from soel.engines.together import learn_together, warm_up_together
from soel.profiles import AUTHORS, PAPER, Schedule
from soel.types import Estimate
from tests.conftest import make_toy


@pytest.mark.parametrize("profile", [AUTHORS, PAPER], ids=["authors", "paper"])
def test_runs_in_a_stack_match_runs_alone(profile: object) -> None:
    # Few epochs: beyond them rounding differences grow, as in any training.
    short = profile.with_parts()  # type: ignore[attr-defined]
    schedule = Schedule(3, 1e-3, step=short.tables.step, pseudo_labels=short.tables.pseudo_labels)
    short = type(short)("short", schedule, schedule, n_members=2)
    toys = [make_toy(seed) for seed in (0, 1, 2)]
    engines = [LocalEngine(short, seed) for seed in (10, 11, 12)]
    share = Estimate(0.1, 0.1, 0.1, "fixed")
    warm = warm_up_together(engines, [toy.x for toy in toys])
    labels = [toy.labels() for toy in toys]
    together = learn_together(engines, warm, [toy.x for toy in toys], labels, [share] * 3)
    for engine, toy, detector in zip(engines, toys, together, strict=True):
        alone = engine.learn(engine.warm_up(toy.x), toy.x, toy.labels(), share)
        np.testing.assert_allclose(detector.score(toy.x), alone.score(toy.x), atol=2e-3)
        assert detector.model.notes()["generators"] == alone.model.notes()["generators"]
