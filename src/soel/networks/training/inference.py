"""Losses and embeddings of many rows, block by block, in eval mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from soel.networks.training.model import Model
from soel.networks.training.threads import threads_for
from soel.threads import parallel_map
from soel.types import Floats

Result = TypeVar("Result")

BLOCK_VALUES = 1 << 18  # activations per block: fits the cache of a core, bounds the memory


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
