"""Gradients of the last layer as embeddings, for gradient-diverse queries (BADGE)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from soel.networks.training.model import Model
from soel.types import Floats

WIDTH = 2048  # longer gradients are folded into this many values by a random signed sum
BLOCK = 256


def gradient_embeddings(model: Model, x: Floats, is_anomaly: np.ndarray, seed: int = 0) -> Floats:
    """Gradients (n, D) of each row's loss under its pseudo-label, all members side by side.

    x: (n, d). is_anomaly: (n,) of bool, the pseudo-labels. D is at most WIDTH per member.
    """
    backbone = model.backbone.eval()
    parameters = {name: p.detach() for name, p in backbone.named_parameters()}
    last = parameters.pop(backbone.last_layer)
    buffers = dict(backbone.named_buffers())

    def loss(layer: Tensor, row: Tensor, target: Tensor) -> Any:
        state = {**parameters, **buffers, backbone.last_layer: layer}
        rows = row.expand(model.n_members, 1, -1)
        l0, l1 = functional_call(_Losses(backbone), {f"backbone.{k}": v for k, v in state.items()}, (rows,))
        return (target * l1 + (1 - target) * l0).sum()

    per_row = vmap(grad(loss), in_dims=(None, 0, 0))
    fold = _Fold(last.numel(), seed)
    rows = torch.from_numpy(np.ascontiguousarray(x, np.float32)).to(model.device)
    targets = torch.from_numpy(is_anomaly.astype(np.float32)).to(model.device)
    parts = [
        fold(per_row(last, block, target).flatten(1)).cpu().numpy()
        for block, target in zip(rows.split(BLOCK), targets.split(BLOCK), strict=True)
    ]
    return np.concatenate(parts)


class _Losses(torch.nn.Module):
    """`functional_call` calls `forward`; backbones have `losses`."""

    def __init__(self, backbone: torch.nn.Module) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.backbone.losses(x)  # type: ignore[no-any-return, operator]


class _Fold:
    """A random signed sum into WIDTH buckets: keeps distances on average, needs no projection matrix."""

    def __init__(self, length: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.width = min(length, WIDTH)
        self.buckets = torch.from_numpy(rng.integers(self.width, size=length))
        self.signs = torch.from_numpy(rng.choice(np.array([-1.0, 1.0], np.float32), size=length))
        self.needed = length > WIDTH

    def __call__(self, gradients: Tensor) -> Tensor:
        if not self.needed:
            return gradients
        folded = torch.zeros(len(gradients), self.width, device=gradients.device)
        signed = gradients * self.signs.to(gradients.device)
        return folded.index_add_(1, self.buckets.to(gradients.device), signed)
