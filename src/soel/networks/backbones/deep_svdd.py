"""Deep SVDD: normal rows are drawn to one fixed centre."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from soel.networks.backbones.base import Backbone, Pair
from soel.networks.backbones.layers import Perceptron

INVERSE_OFFSET = 1e-6  # keeps 1 / L0 finite at the centre
CENTRE_MARGIN = 0.1  # a centre at 0 could be reached by zero weights


class DeepSVDD(Backbone):
    """An MLP whose squared distance to the centre of its own initial outputs is the score."""

    def __init__(
        self, n_features: int, rngs: Sequence[np.random.Generator], widths: Sequence[int] = (1024, 512, 128)
    ) -> None:
        super().__init__()
        self.n_members = len(rngs)
        self.network = Perceptron(rngs, 1, [n_features, *widths], batch_norm=True)
        self.last_layer = f"network.linears.{len(widths) - 1}.weight"
        self.register_buffer("centre", torch.zeros(len(rngs), 1, widths[-1]))
        self.centre: Tensor

    @torch.no_grad()
    def prepare(self, pool: Tensor) -> None:
        """Fix the centre: the mean output, entries near 0 moved away from it."""
        outputs = [self.embed(part) for part in pool.split(4096, dim=1)]
        n_rows = self.ranks.total(torch.tensor(float(pool.shape[1]), dtype=torch.float64))
        centre = self.ranks.total(torch.cat(outputs, dim=1).sum(dim=1, keepdim=True)) / n_rows.item()
        sign = torch.where(centre < 0, -1.0, 1.0)
        self.centre.copy_(sign * centre.abs().clamp_min(CENTRE_MARGIN))

    def losses(self, x: Tensor) -> Pair:
        """Squared distance to the centre, and its inverse."""
        distance = (self.embed(x) - self.centre).square().sum(-1)
        return distance, 1 / (distance + INVERSE_OFFSET)

    def embed(self, x: Tensor) -> Tensor:
        """The network's output."""
        output = self.network(x.transpose(1, 2).unsqueeze(1))  # (S, 1, z, B)
        return output.squeeze(1).transpose(1, 2)  # type: ignore[no-any-return]
