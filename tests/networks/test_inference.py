"""Losses, embeddings and gradients of many rows; threads and precision put back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

from soel.networks import Model, embed, losses, stack
from soel.networks.row_networks import Autoencoder
from soel.networks.stack import gradient_embeddings
from soel.settings import PAPER
from tests.conftest import make_learner, make_toy

D = 4
X = np.random.default_rng(0).normal(size=(1000, D)).astype(np.float32)


def new_model(n_members: int = 2) -> Model:
    rngs = [np.random.default_rng(member) for member in range(n_members)]
    model = Model(Autoencoder(D, rngs), rngs, learning_rate=1e-2)
    model.backbone.train()
    model.backbone.losses(torch.from_numpy(X).expand(n_members, *X.shape))  # running statistics of its own
    return model


@pytest.mark.parametrize("cores", ["1", "3"])
def test_blocks_give_what_one_pass_gives(cores: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = new_model()
    with torch.no_grad():
        whole = model.backbone.eval().losses(torch.from_numpy(X).expand(2, *X.shape))
        embedded = model.backbone.embed(torch.from_numpy(X).expand(2, *X.shape))
    monkeypatch.setenv("OMP_NUM_THREADS", cores)
    monkeypatch.setattr(stack, "BLOCK_VALUES", 1)  # blocks of 256 rows
    model.backbone.train()  # losses are those of eval mode all the same
    for found, expected in zip(losses(model, X), whole, strict=True):
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(embed(model, X), embedded.numpy(), rtol=1e-5, atol=1e-6)
    assert not model.backbone.training


def test_members_may_have_rows_of_their_own() -> None:
    model = new_model()
    pools = np.stack([X[:10], X[10:20]])
    found = losses(model, pools)[0]
    np.testing.assert_allclose(found[0], losses(model, X[:10])[0][0], rtol=1e-5)
    np.testing.assert_allclose(found[1], losses(model, X[10:20])[0][1], rtol=1e-5)


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
    monkeypatch.setattr("soel.networks.stack.WIDTH", 10**9)
    whole = gradient_embeddings(model, toy.x[:6], np.zeros(6, bool))
    assert (folded.shape, whole.shape) == ((6, 2048), (6, 512 * 128))
    apart, as_far = (pdist(points) for points in (whole, folded))
    np.testing.assert_allclose(as_far, apart, rtol=0.2)  # the error of a distance is about sqrt(2 / 2048), 3 %
