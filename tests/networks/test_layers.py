"""Layers of many members and groups against one member and group at a time, in plain numpy and torch's own layers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from soel.networks.layers import MOMENTUM, BatchNorm, MemberLinear, Perceptron

MEMBERS, GROUPS, N_IN, N_OUT, ROWS = 2, 3, 5, 4, 7


def rngs(n: int = MEMBERS) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(n)]


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def test_every_member_and_group_has_a_product_of_its_own() -> None:
    layer, x = MemberLinear(rngs(), GROUPS, N_IN, N_OUT), drawn(MEMBERS, GROUPS, N_IN, ROWS)
    found = layer(x).detach().numpy()
    for member in range(MEMBERS):
        for group in range(GROUPS):
            expected = layer.weight[member, group].detach().numpy() @ x[member, group].numpy()
            np.testing.assert_allclose(found[member, group], expected, rtol=1e-5, atol=1e-6)


def test_weights_are_uniform_within_torch_s_bound_and_a_member_s_own() -> None:
    layer = MemberLinear(rngs(), 10, 100, 50)
    bound = 1 / math.sqrt(100)
    values = layer.weight.detach().flatten()
    assert float(values.abs().max()) <= bound
    assert float(values.mean()) == pytest.approx(0, abs=bound / 50)
    assert float(values.std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)
    alone = MemberLinear([np.random.default_rng(1)], 10, 100, 50)
    torch.testing.assert_close(layer.weight[1:], alone.weight)


def by_torch(x: Tensor, norm: nn.BatchNorm1d) -> Tensor:
    return norm(x.reshape(1, -1, x.shape[-1]).squeeze(0).T).T.reshape(x.shape)  # type: ignore[no-any-return]


def test_batch_norm_is_torch_s_over_the_rows_of_each_channel() -> None:
    ours, theirs = BatchNorm(MEMBERS, GROUPS, N_IN), nn.BatchNorm1d(MEMBERS * GROUPS * N_IN, affine=False)
    assert theirs.momentum == MOMENTUM
    for seed in range(3):
        x = 3 * drawn(MEMBERS, GROUPS, N_IN, ROWS, seed=seed) + 1
        torch.testing.assert_close(ours(x), by_torch(x, theirs), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.mean, theirs.running_mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours.variance, theirs.running_var, rtol=1e-5, atol=1e-6)
    x = drawn(MEMBERS, GROUPS, N_IN, ROWS, seed=9)
    torch.testing.assert_close(ours.eval()(x), by_torch(x, theirs.eval()), rtol=1e-4, atol=1e-5)


def test_batches_side_by_side_have_statistics_of_their_own() -> None:
    together, apart = BatchNorm(1, 1, N_IN), BatchNorm(1, 1, N_IN)
    x = drawn(1, 1, N_IN, 10)
    found = together(x, sizes=(6, 4))
    expected = torch.cat([apart(part) for part in x.split([6, 4], dim=-1)], dim=-1)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(together.mean, apart.mean)
    assert not torch.allclose(found, BatchNorm(1, 1, N_IN)(x), atol=1e-2)
    torch.testing.assert_close(together.eval()(x, sizes=(6, 4)), together(x))


@pytest.mark.parametrize("batch_norm", [True, False])
def test_a_perceptron_is_linear_layers_with_relu_between(batch_norm: bool) -> None:
    network, x = Perceptron(rngs(), GROUPS, [N_IN, 6, 4, 2], batch_norm).eval(), drawn(MEMBERS, 1, N_IN, ROWS)
    first, second, third = (layer.weight for layer in network.linears)
    shrink = 1 / math.sqrt(1 + 1e-5) if batch_norm else 1.0  # fresh statistics: mean 0, variance 1
    h = torch.relu(torch.einsum("sgoi,sib->sgob", first, x[:, 0]) * shrink)
    h = torch.relu(torch.einsum("sgoi,sgib->sgob", second, h) * shrink)
    torch.testing.assert_close(network.hidden(x), h, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(network(x), torch.einsum("sgoi,sgib->sgob", third, h), rtol=1e-4, atol=1e-5)
    assert [type(norm) for norm in network.norms] == [BatchNorm] * (2 if batch_norm else 0)


def test_an_affine_perceptron_is_torch_s_own_layers() -> None:
    ours, x = Perceptron(rngs(1), 1, [N_IN, 6, 2], batch_norm=True, affine=True), drawn(1, 1, N_IN, ROWS)
    state = {name: value.detach() for name, value in ours.state_dict().items()}
    assert float(state["linears.0.bias"].abs().max()) <= 1 / math.sqrt(N_IN)
    state["norms.0.scale"], state["norms.0.shift"] = drawn(6), drawn(6)
    ours.load_state_dict(state)
    theirs = nn.Sequential(nn.Linear(N_IN, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
    names = {"0": "linears.0", "3": "linears.1"}
    given = {f"{there}.{part}": state[f"{here}.{part}"] for there, here in names.items() for part in ("weight", "bias")}
    given |= {"1.weight": state["norms.0.scale"], "1.bias": state["norms.0.shift"]}
    for name, value in theirs.named_parameters():
        value.data = given[name].reshape(value.shape)
    for mode in (True, False):
        ours.train(mode)
        theirs.train(mode)
        torch.testing.assert_close(ours(x)[0, 0].T, theirs(x[0, 0].T), rtol=1e-4, atol=1e-5)
