"""MHRot and its wide residual network."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from soel.assess.metrics import auroc
from soel.errors import ConfigError
from soel.learner import Learner
from soel.networks import losses
from soel.networks.vision import (
    Conv,
    Dropout,
    MHRot,
    Norm,
    ResidualBlock,
    all_views,
    picture_shape,
    view_targets,
)
from soel.settings import PAPER, Profile, Schedule
from soel.types import Kind, Pool

SMALL = {"depth": 10, "widen": 1}
SIDE = 8


def build(n_members: int = 2, **options: float) -> MHRot:
    rngs = [np.random.default_rng([0, member]) for member in range(n_members)]
    return MHRot(SIDE * SIDE, rngs, **{**SMALL, **options})  # type: ignore[arg-type]


def rows(n: int, n_members: int = 2) -> torch.Tensor:
    x = torch.rand(n, SIDE * SIDE, generator=torch.Generator().manual_seed(0)) * 255
    return x.expand(n_members, n, SIDE * SIDE)


def test_the_36_views_by_hand() -> None:
    picture = torch.arange(36.0).view(1, 1, 6, 6)
    views = all_views(picture, 2)[0, :, 0]  # (36, 6, 6)
    assert views.shape == (36, 6, 6)
    torch.testing.assert_close(views[0], picture[0, 0])
    torch.testing.assert_close(views[1], torch.rot90(picture[0, 0], 1))
    across, down, turn = view_targets(torch.device("cpu"))
    left = views[int(torch.nonzero((across == 1) & (down == 0) & (turn == 0)))]
    torch.testing.assert_close(left[:, :4], picture[0, 0, :, 2:])  # what was at 2 is now at 0
    torch.testing.assert_close(left[:, 4:], picture[0, 0, :, [4, 3]])  # reflected at the edge
    lower = views[int(torch.nonzero((across == 0) & (down == 2) & (turn == 0)))]
    torch.testing.assert_close(lower[2:], picture[0, 0, :4])
    both = {(int(a), int(d), int(t)) for a, d, t in zip(across, down, turn, strict=True)}
    assert len(both) == 36


def test_the_penalty_is_paid_once_and_only_while_training() -> None:
    free, paying = build(1, penalty=0.0, dropout=0.0), build(1, penalty=10.0, dropout=0.0)
    x = rows(4, 1)
    features = build(1, dropout=0.0)._features(x)
    expected = 10 * features.square().mean(dim=(-2, -1))
    for paid, plain in zip(paying.losses(x), free.losses(x), strict=True):
        torch.testing.assert_close(paid - plain, expected, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(paying.eval().losses(x), free.eval().losses(x))


def test_the_paper_s_size() -> None:
    backbone = MHRot(32 * 32 * 3, [np.random.default_rng(0)])
    assert (backbone.side, backbone.channels) == (32, 3)
    assert backbone.network.n_features == 256
    assert 2.7e6 < sum(parameter.numel() for parameter in backbone.parameters()) < 2.8e6


def test_dropout_follows_the_seed_and_goes_on_from_a_copy() -> None:
    torch.manual_seed(1)
    first = build()
    torch.manual_seed(2)
    second = build()
    x = rows(4)
    torch.testing.assert_close(first.losses(x)[0], second.losses(x)[0])
    twin = copy.deepcopy(first)
    step = first.losses(x)[0]
    torch.testing.assert_close(step, twin.losses(x)[0])
    assert not torch.equal(step, first.losses(x)[0])


def test_a_member_of_a_stack_drops_what_it_drops_alone() -> None:
    stack, x = build(2), rows(3)
    alone = MHRot(SIDE * SIDE, [np.random.default_rng([0, 1])], **SMALL)
    for _ in range(2):
        torch.testing.assert_close(stack.losses(x)[0][1:], alone.losses(x[1:])[0], rtol=1e-4, atol=1e-5)


def test_dropout_zeroes_its_share_without_a_pattern() -> None:
    layer, x = Dropout(rngs(2), 0.3), torch.ones(40, 2 * 16, 8, 8)
    kept = torch.stack([layer(x) for _ in range(4)]) > 0  # (steps, N, channels, H, W)
    assert kept.shape == (4, *x.shape)
    torch.testing.assert_close(layer(x).mean(), torch.tensor(1.0), rtol=0.01, atol=0)
    for axis in range(5):
        of_each = kept.transpose(0, axis).flatten(1).float().mean(1)
        assert (of_each - 0.7).abs().max() < 0.02
        other = kept.roll(1, dims=axis)
        assert abs(float((kept & other).float().mean()) - 0.49) < 0.01  # neighbours know nothing of one another
    assert layer.eval()(x) is x


def test_the_views_are_those_of_the_pictures() -> None:
    backbone, x = build(1).eval(), rows(2, 1)
    given: list[torch.Tensor] = []
    backbone.network.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    backbone.losses(x)
    expected = all_views(x[0].view(2, 1, SIDE, SIDE) / 127.5 - 1, SIDE // 3)
    torch.testing.assert_close(given[0].view_as(expected), expected)


def test_half_precision_changes_features_a_little() -> None:
    network = build(1).network.eval()
    x = pictures(1, 6, 1, SIDE, SIDE)
    exact, halved = network(x), network(x, in_half=True)
    assert halved.dtype == torch.float32
    assert not torch.equal(exact, halved)
    torch.testing.assert_close(exact, halved, rtol=0.1, atol=0.02)


@pytest.mark.parametrize(("low", "high"), [(0.0, 255.0), (0.0, 1.0), (-1.0, 1.0)])
def test_pixels_are_brought_to_the_same_range(low: float, high: float) -> None:
    unit = rows(4) / 255
    backbone = build().eval()
    known = copy.deepcopy(backbone)
    known.prepare(rows(4))
    backbone.prepare(low + unit * (high - low))
    torch.testing.assert_close(
        backbone.losses(low + unit * (high - low))[0], known.losses(rows(4))[0], rtol=1e-3, atol=1e-4
    )


def test_shapes_of_pictures() -> None:
    assert picture_shape(28 * 28) == (28, 1)
    assert picture_shape(3 * 32 * 32) == (32, 3)
    for wrong in (6, 2048, 10 * 12):
        with pytest.raises(ConfigError, match="square pictures"):
            picture_shape(wrong)


def small_learner(epochs: int, seed: int = 0) -> Learner:
    schedule = Schedule(epochs=epochs, learning_rate=3e-3, batch_size=20)
    profile: Profile = replace(PAPER, backbone="mhrot", backbone_options={**SMALL, "penalty": 0.0}, pictures=schedule)
    return Learner(profile.settle(Kind.PICTURES, SIDE * SIDE), seed, contamination=0.1)


def test_training_finds_pictures_that_stand_on_their_head() -> None:
    rng = np.random.default_rng(0)
    ramp = np.linspace(0, 200, SIDE)[:, None] + np.linspace(0, 50, SIDE)
    pictures = ramp + rng.normal(0, 15, (60, SIDE, SIDE))
    pictures[:6] = pictures[:6, ::-1, ::-1]
    pool, truth = pictures.reshape(60, -1).clip(0, 255).astype(np.float32), np.arange(60) < 6
    labels = np.full(60, -1, np.int8)
    labels[[0, 1, 20, 30]] = truth[[0, 1, 20, 30]]
    runner, known = small_learner(4), Pool.of(pool, Kind.PICTURES)
    trained = runner.learn(runner.prepare(known), known, [], labels)
    assert auroc(truth, trained.score(pool)) > 0.95
    twin, model = runner.new_model(SIDE * SIDE), trained.trained.model
    twin.restore(model.tensors(), model.notes())
    np.testing.assert_array_equal(losses(twin, pool)[0], losses(model, pool)[0])


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


def test_the_norm_is_torch_s() -> None:
    ours, theirs, x = Norm(2, 3), torch.nn.BatchNorm2d(6), pictures(4, 6, 5, 5)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-4, atol=1e-5)


def test_a_block_adds_to_its_short_cut() -> None:
    block = ResidualBlock(rngs(1), 4, 4, stride=1, dropout=0.0).eval()
    x = pictures(2, 4, 6, 6)
    assert block.shortcut is None
    inner = block.conv_out(F.relu(block.norm_out(block.conv_in(F.relu(block.norm_in(x))))))
    torch.testing.assert_close(block(x), x + inner)
    wider = ResidualBlock(rngs(1), 4, 8, stride=2, dropout=0.0).eval()
    assert wider.shortcut is not None
    assert wider(x).shape == (2, 8, 3, 3)
