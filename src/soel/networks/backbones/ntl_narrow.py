"""NTL for feature vectors on machines without a GPU: views through a narrow middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from soel.networks.backbones.layers import Linear
from soel.networks.backbones.ntl import NTL, encoder_widths


class NarrowNTL(NTL):
    """A view widens again only to enter the encoder: those two layers are taken as one, folded anew for each batch.

    With 2048 features and views 64 wide that leaves a third of the operations. It is the same network as `FeatureNTL`,
    with `view_width` units in the middle of each view.
    """

    def __init__(
        self, n_features: int, rngs: Sequence[np.random.Generator], n_views: int = 15, view_width: int = 64
    ) -> None:
        d, width = n_features, min(view_width, n_features)
        super().__init__(rngs, n_views, [d, width, width, d], encoder_widths(d), residual=False)

    def _encode(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        first, last = cast(Linear, self.encoder.linears[0]).weight, cast(Linear, self.views.linears[-1]).weight
        if x.shape[1] <= last.shape[-1]:  # folding costs as much as this many rows do
            return super()._encode(x, sizes)
        rows = x.transpose(1, 2).unsqueeze(1)  # (S, 1, d, B)
        views = torch.matmul(torch.matmul(first, last), self.views.hidden(rows, sizes))  # (S, T, hidden, B)
        codes = torch.cat([torch.matmul(first, rows), views], dim=1)  # (S, T+1, hidden, B)
        for linear in self.encoder.linears[1:]:
            codes = linear(F.relu(codes, inplace=True))
        return codes.permute(0, 3, 1, 2)  # (S, B, T+1, z)
