"""A wide residual network for S members at once: their channels stand side by side and never mix."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEM = 16
_STREAMS = 2**40  # steps that a seed can count before it meets its neighbour


class Conv(nn.Module):
    """Bias-free convolutions, one per member, with He's initialisation. Activations are (N, S * channels, H, W)."""

    def __init__(self, rngs: Sequence[np.random.Generator], n_in: int, n_out: int, side: int, stride: int = 1) -> None:
        super().__init__()
        self.members, self.stride, self.padding = len(rngs), stride, side // 2
        deviation = math.sqrt(2 / (n_out * side * side))
        draws = [rng.standard_normal((n_out, n_in, side, side), dtype=np.float32) for rng in rngs]
        self.weight = nn.Parameter(torch.from_numpy(np.concatenate(draws)) * deviation)

    def forward(self, x: Tensor) -> Tensor:
        """One grouped convolution for all members."""
        return F.conv2d(x, self.weight, None, self.stride, self.padding, 1, self.members)


class Norm(nn.Module):
    """Batch-norm with scale and shift, one per member and channel."""

    def __init__(self, members: int, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(members * channels))
        self.bias = nn.Parameter(torch.zeros(members * channels))
        self.register_buffer("mean", torch.zeros(members * channels))
        self.register_buffer("variance", torch.ones(members * channels))
        self.mean: Tensor
        self.variance: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, self.training, 0.1, 1e-5)


class Dropout(nn.Module):
    """Dropout whose chance comes from the members' own generators: seed and step are part of the state."""

    def __init__(self, rngs: Sequence[np.random.Generator], share: float) -> None:
        super().__init__()
        self.share = share
        seeds = [int(rng.integers(2**20)) for rng in rngs]
        self.register_buffer("seed", torch.tensor(seeds, dtype=torch.int64))
        self.register_buffer("step", torch.zeros(len(rngs), dtype=torch.int64))
        self.seed: Tensor
        self.step: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Zeros a share of the activations while training."""
        if not self.training or not self.share:
            return x
        keys = (self.seed * _STREAMS + self.step).tolist()
        self.step += 1
        parts = [self._mask(part, key) for part, key in zip(x.chunk(len(keys), dim=1), keys, strict=True)]
        return x * torch.cat(parts, dim=1)

    def _mask(self, x: Tensor, key: int) -> Tensor:
        generator = torch.Generator(x.device)
        generator.manual_seed(key)
        kept = torch.rand(x.shape, generator=generator, device=x.device) >= self.share
        return kept.to(x.dtype) / (1 - self.share)


class Block(nn.Module):
    """Norm, ReLU, convolution, twice, with dropout between them and a short cut around."""

    def __init__(self, rngs: Sequence[np.random.Generator], n_in: int, n_out: int, stride: int, dropout: float) -> None:
        super().__init__()
        members = len(rngs)
        self.norm_in, self.norm_out = Norm(members, n_in), Norm(members, n_out)
        self.conv_in, self.conv_out = Conv(rngs, n_in, n_out, 3, stride), Conv(rngs, n_out, n_out, 3)
        self.dropout = Dropout(rngs, dropout)
        self.shortcut = Conv(rngs, n_in, n_out, 1, stride) if n_in != n_out or stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        """(N, S * n_in, H, W) -> (N, S * n_out, H / stride, W / stride)."""
        h = F.relu(self.norm_in(x))
        around = x if self.shortcut is None else self.shortcut(h)
        h = self.dropout(F.relu(self.norm_out(self.conv_in(h))))
        return around + self.conv_out(h)  # type: ignore[no-any-return]


class WideResNet(nn.Module):
    """Depth 6 n + 4 and a widening factor; the features are the mean over the picture of the last channels."""

    def __init__(
        self,
        rngs: Sequence[np.random.Generator],
        n_channels: int,
        depth: int = 16,
        widen: int = 4,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        self.members, n_blocks = len(rngs), (depth - 4) // 6
        self.stem = Conv(rngs, n_channels, STEM, 3)
        blocks, n_in = [], STEM
        for stage in range(3):
            n_out = STEM * widen * 2**stage
            for number in range(n_blocks):
                blocks.append(Block(rngs, n_in, n_out, 2 if stage and not number else 1, dropout))
                n_in = n_out
        self.blocks, self.norm, self.n_features = nn.ModuleList(blocks), Norm(len(rngs), n_in), n_in

    def forward(self, x: Tensor) -> Tensor:
        """Pictures (S, N, C, H, W) -> features (S, N, n_features)."""
        h = self.stem(x.transpose(0, 1).flatten(1, 2))
        for block in self.blocks:
            h = block(h)
        pooled = F.relu(self.norm(h)).mean(dim=(2, 3))  # (N, S * n_features)
        return pooled.view(len(pooled), self.members, -1).transpose(0, 1)
