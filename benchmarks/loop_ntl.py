"""NTL written the straightforward way, one module per transformation: what the batched form is compared with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from soel.backbones.ntl import contrast


def perceptron(widths: list[int], batch_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(widths[:-1]):
        layers.append(nn.Linear(n_in, n_out, bias=False))
        if batch_norm:
            layers.append(nn.BatchNorm1d(n_out, affine=False))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1], bias=False))


class LoopNTL(nn.Module):
    """The table form with T modules in a Python loop."""

    def __init__(self, n_features: int, n_views: int = 9) -> None:
        super().__init__()
        d = n_features
        hidden, code = (2 * d, 2 * d) if d < 32 else (64, 32)
        self.views = nn.ModuleList(perceptron([d, d, d, d], True) for _ in range(n_views))
        self.encoder = perceptron([d, hidden, hidden, code], False)

    def losses(self, x: Tensor) -> tuple[Tensor, Tensor]:
        codes = [self.encoder(x)] + [self.encoder(x + view(x)) for view in self.views]
        l0, l1 = contrast(torch.stack(codes, dim=1)[None])
        return l0[0], l1[0]


def train_loop(
    model: LoopNTL, pool: np.ndarray, labelled: np.ndarray, is_anomaly: np.ndarray, rate: float, epochs: int
) -> None:
    """The steps of profile `authors`: all labelled rows, then a batch of the others, pseudo-labels per batch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    rows = torch.from_numpy(pool.astype(np.float32))
    others = np.setdiff1d(np.arange(len(pool)), labelled)
    known, y = rows[labelled], torch.from_numpy(is_anomaly.astype(np.float32))
    batch_size = -(-len(pool) // 5)
    rng = np.random.default_rng(0)
    model.train()
    for _ in range(epochs):
        for batch in torch.from_numpy(rng.permutation(others)).split(batch_size):
            l0, l1 = model.losses(known)
            _step(optimizer, (y * l1 + (1 - y) * l0).mean())
            l0, l1 = model.losses(rows[batch])
            suspected = torch.zeros(len(batch))
            suspected[(l0 - l1).topk(round(rate * len(batch))).indices] = 0.5
            _step(optimizer, (suspected * l1 + (1 - suspected) * l0).mean())


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
