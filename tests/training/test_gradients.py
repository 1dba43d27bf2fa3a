"""Gradient embeddings against autograd, row by row."""

import numpy as np
import torch

from soel.engines.local import LocalEngine
from soel.profiles import PAPER
from soel.training.gradients import gradient_embeddings
from tests.conftest import make_toy


def test_gradients_match_autograd() -> None:
    toy = make_toy()
    model = LocalEngine(PAPER, seed=0).warm_up(toy.x).model
    suspected = np.arange(len(toy.x)) % 2 == 0
    embedded = gradient_embeddings(model, toy.x[:4], suspected[:4])
    layer = dict(model.backbone.named_parameters())[model.backbone.last_layer]
    for row in range(4):
        model.backbone.zero_grad()
        l0, l1 = model.backbone.losses(torch.from_numpy(toy.x[row : row + 1])[None])
        (l1 if suspected[row] else l0).sum().backward()
        assert layer.grad is not None
        np.testing.assert_allclose(embedded[row], layer.grad.flatten().numpy(), atol=1e-5)


def test_long_gradients_are_folded_and_keep_distances_roughly() -> None:
    toy = make_toy()
    model = LocalEngine(PAPER.with_parts(backbone="deep-svdd"), seed=0).warm_up(toy.x).model
    embedded = gradient_embeddings(model, toy.x[:6], np.zeros(6, bool))
    assert embedded.shape == (6, 2048)
    assert np.isfinite(embedded).all()
