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
    """Bias-free linear layers, one per member and group, with torch's default initialisation."""

    def __init__(self, rngs: Sequence[np.random.Generator], groups: int, n_in: int, n_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        draws = np.empty((len(rngs), groups, n_out, n_in), np.float32)
        for rng, part in zip(rngs, draws, strict=True):
            rng.random(dtype=np.float32, out=part)
        self.weight = nn.Parameter(torch.from_numpy(draws).mul_(2).sub_(1).mul_(bound))

    def forward(self, x: Tensor) -> Tensor:
        """(S, G, n_in, B) -> (S, G, n_out, B); a group axis of 1 is shared on either side."""
        members, groups, n_out, n_in = self.weight.shape
        if groups > 1 and x.shape[1] == 1:  # one input, many groups: stack the groups' rows into one product
            return torch.matmul(self.weight.view(members, -1, n_in), x[:, 0]).view(members, groups, n_out, -1)
        return torch.matmul(self.weight, x)


class BatchNorm(nn.Module):
    """Batch-norm without affine part, one per member, group and channel.

    On a single row the batch statistics are undefined: the running ones are used and left as they are.
    """

    def __init__(self, members: int, groups: int, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(members * groups * width))
        self.register_buffer("variance", torch.ones(members * groups * width))
        self.mean: Tensor
        self.variance: Tensor

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """(S, G, width, B) -> the same shape. sizes: of the batches in x, each with statistics of its own."""
        if self.training and len(sizes) > 1:
            return torch.cat([self(batch) for batch in x.split(list(sizes), dim=-1)], dim=-1)
        flat = x.reshape(1, -1, x.shape[-1])
        return F.batch_norm(
            flat, self.mean, self.variance, training=self.training and x.shape[-1] > 1, momentum=MOMENTUM
        ).view_as(x)


class NoNorm(nn.Module):
    """Stands where there is no batch-norm."""

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """What it is given."""
        return x


class Perceptron(nn.Module):
    """Linear layers with ReLU, and batch-norm where asked, between them."""

    def __init__(
        self, rngs: Sequence[np.random.Generator], groups: int, widths: Sequence[int], batch_norm: bool
    ) -> None:
        super().__init__()
        pairs = list(pairwise(widths))
        self.linears = nn.ModuleList(MemberLinear(rngs, groups, n_in, n_out) for n_in, n_out in pairs)
        self.norms = nn.ModuleList(
            BatchNorm(len(rngs), groups, width) if batch_norm else NoNorm() for width in widths[1:-1]
        )

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """(S, G, widths[0], B) -> (S, G, widths[-1], B). sizes: of the batches in x, which are normed apart."""
        x = self.hidden(x, sizes)
        return self.linears[-1](x)  # type: ignore[no-any-return]

    def hidden(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """What the last linear layer gets."""
        for linear, norm in zip(self.linears, self.norms, strict=False):
            x = F.relu(norm(linear(x), sizes), inplace=True)  # neither layer needs its own output again
        return x
