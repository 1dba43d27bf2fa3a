"""Every objective: the kit's laws, laws of any pool, weights by hand, and every backbone learns with it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from soel.networks import BACKBONES, losses
from soel.networks.objectives import OBJECTIVES
from soel.settings import PICTURE_BACKBONES, Profile, Schedule
from soel.testing import OBJECTIVE_LAWS
from soel.testing.laws import Law
from soel.types import Floats, ItemWeights, PoolView, RankedWeights
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


@st.composite
def views(draw: st.DrawFn) -> PoolView:
    n_rows = draw(st.integers(4, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    labels = np.full(n_rows, -1, np.int8)
    known = draw(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=n_rows - 1))
    labels[rng.choice(n_rows, len(known), replace=False)] = known
    return PoolView(rng.normal(size=n_rows), rng.normal(size=(n_rows, 2)).astype(np.float32), labels, 0.1)


def of(name: str, part: str, view: PoolView) -> ItemWeights:
    found = getattr(OBJECTIVES.create(name), part)(view)
    assert isinstance(found, ItemWeights)
    return found


@pytest.mark.parametrize("name", ["refinement", "neighbour-labels"])
@given(view=views(), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_plays_no_part(name: str, view: PoolView, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(view))
    moved = PoolView(view.scores[order], view.embeddings[order], view.labels[order], view.contamination)
    plain = dict(zip(view.unlabelled.tolist(), of(name, "unlabelled", view).normal.tolist(), strict=True))
    again = dict(zip(order[moved.unlabelled].tolist(), of(name, "unlabelled", moved).normal.tolist(), strict=True))
    assert plain.keys() == again.keys()
    np.testing.assert_allclose([again[row] for row in plain], list(plain.values()), atol=1e-5)


@given(view=views())
@settings(max_examples=25, deadline=None)
def test_refinement_never_teaches_an_anomaly(view: PoolView) -> None:
    known = of("refinement", "labelled", view)
    assert not known.anomaly.any()
    assert not known.normal[view.labels[view.labelled] == 1].any()
    assert (known.normal <= 2 * len(view.labelled) / len(view) + 1e-6).all()
    assert (of("refinement", "unlabelled", view).normal <= 2 * len(view.unlabelled) / len(view) + 1e-6).all()


def view_of(x: Floats, labels: list[int]) -> PoolView:
    return PoolView(np.zeros(len(x)), np.asarray(x, np.float32), np.array(labels, np.int8))


def test_a_gaussian_process_is_the_same_at_any_scale() -> None:
    x = np.random.default_rng(0).normal(size=(12, 2))
    labels = [0, 0, 0, 1, 1] + [-1] * 7
    small, large = (OBJECTIVES.create("gaussian-process-labels").unlabelled(view_of(s * x, labels)) for s in (1, 1000))
    assert small.anomaly.tolist() == large.anomaly.tolist()


def test_labelled_rows_that_are_one_point_are_no_trouble() -> None:
    x = np.array([[1.0], [1.0], [1.0], [5.0]])
    found = OBJECTIVES.create("gaussian-process-labels").unlabelled(view_of(x, [0, 0, 1, -1]))
    assert set(found.anomaly.tolist()) <= {0.0, 1.0}
    assert found.normal.tolist() == [1 - found.anomaly[0]]


# Two groups on a line: rows 0, 1, 4 near 0 and rows 2, 3, 5 near 10. Row 0 is labelled normal, row 2 anomaly.
X = np.array([[0.0], [1.0], [10.0], [9.0], [2.0], [12.0]], np.float32)
LABELS = np.array([0, -1, 1, -1, -1, -1], np.int8)
VIEW = PoolView(np.zeros(6), X, LABELS)


def weights(name: str, part: str, view: PoolView = VIEW, **options: float) -> ItemWeights:
    found = getattr(OBJECTIVES.create(name, **options), part)(view)
    assert isinstance(found, ItemWeights)
    return found


@pytest.mark.parametrize(
    ("name", "options", "rule"),
    [
        ("soel", {}, RankedWeights(0.5, None, None, 1.0)),
        ("soel", {"pseudo_label": 0.7, "unlabelled_weight": 2.0}, RankedWeights(0.7, None, None, 2.0)),
        ("loe-soft", {}, RankedWeights(0.5, None, None, 1.0)),
        ("loe-hard", {}, RankedWeights(1.0, None, None, 1.0)),
    ],
)
def test_ranked_rules(name: str, options: dict[str, float], rule: RankedWeights) -> None:
    assert OBJECTIVES.create(name, **options).unlabelled(VIEW) == rule


def test_neighbours_pass_on_their_labels() -> None:
    found = weights("neighbour-labels", "unlabelled")  # rows 1, 3, 4, 5
    assert found.anomaly.tolist() == [0, 1, 0, 1]
    assert found.normal.tolist() == [1, 0, 1, 0]


def test_a_gaussian_process_calls_rows_after_the_nearer_label() -> None:
    found = weights("gaussian-process-labels", "unlabelled")
    assert found.anomaly.tolist() == [0, 1, 0, 1]
    assert found.normal.tolist() == [1, 0, 1, 0]


def test_the_process_reaches_as_far_as_labels_lie_apart() -> None:
    # Three normals and two anomalies: distances between labels are 1 and 100 (the median), so one far label is heard.
    x = np.array([[0.0], [1.0], [100.0], [101.0], [2.0], [80.0], [30.0]], np.float32)
    view = PoolView(np.zeros(7), x, np.array([0, 0, 1, 1, 0, -1, -1], np.int8))
    assert weights("gaussian-process-labels", "unlabelled", view).anomaly.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["neighbour-labels", "gaussian-process-labels"])
@pytest.mark.parametrize("kind", [0, 1])
def test_one_kind_of_label_is_everyone_s(name: str, kind: int) -> None:
    labels = np.where(LABELS == -1, LABELS, kind).astype(np.int8)
    found = weights(name, "unlabelled", PoolView(np.zeros(6), X, labels))
    assert found.anomaly.tolist() == [kind] * 4
    assert found.normal.tolist() == [1 - kind] * 4


def test_refinement_worked_by_hand() -> None:
    # One normal at 0, one anomaly at 10, unlabelled at 0 and 10: leanings are -10, 10 over a spread of 20, times 10.
    view = PoolView(np.zeros(4), np.array([[0.0], [10.0], [0.0], [10.0]]), np.array([0, 1, -1, -1], np.int8))
    sigmoid = 1 / (1 + np.exp(5))
    known, rest = weights("refinement", "labelled", view), weights("refinement", "unlabelled", view)
    np.testing.assert_allclose(known.normal, [2 * sigmoid * 2 / 4, 0], rtol=1e-6)
    np.testing.assert_allclose(rest.normal, [(2 - 2 * sigmoid) / 2, 2 * sigmoid / 2], rtol=1e-5)
    assert not known.anomaly.any()
    assert not rest.anomaly.any()


@pytest.mark.parametrize("kind", [0, 1])
def test_refinement_without_a_second_kind_weighs_all_alike(kind: int) -> None:
    labels = np.where(LABELS == -1, LABELS, kind).astype(np.int8)
    view = PoolView(np.zeros(6), X, labels)
    np.testing.assert_allclose(weights("refinement", "unlabelled", view).normal, [4 / 6] * 4)
    np.testing.assert_allclose(weights("refinement", "labelled", view).normal, [(1 - kind) * 2 / 6] * 2)
