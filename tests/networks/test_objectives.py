"""Every objective in the registry keeps the kit's laws, and every backbone learns with it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from soel.networks import BACKBONES, losses
from soel.networks.objectives import OBJECTIVES
from soel.settings import PICTURE_BACKBONES, Profile, Schedule
from soel.testing import OBJECTIVE_LAWS
from soel.testing.laws import Law
from tests.conftest import Sample, make_learner

ROW_BACKBONES = [name for name in BACKBONES if name not in PICTURE_BACKBONES]
QUICK = Profile("quick", Schedule(3, 1e-3), Schedule(3, 1e-3))


@pytest.mark.parametrize("law", OBJECTIVE_LAWS)
@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_laws(name: str, law: Law[Any]) -> None:
    law(partial(OBJECTIVES.create, name))


@pytest.mark.parametrize("objective", list(OBJECTIVES))
@pytest.mark.parametrize("backbone", ROW_BACKBONES)
@pytest.mark.parametrize("step", ["summed", "split"])
def test_every_backbone_learns_with_every_objective(backbone: str, objective: str, step: str, toy: Sample) -> None:
    rule = "batch" if step == "split" else "epoch"
    schedule = Schedule(3, 1e-3, step=step, pseudo_labels=rule)  # type: ignore[arg-type]
    profile = Profile("quick", schedule, schedule, backbone=backbone, objective=objective)
    learner, pool = make_learner(profile, toy.x, contamination=0.1)
    warm = learner.prepare(pool)
    fitted = learner.learn(warm, pool, [], toy.labels())
    start, end = (model.trained.model.backbone for model in (warm, fitted))
    for (name, before), after in zip(start.named_parameters(), end.parameters(), strict=True):
        assert torch.isfinite(after).all(), name
        assert not torch.equal(before, after), f"{name} was not learnt"
    history = np.array(fitted.history)[:, 0]
    assert len(history) == 4  # one epoch of warm-up, three of this objective
    assert history[3] < history[1], "the loss does not fall"
    assert np.ptp(fitted.score(toy.x)) > 0


@pytest.mark.parametrize("objective", list(OBJECTIVES))
def test_labels_of_one_kind_are_heeded(objective: str, toy: Sample) -> None:
    rows = np.arange(0, 40, 4)
    learner, pool = make_learner(QUICK.with_parts(objective=objective), toy.x, contamination=0.1)
    warm, told = learner.prepare(pool), []
    for kind in (0, 1):
        labels = np.full(len(toy.x), -1, np.int8)
        labels[rows] = kind
        fitted = learner.learn(warm, pool, [], labels)
        told.append(losses(fitted.trained.model, toy.x[rows])[0].mean())
    if OBJECTIVES.get(objective).uses_labels:
        least = 1.0 if objective == "refinement" else 1.02  # refinement drops anomalies, the others learn them
        assert told[1] > least * told[0], "rows look as normal when they were called anomalies"
    else:
        assert told[1] == told[0]
