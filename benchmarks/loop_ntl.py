"""NTL written the straightforward way, one module per transformation: what the batched form is compared with."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from soel.networks.row_networks import contrast, encoder_widths


def perceptron(widths: list[int], batch_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(widths[:-1]):
        layers.append(nn.Linear(n_in, n_out, bias=False))
        if batch_norm:
            layers.append(nn.BatchNorm1d(n_out, affine=False))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1], bias=False))


class LoopNTL(nn.Module):
    """NTL with T modules in a Python loop."""

    def __init__(self, views: list[nn.Sequential], encoder: nn.Sequential, adds_input: bool) -> None:
        super().__init__()
        self.views, self.encoder, self.adds_input = nn.ModuleList(views), encoder, adds_input

    @classmethod
    def for_table(cls, d: int, n_views: int = 9) -> LoopNTL:
        hidden, code = (2 * d, 2 * d) if d < 32 else (64, 32)
        views = [perceptron([d, d, d, d], True) for _ in range(n_views)]
        return cls(views, perceptron([d, hidden, hidden, code], False), adds_input=True)

    @classmethod
    def for_features(cls, d: int, n_views: int = 15) -> LoopNTL:
        views = [perceptron([d, d, d, d], True) for _ in range(n_views)]
        return cls(views, perceptron(encoder_widths(d), False), adds_input=False)

    def losses(self, x: Tensor) -> tuple[Tensor, Tensor]:
        codes = [self.encoder(x)] + [self.encoder(x + view(x) if self.adds_input else view(x)) for view in self.views]
        l0, l1 = contrast(torch.stack(codes, dim=1)[None])
        return l0[0], l1[0]


def train_loop(
    model: LoopNTL, pool: Tensor, is_anomaly: Tensor, share: float, epochs: int, batch_size: int, rate: float = 1e-3
) -> None:
    """The steps of profile `authors`: all labelled rows, then a batch of the others, pseudo-labels per batch.

    The first rows of the pool (n, d) are the labelled ones, is_anomaly: (k,) their labels as numbers.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    n_known = len(is_anomaly)
    known, y = pool[:n_known], is_anomaly
    model.train()
    for _ in range(epochs):
        for batch in (torch.randperm(len(pool) - n_known, device=pool.device) + n_known).split(batch_size):
            l0, l1 = model.losses(known)
            _step(optimizer, (y * l1 + (1 - y) * l0).mean())
            l0, l1 = model.losses(pool[batch])
            suspected = torch.zeros(len(batch), device=pool.device)
            suspected[(l0 - l1).topk(round(share * len(batch))).indices] = 0.5
            _step(optimizer, (suspected * l1 + (1 - suspected) * l0).mean())


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
