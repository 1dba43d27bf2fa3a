"""Losses, embeddings and gradients of many rows, block by block, in eval mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from soel.deep import Tensor, torch
from soel.networks.model import Model, threads_for
from soel.numeric import parallel_map
from soel.types import Floats

Result = TypeVar("Result")

BLOCK_VALUES = 1 << 18  # activations per block: fits the cache of a core, bounds the memory
WIDTH = 2048  # longer gradients are folded into this many values by a random signed sum
BLOCK = 256


def losses(model: Model, x: Floats) -> tuple[Floats, Floats]:
    """L0 and L1, each (S, n), of rows x: (n, d) seen by all members, or (S, n, d) one matrix each."""
    first, second = [], []
    for l0, l1 in _blocks(model, x, model.backbone.losses):
        first.append(l0.cpu().numpy())
        second.append(l1.cpu().numpy())
    return np.concatenate(first, axis=1), np.concatenate(second, axis=1)


def embed(model: Model, x: Floats) -> Floats:
    """Embeddings (S, n, D) of rows x: (n, d) or (S, n, d)."""
    return np.concatenate([part.cpu().numpy() for part in _blocks(model, x, model.backbone.embed)], axis=1)


def _blocks(model: Model, x: Floats, compute: Callable[[Tensor], Result]) -> list[Result]:
    matrix = torch.from_numpy(np.ascontiguousarray(x, np.float32))
    rows = matrix.expand(model.n_members, *matrix.shape) if matrix.ndim == 2 else matrix
    size = rows_per_block(rows.shape[0] * rows.shape[-1])
    model.backbone.eval()

    @torch.inference_mode()
    def one(block: Tensor) -> Result:
        return compute(block.to(model.device))

    blocks = rows.split(size, dim=1)
    if model.device.type == "cpu" and len(blocks) > 1:
        with threads_for(0, 0):  # one thread a block: none waits for another inside an operation
            return parallel_map(one, blocks, lambda: torch.set_num_threads(1))
    n_parameters = sum(parameter.numel() for parameter in model.backbone.parameters())
    with threads_for(size, n_parameters):
        return [one(block) for block in blocks]


def rows_per_block(row_values: int) -> int:
    """A power of two from 256 to 8192: parts of the pool that begin at multiples of 8192 are cut as the whole is."""
    fitting = BLOCK_VALUES // max(1, row_values * 16)
    return int(min(8192, max(256, 1 << max(fitting, 1).bit_length() - 1)))


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
        l0, l1 = torch.func.functional_call(_Losses(backbone), {f"backbone.{k}": v for k, v in state.items()}, (rows,))
        return (target * l1 + (1 - target) * l0).sum()

    per_row = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
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
