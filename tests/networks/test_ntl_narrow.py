"""The narrow form: folded layers, the same network."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from soel.networks.ntl import NTL, NarrowNTL

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


def test_many_rows_are_folded_and_few_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    folded, _ = both()
    asked: list[int] = []
    whole = NTL._encode

    def counted(network: NTL, x: torch.Tensor, sizes: tuple[int, ...] = ()) -> torch.Tensor:
        asked.append(x.shape[1])
        return whole(network, x, sizes)

    monkeypatch.setattr(NTL, "_encode", counted)
    for n_rows in (WIDTH, WIDTH + 1):
        folded.losses(torch.ones(MEMBERS, n_rows, FEATURES))
    assert asked == [WIDTH]
