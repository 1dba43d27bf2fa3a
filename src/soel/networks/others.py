"""Deep SVDD, an autoencoder and a binary classifier, on rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soel.deep import F, Tensor, torch
from soel.networks.base import Backbone, Pair
from soel.networks.layers import Perceptron

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
        centre = torch.cat(outputs, dim=1).sum(dim=1, keepdim=True) / pool.shape[1]
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


class Autoencoder(Backbone):
    """d - h - z - h - d; the mean squared reconstruction error is L0, its inverse L1."""

    def __init__(
        self,
        n_features: int,
        rngs: Sequence[np.random.Generator],
        hidden: int | None = None,
        bottleneck: int | None = None,
    ) -> None:
        super().__init__()
        d = n_features
        hidden = hidden or min(2 * d, 512)
        bottleneck = bottleneck or min(max(d // 2, 1), 64)
        self.n_members = len(rngs)
        self.encoder = Perceptron(rngs, 1, [d, hidden, bottleneck], batch_norm=True)
        self.decoder = Perceptron(rngs, 1, [bottleneck, hidden, d], batch_norm=True)
        self.last_layer = "decoder.linears.1.weight"

    def losses(self, x: Tensor) -> Pair:
        """Reconstruction error per row, and its inverse."""
        rows = x.transpose(1, 2).unsqueeze(1)  # (S, 1, d, B)
        restored = self.decoder(F.relu(self.encoder(rows)))
        error = (restored - rows).square().mean(dim=2).squeeze(1)  # (S, B)
        return error, 1 / (error + INVERSE_OFFSET)

    def embed(self, x: Tensor) -> Tensor:
        """The bottleneck."""
        code = self.encoder(x.transpose(1, 2).unsqueeze(1))
        return code.squeeze(1).transpose(1, 2)  # type: ignore[no-any-return]


class Classifier(Backbone):
    """An MLP with one logit: L0 is the cross-entropy of 'normal', L1 that of 'anomaly'."""

    def __init__(self, n_features: int, rngs: Sequence[np.random.Generator], widths: Sequence[int] = (128, 64)) -> None:
        super().__init__()
        self.n_members = len(rngs)
        self.network = Perceptron(rngs, 1, [n_features, *widths, 1], batch_norm=False)
        self.last_layer = f"network.linears.{len(widths)}.weight"

    def losses(self, x: Tensor) -> Pair:
        """Cross-entropies of the two answers."""
        logit = self.network(x.transpose(1, 2).unsqueeze(1))[:, 0, 0]  # (S, B)
        return F.softplus(logit), F.softplus(-logit)

    def embed(self, x: Tensor) -> Tensor:
        """What the last layer gets."""
        hidden = self.network.hidden(x.transpose(1, 2).unsqueeze(1))  # (S, 1, h, B)
        return hidden.squeeze(1).transpose(1, 2)
