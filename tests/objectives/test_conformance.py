"""Laws of every objective in the registry, with every backbone."""

from __future__ import annotations

import numpy as np
import pytest

from soel.backbones import BACKBONES
from soel.engines.local import LocalEngine
from soel.objectives import OBJECTIVES
from soel.objectives.base import Objective
from soel.profiles import PICTURE_BACKBONES, Profile, Schedule
from soel.types import Estimate, ItemWeights, PoolView, RankedWeights
from tests.conftest import Sample

ROW_BACKBONES = [name for name in BACKBONES if name not in PICTURE_BACKBONES]
SHARE = Estimate(0.1, 0.1, 0.1, "fixed")
QUICK = Profile("quick", Schedule(3, 1e-3), Schedule(3, 1e-3))


def view_of(sample: Sample, labels: np.ndarray) -> PoolView:
    return PoolView(np.linalg.norm(sample.x, axis=1), sample.x, labels)


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_weights_are_finite_and_cover_their_rows(name: str, sample: Sample) -> None:
    objective: Objective = OBJECTIVES.create(name)
    labels = sample.labels()
    view = view_of(sample, labels)
    expected = {"labelled": len(view.labelled), "unlabelled": len(view.unlabelled)}
    if not objective.uses_labels:
        expected["unlabelled"] = len(view)
    for part in ("labelled", "unlabelled"):
        weights = getattr(objective, part)(view)
        if isinstance(weights, ItemWeights):
            assert len(weights.normal) == len(weights.anomaly) == expected[part]
            assert np.isfinite(weights.normal).all()
            assert (weights.normal >= 0).all()
            assert (weights.anomaly >= 0).all()
        else:
            assert weights is None or isinstance(weights, RankedWeights)


@pytest.mark.parametrize("objective", list(OBJECTIVES))
@pytest.mark.parametrize("backbone", ROW_BACKBONES)
@pytest.mark.parametrize("step", ["summed", "split"])
def test_every_backbone_learns_with_every_objective(backbone: str, objective: str, step: str, sample: Sample) -> None:
    rule = "batch" if step == "split" else "epoch"
    schedule = Schedule(3, 1e-3, step=step, pseudo_labels=rule)  # type: ignore[arg-type]
    profile = Profile("quick", schedule, schedule, backbone=backbone, objective=objective)
    engine = LocalEngine(profile, seed=0)
    warm = engine.warm_up(sample.x)
    detector = engine.learn(warm, sample.x, sample.labels(), SHARE)
    assert np.isfinite(detector.history).all()
    assert len(detector.history) == 4
    scores = detector.score(sample.x)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("objective", list(OBJECTIVES))
def test_labels_of_one_kind_are_enough(objective: str, kind: int, toy: Sample) -> None:
    labels = np.full(len(toy.x), -1, np.int8)
    labels[np.flatnonzero(toy.is_anomaly == kind)[:3]] = kind
    short = LocalEngine(QUICK.with_parts(objective=objective), seed=0)
    detector = short.learn(short.warm_up(toy.x), toy.x, labels, SHARE)
    assert np.isfinite(detector.score(toy.x)).all()


def test_equal_weight_of_the_two_means() -> None:
    labels = np.array([1, 0, -1, -1, -1], np.int8)
    view = PoolView(np.zeros(5), np.zeros((5, 1)), labels)
    weights = OBJECTIVES.create("one-class").labelled(view)
    np.testing.assert_array_equal(weights.normal, [0, 1])
    np.testing.assert_array_equal(weights.anomaly, [1, 0])


def test_refinement_worked_by_hand() -> None:
    # One normal at 0, one anomaly at 10, unlabelled at 0 and 10: leanings are -10, 10 over a spread of 20, times 10.
    view = PoolView(np.zeros(4), np.array([[0.0], [10.0], [0.0], [10.0]]), np.array([0, 1, -1, -1], np.int8))
    objective = OBJECTIVES.create("refinement")
    sigmoid = 1 / (1 + np.exp(5))
    np.testing.assert_allclose(objective.labelled(view).normal, [2 * sigmoid * 2 / 4, 0], rtol=1e-6)
    np.testing.assert_allclose(objective.unlabelled(view).normal, [(2 - 2 * sigmoid) / 2, 2 * sigmoid / 2], rtol=1e-5)
