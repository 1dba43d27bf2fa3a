"""Neural transformation learning: its losses by hand, and the narrow form beside the full one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from soel.networks.row_networks import NTL, FeatureNTL, NarrowNTL, TableNTL, contrast


def test_loss_worked_by_hand() -> None:
    # Row code (1, 0); views (1, 0) and (0, 1): similarities / 0.1 are 10 (view 1 with the row), 0 (views with
    # one another), 0 (view 2 with the row). p_1 = e^10 / (e^10 + 1), p_2 = 1 / (1 + 1).
    codes = torch.tensor([[[[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]]])
    p = np.array([math.exp(10) / (math.exp(10) + 1), 0.5])
    l0, l1 = contrast(codes)
    np.testing.assert_allclose(l0.item(), (-np.log(p) / math.log(2)).mean(), rtol=1e-5)
    np.testing.assert_allclose(l1.item(), (-np.log(1 - p) / math.log(2)).mean(), rtol=1e-4)


def test_the_opposing_loss_stays_finite_when_p_rounds_to_one() -> None:
    # Each view equals the row and opposes every other view: p_k is 1 within float32.
    codes = torch.tensor([[[[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]]]) * 50
    # Over the temperature, view 1 is 10 with the row and -10 with view 2, which is -10 with both: gaps of 20 and 0.
    _, l1 = contrast(codes)
    assert l1.item() == pytest.approx((20 + math.log(2)) / 2 / math.log(2), rel=1e-5)
    surer = torch.tensor([[[[1.0, 0.0]] + [[1.0, 0.0]] + [[-1.0, 0.0]] * 8]])
    assert torch.isfinite(torch.stack(contrast(surer * 1e6))).all()


def test_sizes_follow_the_paper() -> None:
    rngs = [np.random.default_rng(0)]
    shapes = {d: [tuple(p.shape) for p in TableNTL(d, rngs).encoder.parameters()] for d in (9, 36, 400)}
    assert shapes[9] == [(1, 1, 18, 9), (1, 1, 18, 18), (1, 1, 18, 18)]
    assert shapes[36] == [(1, 1, 64, 36), (1, 1, 64, 64), (1, 1, 32, 64)]
    assert shapes[400] == [(1, 1, 256, 400), (1, 1, 256, 256), (1, 1, 64, 256)]
    features = FeatureNTL(256, rngs)
    assert [tuple(p.shape) for p in features.encoder.parameters()] == [(1, 1, 64, 256), (1, 1, 128, 64)]
    assert features.n_views == 15


def test_matches_a_loop_over_transformations() -> None:
    backbone = TableNTL(5, [np.random.default_rng(0)]).eval()
    x = torch.randn(1, 7, 5, generator=torch.Generator().manual_seed(0))
    codes = [_encode(backbone, x[0])]
    for view in range(9):
        h = x[0]
        for depth, layer in enumerate(weights(backbone, "views")):
            h = h @ layer[0, view].T
            if depth < 2:  # fresh running statistics: mean 0, variance 1
                h = torch.relu(h / math.sqrt(1 + 1e-5))
        codes.append(_encode(backbone, x[0] + h))
    expected = torch.cat(codes, dim=1)
    torch.testing.assert_close(backbone.embed(x)[0], expected, rtol=1e-4, atol=1e-5)


def _encode(backbone: NTL, x: torch.Tensor) -> torch.Tensor:
    first, second, third = (layer[0, 0].T for layer in weights(backbone, "encoder"))
    return torch.relu(torch.relu(x @ first) @ second) @ third


def weights(backbone: NTL, part: str) -> list[torch.Tensor]:
    return [value for name, value in backbone.named_parameters() if name.startswith(part)]


MEMBERS, FEATURES, WIDTH = 2, 96, 8


def both() -> tuple[NTL, NTL]:
    """The narrow form, and one with the same weights that does not fold."""
    rngs = [np.random.default_rng(seed) for seed in range(MEMBERS)]
    folded = NarrowNTL(FEATURES, rngs, n_views=3, view_width=WIDTH)
    plain = NTL(rngs, 3, [FEATURES, WIDTH, WIDTH, FEATURES], [FEATURES, 32, 128], residual=False)
    plain.load_state_dict(folded.state_dict())
    return folded, plain


@pytest.mark.parametrize("sizes", [(40,), (30, 10), (WIDTH,), (2, 3)])
def test_folded_layers_give_what_the_layers_give(sizes: tuple[int, ...]) -> None:
    folded, plain = both()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(MEMBERS, sum(sizes), FEATURES)).astype(np.float32))
    for one, other in zip(folded.losses_apart(x, sizes), plain.losses_apart(x, sizes), strict=True):
        for ours, theirs in zip(one, other, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(folded.eval().embed(x), plain.eval().embed(x), rtol=1e-4, atol=1e-5)


def test_and_the_same_gradients() -> None:
    folded, plain = both()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(MEMBERS, 40, FEATURES)).astype(np.float32))
    for network in (folded, plain):
        network.losses(x)[0].mean().backward()
    for (name, ours), theirs in zip(folded.named_parameters(), plain.parameters(), strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-3, atol=1e-5, msg=name)
