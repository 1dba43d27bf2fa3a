"""The wide residual network: members side by side, torch's own layers, dropout with seeds of its own."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from soel.networks.vision import Block, Conv, Dropout, Norm, WideResNet


def rngs(n: int = 2) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(n)]


def pictures(*shape: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(5).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize(("side", "stride"), [(3, 1), (3, 2), (1, 2)])
def test_each_member_s_channels_go_through_its_own_filters(side: int, stride: int) -> None:
    layer, x = Conv(rngs(), 3, 5, side, stride), pictures(2, 6, 8, 8)
    found = layer(x)
    for member in range(2):
        own = layer.weight[5 * member : 5 * (member + 1)]
        expected = F.conv2d(x[:, 3 * member : 3 * (member + 1)], own, stride=stride, padding=side // 2)
        torch.testing.assert_close(found[:, 5 * member : 5 * (member + 1)], expected, rtol=1e-4, atol=1e-5)


def test_filters_start_as_he_says() -> None:
    weight = Conv(rngs(), 40, 50, 3).weight.detach()
    assert float(weight.std()) == pytest.approx(math.sqrt(2 / (50 * 9)), rel=0.02)
    assert float(weight.mean()) == pytest.approx(0, abs=1e-3)


def test_the_norm_is_torch_s() -> None:
    ours, theirs, x = Norm(2, 3), torch.nn.BatchNorm2d(6), pictures(4, 6, 5, 5)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-4, atol=1e-5)


def test_dropout_keeps_the_mean_and_drops_the_share() -> None:
    layer, x = Dropout(rngs(), 0.3), torch.ones(200, 20, 3, 3)
    found = layer(x)
    assert float((found == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(found.mean()) == pytest.approx(1, abs=0.02)
    assert found[found > 0].unique().tolist() == pytest.approx([1 / 0.7])


def test_dropout_is_another_one_each_step_and_goes_on_from_its_state() -> None:
    layer, x = Dropout(rngs(), 0.5), torch.ones(4, 6, 3, 3)
    first = layer(x)
    twin = copy.deepcopy(layer)
    second = layer(x)
    assert not torch.equal(first, second)
    assert torch.equal(twin(x), second)
    assert layer.step.tolist() == [2, 2]


def test_members_drop_apart() -> None:
    stack, alone, x = Dropout(rngs(), 0.5), Dropout(rngs()[1:], 0.5), torch.ones(4, 6, 3, 3)
    assert torch.equal(stack(x)[:, 3:], alone(x[:, 3:]))


@pytest.mark.parametrize("layer", [Dropout(rngs(), 0.0), Dropout(rngs(), 0.5).eval()], ids=["no share", "eval"])
def test_nothing_is_dropped_without_a_share_or_after_training(layer: Dropout) -> None:
    x = torch.ones(2, 6, 3, 3)
    assert layer(x) is x
    assert layer.step.tolist() == [0, 0]


def test_a_block_adds_to_its_short_cut() -> None:
    block = Block(rngs(1), 4, 4, stride=1, dropout=0.0).eval()
    x = pictures(2, 4, 6, 6)
    assert block.shortcut is None
    inner = block.conv_out(F.relu(block.norm_out(block.conv_in(F.relu(block.norm_in(x))))))
    torch.testing.assert_close(block(x), x + inner)
    wider = Block(rngs(1), 4, 8, stride=2, dropout=0.0).eval()
    assert wider.shortcut is not None
    assert wider(x).shape == (2, 8, 3, 3)


@pytest.mark.parametrize(("depth", "widen", "n_blocks"), [(10, 1, 3), (16, 4, 6), (16, 1, 6)])
def test_depth_and_width(depth: int, widen: int, n_blocks: int) -> None:
    network = WideResNet(rngs(1), 3, depth, widen)
    assert len(network.blocks) == n_blocks
    assert network.n_features == 64 * widen
    assert network.eval()(pictures(1, 2, 3, 8, 8)).shape == (1, 2, 64 * widen)
