"""Steps of equal size in every direction for the matrices of a network, many matrices at a time."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.optim import Optimizer

COEFFICIENTS, ROUNDS = (3.4445, -4.7750, 2.0315), 5  # of the Newton-Schulz iteration


class Muon(Optimizer):
    """Momentum whose matrix is replaced by the nearest orthogonal one; as large a step as Adam's at the same rate."""

    def __init__(
        self, matrices: Iterable[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.01
    ) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step; matrices of one shape go together."""
        for group in self.param_groups:
            matrices = [p for p in group["params"] if p.grad is not None]
            moments = [self.state[p].setdefault("moment", torch.zeros_like(p)) for p in matrices]
            gradients = [p.grad for p in matrices]
            torch._foreach_lerp_(moments, gradients, 1 - group["momentum"])
            ahead = torch._foreach_lerp(gradients, moments, group["momentum"])
            torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
            shapes = {p.shape for p in matrices}
            for shape in sorted(shapes):
                which = [i for i, p in enumerate(matrices) if p.shape == shape]
                steps = orthogonal(torch.stack([ahead[i] for i in which]))
                size = 0.2 * max(shape) ** 0.5
                torch._foreach_add_([matrices[i] for i in which], list(steps.unbind()), alpha=-group["lr"] * size)


def orthogonal(matrices: Tensor) -> Tensor:
    """About the nearest matrices (m, a, b) with singular values of one."""
    a, b, c = COEFFICIENTS
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    tall = x.shape[1] > x.shape[2]
    x = x.transpose(1, 2) if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return (x.transpose(1, 2) if tall else x).to(matrices.dtype)
