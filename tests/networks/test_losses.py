"""Deep SVDD, the autoencoder and the classifier against their formulas in plain numpy; NTL against a slow version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from soel.networks.row_networks import (
    CENTRE_MARGIN,
    INVERSE_OFFSET,
    TEMPERATURE,
    Autoencoder,
    Classifier,
    DeepSVDD,
    contrast,
)
from soel.types import Floats

D, ROWS = 5, 6
X = np.random.default_rng(0).normal(size=(ROWS, D)).astype(np.float32)


def rngs(n: int = 1) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(n)]


def rows(x: Floats = X) -> Tensor:
    return torch.from_numpy(np.asarray(x, np.float32))[None]


def layers(network: Any, member: int = 0) -> list[Floats]:
    return [layer.weight[member, 0].detach().numpy().astype(np.float64) for layer in network.linears]


def forward(x: Floats, weights: list[Floats], normed: bool, biases: Sequence[Floats] = ()) -> Floats:
    """A network in eval mode with fresh statistics: mean 0, variance 1."""
    shrink, shifts = 1 / math.sqrt(1 + 1e-5) if normed else 1.0, biases or [np.zeros(1)] * len(weights)
    for weight, shift in zip(weights[:-1], shifts, strict=False):
        x = np.maximum((x @ weight.T + shift) * shrink, 0)
    return np.asarray(x @ weights[-1].T + shifts[-1])


def test_deep_svdd_is_the_mean_squared_distance_to_its_centre() -> None:
    backbone = DeepSVDD(D, rngs(), widths=(8, 3)).eval()
    backbone.prepare(rows())
    biases = [backbone.get_parameter(f"network.linears.{n}.bias").detach().numpy().ravel() for n in (0, 1)]
    outputs = forward(X, layers(backbone.network), True, biases)
    centre = outputs.mean(axis=0)
    centre = np.where(centre < 0, -1, 1) * np.maximum(np.abs(centre), CENTRE_MARGIN)
    np.testing.assert_allclose(backbone.centre[0, 0].numpy(), centre, rtol=1e-4, atol=1e-6)
    distance = ((outputs - centre) ** 2).mean(axis=1)
    l0, l1 = backbone.losses(rows())
    np.testing.assert_allclose(l0.detach().numpy()[0], distance, rtol=1e-4)
    np.testing.assert_allclose(l1.detach().numpy()[0], 1 / (distance + INVERSE_OFFSET), rtol=1e-3)
    np.testing.assert_allclose(backbone.embed(rows()).detach().numpy()[0], outputs, rtol=1e-4, atol=1e-5)


def test_a_centre_near_0_is_moved_away_to_its_own_side() -> None:
    backbone = DeepSVDD(D, rngs(), widths=(3,)).eval()
    weight = backbone.get_parameter(backbone.last_layer)
    with torch.no_grad():
        weight.zero_()
        weight[0, 0, :, 0] = torch.tensor([0.01, -0.02, -5.0])
        backbone.get_parameter("network.linears.0.bias").zero_()
    backbone.prepare(rows(np.eye(1, D)))
    assert backbone.centre.flatten().tolist() == pytest.approx([CENTRE_MARGIN, -CENTRE_MARGIN, -5.0])


def test_the_autoencoder_s_loss_is_its_mean_squared_error() -> None:
    backbone = Autoencoder(D, rngs(), hidden=8, bottleneck=3).eval()
    code = forward(X, layers(backbone.encoder), normed=True)
    restored = forward(np.maximum(code, 0), layers(backbone.decoder), normed=True)
    error = ((restored - X) ** 2).mean(axis=1)
    l0, l1 = backbone.losses(rows())
    np.testing.assert_allclose(l0.detach().numpy()[0], error, rtol=1e-4)
    np.testing.assert_allclose(l1.detach().numpy()[0], 1 / (error + INVERSE_OFFSET), rtol=1e-4)
    np.testing.assert_allclose(backbone.embed(rows()).detach().numpy()[0], code, rtol=1e-4, atol=1e-5)


def test_the_classifier_s_losses_are_cross_entropies() -> None:
    backbone = Classifier(D, rngs(), widths=(8, 4)).eval()
    logit = forward(X, layers(backbone.network), normed=False)[:, 0]
    chance = 1 / (1 + np.exp(-logit))
    l0, l1 = backbone.losses(rows())
    np.testing.assert_allclose(l0.detach().numpy()[0], -np.log(1 - chance), rtol=1e-4)
    np.testing.assert_allclose(l1.detach().numpy()[0], -np.log(chance), rtol=1e-4)
    hidden = np.maximum(forward(X, layers(backbone.network)[:-1], normed=False), 0)
    np.testing.assert_allclose(backbone.embed(rows()).detach().numpy()[0], hidden, rtol=1e-4, atol=1e-5)


def slow_contrast(codes: Floats) -> tuple[Floats, Floats]:
    """L0 and L1 of one row each, from its codes (T+1, z): equation by equation, view by view."""
    z = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    n_views = len(z) - 1

    def h(a: Floats, b: Floats) -> float:
        return float(np.exp(a @ b / TEMPERATURE))

    l0 = l1 = 0.0
    for k in range(1, n_views + 1):
        own = h(z[k], z[0])
        p = own / (own + sum(h(z[k], z[other]) for other in range(1, n_views + 1) if other != k))
        l0 -= np.log(p)
        l1 -= np.log(1 - p)
    scale = n_views * np.log(n_views)
    return np.asarray(l0 / scale), np.asarray(l1 / scale)


@pytest.mark.parametrize("n_views", [2, 3, 9])
def test_ntl_s_losses_are_those_of_a_loop_over_views(n_views: int) -> None:
    codes = np.random.default_rng(n_views).normal(size=(2, 4, n_views + 1, 5))
    found = contrast(torch.from_numpy(codes))
    for member in range(2):
        for row in range(4):
            for loss, expected in zip(found, slow_contrast(codes[member, row]), strict=True):
                assert float(loss[member, row]) == pytest.approx(float(expected), rel=1e-9)


def test_a_code_without_a_direction_has_a_loss() -> None:
    codes = torch.zeros(1, 1, 4, 5)
    l0, _ = contrast(codes)
    # All similarities are 0: each view has one own and two others, p is 1/3.
    assert float(l0) == pytest.approx(math.log(3) / math.log(3))
