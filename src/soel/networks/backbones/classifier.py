"""Binary classifier, for the ablation: cross-entropy instead of an anomaly loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from soel.networks.backbones.base import Backbone, Pair
from soel.networks.backbones.layers import Perceptron


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
