"""Linear layers and batch-norm for S members times G groups, as one computation each.

Rows run along the last axis: activations are (S, G, features, B). So a layer is one batched matrix
product, and batch-norm sees each channel's rows contiguously.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from soel.deep import F, Tensor, nn, torch

MOMENTUM = 0.1  # of the running statistics


class MemberLinear(nn.Module):
    """Linear layers, one per member and group, with torch's default initialisation."""

    def __init__(
        self, rngs: Sequence[np.random.Generator], groups: int, n_in: int, n_out: int, biased: bool = False
    ) -> None:
        super().__init__()
        self.weight = _draw(rngs, groups, n_out, n_in)
        self.bias = _draw(rngs, groups, n_out, n_in, 1) if biased else None

    def forward(self, x: Tensor) -> Tensor:
        """(S, G, n_in, B) -> (S, G, n_out, B); a group axis of 1 is shared on either side."""
        members, groups, n_out, n_in = self.weight.shape
        if groups > 1 and x.shape[1] == 1:  # one input, many groups: stack the groups' rows into one product
            y = torch.matmul(self.weight.view(members, -1, n_in), x[:, 0]).view(members, groups, n_out, -1)
        else:
            y = torch.matmul(self.weight, x)
        return y if self.bias is None else y + self.bias


def _draw(rngs: Sequence[np.random.Generator], groups: int, n_out: int, n_in: int, last: int = 0) -> nn.Parameter:
    """Uniform within 1 / sqrt(n_in), from each member's own generator."""
    draws = np.empty((len(rngs), groups, n_out, last or n_in), np.float32)
    for rng, part in zip(rngs, draws, strict=True):
        rng.random(dtype=np.float32, out=part)
    return nn.Parameter(torch.from_numpy(draws).mul_(2).sub_(1).mul_(1 / math.sqrt(n_in)))


class BatchNorm(nn.Module):
    """Batch-norm, one per member, group and channel; affine: with a scale and a shift that are learnt.

    On a single row the batch statistics are undefined: the running ones are used and left as they are.
    """

    def __init__(self, members: int, groups: int, width: int, affine: bool = False) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(members * groups * width)) if affine else None
        self.shift = nn.Parameter(torch.zeros(members * groups * width)) if affine else None
        self.register_buffer("mean", torch.zeros(members * groups * width))
        self.register_buffer("variance", torch.ones(members * groups * width))
        self.mean: Tensor
        self.variance: Tensor

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """(S, G, width, B) -> the same shape. sizes: of the batches in x, each with statistics of its own."""
        if self.training and len(sizes) > 1:
            return torch.cat([self(batch) for batch in x.split(list(sizes), dim=-1)], dim=-1)
        flat = x.reshape(1, -1, x.shape[-1])
        normed = F.batch_norm(
            flat,
            self.mean,
            self.variance,
            self.scale,
            self.shift,
            training=self.training and x.shape[-1] > 1,
            momentum=MOMENTUM,
        )
        return normed.view_as(x)


class Perceptron(nn.Module):
    """Linear layers with ReLU, and batch-norm where asked, between them. affine: with biases, and affine batch-norm."""

    def __init__(
        self,
        rngs: Sequence[np.random.Generator],
        groups: int,
        widths: Sequence[int],
        batch_norm: bool,
        affine: bool = False,
    ) -> None:
        super().__init__()
        pairs = list(pairwise(widths))
        self.linears = nn.ModuleList(MemberLinear(rngs, groups, n_in, n_out, affine) for n_in, n_out in pairs)
        widths = widths[1:-1] if batch_norm else ()
        self.norms = nn.ModuleList(BatchNorm(len(rngs), groups, width, affine) for width in widths)

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """(S, G, widths[0], B) -> (S, G, widths[-1], B). sizes: of the batches in x, which are normed apart."""
        x = self.hidden(x, sizes)
        return self.linears[-1](x)  # type: ignore[no-any-return]

    def hidden(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """What the last linear layer gets."""
        for place, linear in enumerate(list(self.linears)[:-1]):
            x = linear(x)
            x = self.norms[place](x, sizes) if len(self.norms) else x
            x = F.relu(x, inplace=True)  # neither layer needs its own output again
        return x
