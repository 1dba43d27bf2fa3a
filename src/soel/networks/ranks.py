"""Several processes that compute one batch: each has some of its rows, and sums go over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from soel.deep import Tensor, nn, torch

EPSILON = 1e-5  # added to a variance, as in torch's batch-norm


class Ranks:
    """The processes of a training. Here: this one alone, so that a sum is what it was given.

    present: (S, b), 1 for rows of the current batch that are in this process and 0 for padding, None for no
    padding at all. n_rows: how many rows the batch has in all processes together.
    """

    n_ranks: int = 1
    present: Tensor | None = None
    n_rows: int = 0

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes, the same in each of them. Every process must call it in the same order."""
        return values


ALONE = Ranks()


@contextmanager
def working_with(backbone: nn.Module, ranks: Ranks) -> Iterator[None]:
    """Let every part of a backbone that sums over rows sum over these processes."""
    parts: list[Any] = [module for module in backbone.modules() if hasattr(module, "ranks")]
    for part in parts:
        part.ranks = ranks
    try:
        yield
    finally:
        for part in parts:
            part.ranks = ALONE


class SharedNorm(torch.autograd.Function):
    """Batch-norm whose statistics go over the rows of all processes; torch's own needs a GPU for that.

    Sums are taken about the running mean and in float64, so that a difference of squares keeps its digits.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, about: Tensor, ranks: Ranks) -> tuple[Tensor, Tensor, Tensor]:
        """(S, G, width, b) -> the same shape, and mean and variance (S, G, width, 1). about: the running mean."""
        assert ranks.present is not None
        present = ranks.present[:, None, None]
        moved = (x - about) * present
        first, second = ranks.total(torch.stack([_sum(moved), _sum(moved * moved)])) / ranks.n_rows
        variance = (second - first.square()).clamp_min(0).to(x.dtype)
        mean, scale = first.to(x.dtype) + about, (variance + EPSILON).rsqrt()
        ctx.save_for_backward(x, present, mean, scale)
        ctx.ranks, ctx.n_rows = ranks, ranks.n_rows
        ctx.mark_non_differentiable(mean, variance)
        return (x - mean) * scale, mean, variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The gradient of the rows that are here; padding gets none."""
        x, present, mean, scale = ctx.saved_tensors
        gradient, normed = gradients[0] * present, (x - mean) * scale
        sums = ctx.ranks.total(torch.stack([_sum(gradient), _sum(gradient * normed)])) / ctx.n_rows
        first, second = sums.to(x.dtype)
        return (gradient - first - normed * second) * scale * present, None, None


def _sum(x: Tensor) -> Tensor:
    return x.sum(-1, keepdim=True, dtype=torch.float64)
