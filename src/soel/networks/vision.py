"""MHRot for pictures: a wide residual network that says which way a picture was shifted and turned."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from soel.deep import F, Tensor, nn, torch
from soel.errors import ConfigError
from soel.networks.base import Backbone, Pair

STEM = 16
Result = TypeVar("Result")
SHIFT = 8  # pixels
N_SHIFTS, N_TURNS = 3, 4
N_VIEWS = N_SHIFTS * N_SHIFTS * N_TURNS
BLOCKS = {"cpu": 16, "cuda": 128}  # pictures at a time outside of training: bounds the memory


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
        weight = self.weight.contiguous(memory_format=torch.channels_last)
        return F.conv2d(x, weight, None, self.stride, self.padding, 1, self.members)


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
        return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, self.training, 0.1, 1e-5)


class Dropout(nn.Module):
    """Dropout by counting: each activation's bits are a hash of its place, the member's seed and the step.

    So a member of a stack drops what it would drop alone, on every device, and a GPU can record the step.
    """

    def __init__(self, rngs: Sequence[np.random.Generator], share: float) -> None:
        super().__init__()
        self.share = share
        seeds = [int(rng.integers(2**31)) for rng in rngs]
        self.register_buffer("seed", torch.tensor(seeds, dtype=torch.int64))
        self.register_buffer("step", torch.zeros(len(rngs), dtype=torch.int64))
        self.seed: Tensor
        self.step: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Zeros a share of the activations (N, S * channels, H, W) while training; channels are even in number."""
        if not self.training or not self.share:
            return x
        kept = self._bits(x) >= round(self.share * 2**16) - 2**15
        self.step += 1
        return x * (kept.to(x.dtype) / (1 - self.share))

    def _bits(self, x: Tensor) -> Tensor:
        """Random numbers in 16 bits, of the shape of x; hashed in pairs, in the order in which x lies in memory."""
        n_rows, width, height, across = x.shape
        members, places = len(self.seed), n_rows * height * across
        key = ((self.seed * 0x9E3779B1 + self.step * 0x85EBCA77) & 0x7FFFFFFF).to(torch.int32).unsqueeze(-1)
        pairs = torch.arange(places * width // members // 2, dtype=torch.int32, device=x.device)
        h = pairs.view(places, 1, -1) * (2 * key + 1) + key  # (places, S, channels / 2)
        for shift, factor in ((16, 0x7FEB352D), (15, 0x046CA68B)):
            h = (h ^ ((h >> shift) & (0xFFFFFFFF >> shift))) * factor
        h = h ^ ((h >> 16) & 0xFFFF)
        return h.view(torch.int16).view(n_rows, height, across, width).permute(0, 3, 1, 2)


class ResidualBlock(nn.Module):
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
                blocks.append(ResidualBlock(rngs, n_in, n_out, 2 if stage and not number else 1, dropout))
                n_in = n_out
        self.blocks, self.norm, self.n_features = nn.ModuleList(blocks), Norm(len(rngs), n_in), n_in

    def forward(self, x: Tensor, in_half: bool = False) -> Tensor:
        """Pictures (S, N, C, H, W) -> features (S, N, n_features). in_half: activations and products in bfloat16."""
        with torch.autocast(x.device.type, torch.bfloat16, enabled=in_half):
            h = self.stem(x.transpose(0, 1).flatten(1, 2).contiguous(memory_format=torch.channels_last))
            for block in self.blocks:
                h = block(h)
            pooled = F.relu(self.norm(h)).float().mean(dim=(2, 3))  # (N, S * n_features)
        return pooled.view(len(pooled), self.members, -1).transpose(0, 1)


class MHRot(Backbone):
    """36 views of each picture; three heads say the shift across, the shift down and the turn.

    Rows are square pictures (side, side, channels) of 1 or 3 channels, laid out flat. Values from 0 to 255, from
    0 to 1 or from -1 to 1 are brought to [-1, 1], as the pool decides.
    penalty: on the mean square of the features, while training. On a GPU training takes bfloat16 inside the network,
    unless the schedule wants full precision.
    """

    version = 2  # dropout by counting

    def __init__(
        self,
        n_features: int,
        rngs: Sequence[np.random.Generator],
        depth: int = 16,
        widen: int = 4,
        dropout: float = 0.3,
        penalty: float = 10.0,
    ) -> None:
        super().__init__()
        self.n_members, self.penalty = len(rngs), penalty
        self.side, self.channels = picture_shape(n_features)
        places = torch.arange(self.side**2).view(1, 1, self.side, self.side)
        views = all_views(places.double(), min(SHIFT, self.side // 3))  # torch reflects no integers
        self.register_buffer("places", views.long().flatten(), persistent=False)  # the pixel that each view's shows
        self.places: Tensor
        self.network = WideResNet(rngs, self.channels, depth, widen, dropout)
        width = N_SHIFTS + N_SHIFTS + N_TURNS
        bound = 1 / math.sqrt(self.network.n_features)
        draws = [rng.uniform(-bound, bound, (width, self.network.n_features)).astype(np.float32) for rng in rngs]
        self.heads = nn.Parameter(torch.from_numpy(np.stack(draws)))  # the three heads, one under the other
        self.last_layer = "heads"
        self.register_buffer("centre", torch.full((len(rngs), n_features), 127.5))  # says how large a picture is
        self.register_buffer("width", torch.full((len(rngs), 1), 127.5))
        self.centre: Tensor
        self.width: Tensor

    def prepare(self, pool: Tensor) -> None:
        """Find out how pixels are written: as bytes, from 0 to 1, or from -1 to 1."""
        low, high = float(pool.min()), float(pool.max())
        centre, width = (127.5, 127.5) if high > 1 else (0.0, 1.0) if low < 0 else (0.5, 0.5)
        self.centre.fill_(centre)
        self.width.fill_(width)

    def losses(self, x: Tensor) -> Pair:
        """L0: cross-entropy to the true view. L1: cross-entropy to 'any view'. Means over heads and views."""
        pairs = self._each_block(x, self._losses)
        return torch.cat([first for first, _ in pairs], dim=1), torch.cat([second for _, second in pairs], dim=1)

    def embed(self, x: Tensor) -> Tensor:
        return torch.cat(self._each_block(x, lambda rows: self._features(rows).flatten(2)), dim=1)

    def _each_block(self, x: Tensor, compute: Callable[[Tensor], Result]) -> list[Result]:
        """In one go while training, since batch-norm has to see the batch; in blocks otherwise."""
        size = x.shape[1] if self.training else BLOCKS.get(x.device.type, BLOCKS["cpu"])
        return [compute(part) for part in x.split(size, dim=1)]

    def _losses(self, x: Tensor) -> Pair:
        features = self._features(x)  # (S, B, 36, z)
        logits = torch.einsum("sbvz,shz->sbvh", features, self.heads)
        l0 = l1 = torch.zeros_like(logits[..., 0])
        for scores, target in zip(logits.split([N_SHIFTS, N_SHIFTS, N_TURNS], -1), view_targets(x.device), strict=True):
            log_p = F.log_softmax(scores, dim=-1)
            l0 = l0 - log_p.gather(-1, target.expand(log_p.shape[:-1]).unsqueeze(-1)).squeeze(-1) / 3
            l1 = l1 - log_p.mean(-1) / 3
        l0, l1 = l0.mean(-1), l1.mean(-1)
        if not self.training or not self.penalty:
            return l0, l1
        cost = self.penalty * features.square().mean(dim=(-2, -1))
        return l0 + cost, l1 + cost  # on both: whatever a row weighs on them, it pays once

    def _features(self, x: Tensor) -> Tensor:
        members, n_rows, _ = x.shape
        pixels = (x - self.centre.unsqueeze(1)) / self.width.unsqueeze(-1)
        views = pixels.view(members, n_rows, -1, self.channels)[:, :, self.places]  # one copy makes all 36
        pictures = views.view(members, n_rows * N_VIEWS, self.side, self.side, self.channels).movedim(-1, 2)
        in_half = self.training and x.is_cuda and torch.get_float32_matmul_precision() != "highest"
        return self.network(pictures, in_half).view(members, n_rows, N_VIEWS, -1)  # type: ignore[no-any-return]


def all_views(pictures: Tensor, shift: int) -> Tensor:
    """Pictures (B, C, H, W) shifted and then turned: (B, 36, C, H, W). What a shift uncovers is reflected."""
    side = pictures.shape[-1]
    padded = F.pad(pictures, (shift,) * 4, mode="reflect")
    views = []
    for across in (0, -shift, shift):
        for down in (0, -shift, shift):
            top, left = shift - down, shift - across
            moved = padded[..., top : top + side, left : left + side]
            views += [torch.rot90(moved, turn, (-2, -1)) for turn in range(N_TURNS)]
    return torch.stack(views, dim=1)


def view_targets(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """For each of the 36 views: which shift across, which shift down, which turn."""
    view = torch.arange(N_VIEWS, device=device)
    return view // (N_SHIFTS * N_TURNS), view // N_TURNS % N_SHIFTS, view % N_TURNS


def picture_shape(n_features: int) -> tuple[int, int]:
    """Side and channels of a square picture with so many values; at most one of 1 and 3 channels fits."""
    for channels in (1, 3):
        side = math.isqrt(n_features // channels)
        if side * side * channels == n_features and side >= 4:
            return side, channels
    raise ConfigError(
        f"MHRot needs square pictures of 1 or 3 channels, and {n_features} values are none. "
        "Give an array of pictures, or choose another backbone."
    )
