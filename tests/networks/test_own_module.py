"""A user's own module as backbone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from soel import SOEL
from soel.assess.metrics import auroc
from soel.errors import SchemaError
from soel.networks import losses
from soel.networks.base import Members
from soel.settings import PAPER
from soel.testing import check_backbone
from tests.conftest import make_learner, make_toy


class TinyAutoencoder(nn.Module):
    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(n_features, 3), nn.Linear(3, n_features)

    def losses(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        error = (self.up(self.embed(x)) - x).square().mean(dim=1)
        return error, 1 / (error + 1e-3)

    def embed(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(x)  # type: ignore[no-any-return]


def test_own_module_trains_in_the_loop() -> None:
    toy = make_toy()
    learner, pool = make_learner(PAPER, toy.x, backbone=TinyAutoencoder, contamination=0.1)
    fitted, untrained = learner.learn(learner.prepare(pool), pool, [], toy.labels()), learner.new_model(6)
    trained = fitted.trained.model
    for before, after in zip(untrained.backbone.parameters(), trained.backbone.parameters(), strict=True):
        assert not torch.equal(before, after)
    fresh = auroc(toy.is_anomaly, losses(untrained, toy.x)[0][0])
    assert auroc(toy.is_anomaly, fitted.score(toy.x)) > max(fresh, 0.9)


def test_its_initialisation_follows_the_seed_and_leaves_the_global_one_alone() -> None:
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    x = make_toy().x
    learners = [make_learner(PAPER, x, seed, backbone=TinyAutoencoder)[0] for seed in (3, 3, 4)]
    first, second, other = (learner.new_model(6) for learner in learners)
    assert torch.equal(state, torch.random.get_rng_state())
    weights = [next(model.backbone.parameters()).detach().numpy() for model in (first, second, other)]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_it_keeps_the_laws_of_a_backbone() -> None:
    check_backbone(partial(Members, make=TinyAutoencoder))


class ConvAutoencoder(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.down = nn.Conv2d(shape[0], 4, kernel_size=4, stride=4)
        self.up = nn.ConvTranspose2d(4, shape[0], kernel_size=4, stride=4)

    def losses(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        error = (self.up(self.down(x).relu()) - x).square().mean(dim=(1, 2, 3))
        return error, 1 / (error + 1e-3)

    def embed(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(x).flatten(1)  # type: ignore[no-any-return]


def test_arrays_reach_a_module_in_their_shape_and_are_learnt(tmp_path: Path) -> None:
    pool = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (120, 3, 8, 8))
    pool[:] = np.random.default_rng(0).normal(size=pool.shape)
    pool[8:] = pool[8:, :, :1, :1]  # items of one colour each are normal, noise is not
    y = np.array([1] * 3 + [-1] * 5 + [0] * 3 + [-1] * 109)
    quick = replace(PAPER, vectors=replace(PAPER.vectors, learning_rate=1e-2, batch_size=20))
    detector = SOEL(quick, backbone=ConvAutoencoder, random_state=0)
    assert len(set(detector.query(pool, 4, y).tolist())) == 4
    scores = detector.fit(pool, y).anomaly_score(pool)
    assert auroc(np.arange(120) < 8, scores) > 0.95
    detector.save(tmp_path / "model")
    again = SOEL.load(tmp_path / "model", backbone=ConvAutoencoder)
    np.testing.assert_array_equal(again.anomaly_score(pool), scores)
    with pytest.raises(SchemaError, match=r"shape \(3, 8, 8\) were fitted, got an array of shape \(120, 2, 8, 8\)"):
        again.anomaly_score(pool[:, :2])


def test_a_dataset_is_the_array_of_its_items() -> None:
    pool = torch.randn(40, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    quick = replace(PAPER, vectors=replace(PAPER.vectors, epochs=1, batch_size=20))
    detector = SOEL(quick, backbone=ConvAutoencoder, random_state=0)
    expected = detector.fit(pool.numpy()).anomaly_score(pool.numpy())
    for given in (pool, TensorDataset(pool), TensorDataset(pool, torch.zeros(40))):
        assert len(set(detector.query(given, 4).tolist())) == 4
        np.testing.assert_array_equal(detector.fit(given).anomaly_score(given), expected)
