"""Autoencoder: rows that are hard to reconstruct are anomalous."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from soel.networks.backbones.base import Backbone, Pair
from soel.networks.backbones.deep_svdd import INVERSE_OFFSET
from soel.networks.backbones.layers import Perceptron


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
