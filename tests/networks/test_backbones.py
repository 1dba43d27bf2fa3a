"""Every backbone in the registry keeps the kit's laws. A new one joins by its registry entry."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from soel.networks import BACKBONES, losses
from soel.networks.base import Backbone
from soel.settings import PAPER, PICTURE_BACKBONES
from soel.testing import BACKBONE_LAWS
from soel.testing.backbones import MakeBackbone, check_losses_oppose_one_another, check_training_beats_no_training
from soel.testing.laws import Law
from tests.conftest import Sample, make_learner

ROW_BACKBONES = [name for name in BACKBONES if name not in PICTURE_BACKBONES]
OPTIONS = {name: {"depth": 10, "widen": 1, "dropout": 0.0, "penalty": 0.0} for name in PICTURE_BACKBONES}
ON_PICTURES = [
    law for law in BACKBONE_LAWS if law not in (check_training_beats_no_training, check_losses_oppose_one_another)
]  # these two take long, and rows of a table are no pictures: tests/networks/test_mhrot.py has its own


def maker(name: str) -> MakeBackbone:
    def make(n_features: int, rngs: Sequence[np.random.Generator]) -> Backbone:
        return BACKBONES.create(name, n_features=n_features, rngs=rngs, **OPTIONS.get(name, {}))  # type: ignore[no-any-return]

    return make


@pytest.mark.parametrize("law", BACKBONE_LAWS)
@pytest.mark.parametrize("name", ROW_BACKBONES)
def test_laws(name: str, law: Law[Any]) -> None:
    law(maker(name))


@pytest.mark.parametrize("law", ON_PICTURES)
@pytest.mark.parametrize("name", PICTURE_BACKBONES)
def test_laws_of_pictures(name: str, law: Law[Any]) -> None:
    law(maker(name))


@pytest.mark.parametrize("name", [*ROW_BACKBONES, *PICTURE_BACKBONES])
def test_batches_are_normed_apart(name: str) -> None:
    """`losses_apart` gives each batch its `losses`, and leaves the same statistics; a single row changes none."""
    x, sizes = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (40, 16)).astype(np.float32)), [7, 32, 1]
    x = x.expand(2, 40, 16)
    backbone = maker(name)(16, [np.random.default_rng(seed) for seed in range(2)])
    backbone.eval().prepare(x)
    twin = copy.deepcopy(backbone.train())
    apart = [twin.losses(batch) for batch in x.split(sizes, dim=1)]
    for together, single in zip(backbone.losses_apart(x, sizes), apart, strict=True):
        for first, second in zip(together, single, strict=True):
            torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-4)
            assert torch.isfinite(first).all()
    for first, second in zip(backbone.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-4)
    if backbone.is_recordable and name in ROW_BACKBONES:  # a row alone has no spread, unlike a picture's places
        before = [value.clone() for value in backbone.buffers()]
        backbone.losses(x[:, :1])
        assert all(map(torch.equal, backbone.buffers(), before))


@pytest.mark.parametrize("name", ROW_BACKBONES)
def test_real_rows_of_any_width_have_losses_of_their_own(name: str, sample: Sample) -> None:
    backbone = maker(name)(sample.x.shape[1], [np.random.default_rng(seed) for seed in range(2)])
    x = torch.from_numpy(sample.x).expand(2, *sample.x.shape)
    backbone.eval().prepare(x)
    for loss in backbone.train().losses(x):
        assert loss.shape == (2, len(sample.x))
        assert torch.isfinite(loss).all()
        assert len(loss[0].unique()) > 0.9 * len(sample.x)


@pytest.mark.parametrize("name", ROW_BACKBONES)
def test_a_model_survives_its_state(name: str, toy: Sample) -> None:
    learner, pool = make_learner(PAPER.with_parts(backbone=name), toy.x)
    warm = learner.new_network(pool).model
    twin = learner.new_model(6)
    twin.restore(warm.tensors(), warm.notes())
    np.testing.assert_array_equal(losses(twin, toy.x)[0], losses(warm, toy.x)[0])
    assert twin.notes() == warm.notes()
