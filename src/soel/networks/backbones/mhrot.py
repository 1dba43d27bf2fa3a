"""MHRot: a network that sees which way a picture was shifted and turned knows what pictures usually look like."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from soel.errors import ConfigError
from soel.networks.backbones.base import Backbone, Pair
from soel.networks.backbones.wide_resnet import WideResNet

Result = TypeVar("Result")

SHIFT = 8  # pixels
N_SHIFTS, N_TURNS = 3, 4
N_VIEWS = N_SHIFTS * N_SHIFTS * N_TURNS
BLOCKS = {"cpu": 16, "cuda": 128}  # pictures at a time outside of training: bounds the memory


class MHRot(Backbone):
    """36 views of each picture; three heads say the shift across, the shift down and the turn.

    Rows are square pictures (side, side, channels) of 1 or 3 channels, laid out flat. Values from 0 to 255, from
    0 to 1 or from -1 to 1 are brought to [-1, 1], as the pool decides.
    penalty: on the mean square of the features, while training.
    """

    is_divisible = False  # dropout and its batch-norm go over the rows at hand

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
        self.shift = min(SHIFT, self.side // 3)
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
        """The features of all 36 views, concatenated."""
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
        pictures = pixels.reshape(-1, self.side, self.side, self.channels).permute(0, 3, 1, 2)
        views = all_views(pictures, self.shift)  # (S B, 36, C, H, W)
        features: Tensor = self.network(views.reshape(members, n_rows * N_VIEWS, *views.shape[2:]))
        return features.view(members, n_rows, N_VIEWS, -1)


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
