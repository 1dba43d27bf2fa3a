"""Laws of every backbone in the registry. A new one joins by its registry entry."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from soel.backbones import BACKBONES
from soel.backbones.base import Backbone
from soel.engines.detector import standardised
from soel.engines.local import LocalEngine
from soel.metrics import auroc
from soel.profiles import PAPER, PICTURE_BACKBONES
from soel.training import losses
from soel.types import Estimate
from tests.conftest import Sample, make_toy

NAMES = [name for name in BACKBONES if name not in PICTURE_BACKBONES]
pytestmark = pytest.mark.parametrize("name", NAMES)


def build(name: str, n_features: int, n_members: int = 2, seed: int = 0) -> Backbone:
    rngs = [np.random.default_rng([seed, member]) for member in range(n_members)]
    return BACKBONES.create(name, n_features=n_features, rngs=rngs)  # type: ignore[no-any-return]


def rows(sample: Sample, n_members: int = 2) -> torch.Tensor:
    return torch.from_numpy(sample.x).expand(n_members, *sample.x.shape)


def test_losses_are_finite_with_one_value_per_row_and_member(name: str, sample: Sample) -> None:
    for loss in build(name, sample.x.shape[1]).losses(rows(sample)):
        assert loss.shape == (2, len(sample.x))
        assert torch.isfinite(loss).all()


def test_the_two_losses_oppose_one_another(name: str, toy: Sample) -> None:
    scores = []
    for loss in (0, 1):
        backbone = build(name, 6)
        backbone.prepare(rows(toy))
        optimizer = torch.optim.Adam(backbone.parameters(), lr=1e-3)
        for _ in range(20):
            optimizer.zero_grad()
            backbone.losses(rows(toy))[loss].mean().backward()
            optimizer.step()
        scores.append(backbone.losses(rows(toy))[0].mean(dim=1))
    assert (scores[0] < scores[1]).all()


def test_embeddings_have_one_row_each_and_differ(name: str, sample: Sample) -> None:
    backbone = build(name, sample.x.shape[1]).eval()
    embedding = backbone.embed(rows(sample))
    assert embedding.shape[:2] == (2, len(sample.x))
    assert embedding.std(dim=1).max() > 0


def test_gradients_reach_every_parameter(name: str, sample: Sample) -> None:
    backbone = build(name, sample.x.shape[1])
    backbone.prepare(rows(sample))
    l0, l1 = backbone.losses(rows(sample))
    (l0.mean() + l1.mean()).backward()
    for parameter, values in backbone.named_parameters():
        assert values.grad is not None, parameter
        assert values.grad.abs().flatten(1).max(dim=1).values.min() > 0, parameter


def test_a_member_of_a_stack_computes_what_it_computes_alone(name: str, toy: Sample) -> None:
    stack, alone = build(name, 6, n_members=3), build(name, 6, n_members=1)
    together, single = stack.losses(rows(toy, 3)), alone.losses(rows(toy, 1))
    for first, second in zip(together, single, strict=True):
        torch.testing.assert_close(first[:1], second, rtol=1e-4, atol=1e-5)


def test_one_row_uses_the_running_statistics(name: str, toy: Sample) -> None:
    backbone = build(name, 6).train()
    backbone.losses(rows(toy))
    before = {key: value.clone() for key, value in backbone.named_buffers()}
    l0, _ = backbone.losses(rows(toy)[:, :1])
    assert torch.isfinite(l0).all()
    assert all(torch.equal(value, before[key]) for key, value in backbone.named_buffers())


def test_batches_in_one_pass_are_as_each_alone(name: str, toy: Sample) -> None:
    x, sizes = rows(toy), [7, len(toy.x) - 8, 1]
    together, apart = build(name, 6).train(), build(name, 6).train()
    for first, second in zip(together.losses_apart(x, sizes), map(apart.losses, x.split(sizes, dim=1)), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dict(together.named_buffers()), dict(apart.named_buffers()), rtol=1e-4, atol=1e-5)


def test_training_changes_every_parameter_and_beats_the_untrained_network(name: str) -> None:
    toy = make_toy(seed=1, n_rows=300, n_anomalies=30)
    profile = PAPER.with_parts(backbone=name)
    engine = LocalEngine(profile, seed=0)
    before = engine.new_model(6)
    untrained = {key: value.clone() for key, value in before.backbone.named_parameters()}
    trained = engine.learn(engine.warm_up(toy.x), toy.x, toy.labels(20), Estimate(0.1, 0.1, 0.1, "fixed"))
    for key, value in trained.model.backbone.named_parameters():
        assert not torch.equal(value, untrained[key]), key
    fresh = auroc(toy.is_anomaly, standardised(before, losses(before, toy.x)[0]).score(toy.x))
    scores = trained.score(toy.x)
    assert np.ptp(scores) > 0
    assert auroc(toy.is_anomaly, scores) > max(fresh, 0.85)


def test_a_model_survives_its_state(name: str, toy: Sample) -> None:
    engine = LocalEngine(PAPER.with_parts(backbone=name), seed=0)
    warm = engine.warm_up(toy.x).model
    twin = engine.new_model(6)
    twin.restore(warm.tensors(), warm.notes())
    np.testing.assert_array_equal(losses(twin, toy.x)[0], losses(warm, toy.x)[0])
    assert twin.notes() == warm.notes()
