"""Gradient embeddings against autograd, row by row."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

from soel.networks.inference import _Fold, gradient_embeddings
from soel.settings import PAPER
from tests.conftest import make_learner, make_toy


def test_gradients_match_autograd() -> None:
    toy = make_toy()
    learner, pool = make_learner(PAPER, toy.x)
    model = learner.new_network(pool).model
    suspected = np.arange(len(toy.x)) % 2 == 0
    embedded = gradient_embeddings(model, toy.x[:4], suspected[:4])
    layer = dict(model.backbone.named_parameters())[model.backbone.last_layer]
    for row in range(4):
        model.backbone.zero_grad()
        l0, l1 = model.backbone.losses(torch.from_numpy(toy.x[row : row + 1])[None])
        (l1 if suspected[row] else l0).sum().backward()
        assert layer.grad is not None
        np.testing.assert_allclose(embedded[row], layer.grad.flatten().numpy(), atol=1e-5)


def test_long_gradients_are_folded_and_keep_distances_roughly(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = make_toy()
    learner, pool = make_learner(PAPER.with_parts(backbone="deep-svdd"), toy.x)
    model = learner.new_network(pool).model
    folded = gradient_embeddings(model, toy.x[:6], np.zeros(6, bool))
    monkeypatch.setattr("soel.networks.inference.WIDTH", 10**9)
    whole = gradient_embeddings(model, toy.x[:6], np.zeros(6, bool))
    assert (folded.shape, whole.shape) == ((6, 2048), (6, 512 * 128))
    apart, as_far = (pdist(points) for points in (whole, folded))
    np.testing.assert_allclose(as_far, apart, rtol=0.2)  # the error of a distance is about sqrt(2 / 2048), 3 %


def test_folding_keeps_lengths_of_gradients_that_lean_one_way() -> None:
    leaning = torch.ones(3, 40_000) * torch.tensor([[1.0], [2.0], [-5.0]])
    folded = _Fold(40_000, seed=0)(leaning)
    assert folded.shape == (3, 2048)
    torch.testing.assert_close(folded.norm(dim=1), leaning.norm(dim=1), rtol=0.1, atol=0.0)
    torch.testing.assert_close(folded[1], 2 * folded[0])
    assert not torch.equal(_Fold(40_000, seed=1)(leaning), folded)


def test_short_gradients_are_left_as_they_are() -> None:
    short = torch.randn(2, 2048, generator=torch.Generator().manual_seed(0))
    assert torch.equal(_Fold(2048, seed=0)(short), short)
