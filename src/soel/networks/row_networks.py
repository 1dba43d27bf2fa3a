"""Networks on rows of numbers: neural transformation learning (NTL), deep SVDD, an autoencoder, a binary classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from soel.deep import F, Tensor, torch
from soel.networks.base import Backbone, Pair
from soel.networks.layers import MemberLinear, Perceptron

TEMPERATURE = 0.1
LARGE_WIDTH = 300  # columns above which layers are larger
SMALLEST_SQUARE = 1e-24  # a code of length 0 has no direction


class NTL(Backbone):
    """T learned views and the row itself go through one shared encoder; the loss contrasts their directions."""

    def __init__(
        self,
        rngs: Sequence[np.random.Generator],
        n_views: int,
        view_widths: Sequence[int],
        encoder_widths: Sequence[int],
        residual: bool,
    ) -> None:
        super().__init__()
        self.n_members, self.n_views, self.residual = len(rngs), n_views, residual
        self.views = Perceptron(rngs, n_views, view_widths, batch_norm=True)
        self.encoder = Perceptron(rngs, 1, encoder_widths, batch_norm=False)
        self.last_layer = f"encoder.linears.{len(encoder_widths) - 2}.weight"

    def losses(self, x: Tensor) -> Pair:
        """L0 and L1 of every row, in log space throughout."""
        return contrast(self._encode(x))

    def losses_apart(self, x: Tensor, sizes: Sequence[int]) -> list[Pair]:
        """All batches in one pass: each weight is read once, and its gradient written once."""
        l0, l1 = contrast(self._encode(x, sizes))
        return list(zip(l0.split(list(sizes), dim=1), l1.split(list(sizes), dim=1), strict=True))

    def embed(self, x: Tensor) -> Tensor:
        """The un-normalised encoder outputs of the row and all its views, concatenated."""
        return self._encode(x).flatten(-2)

    def _encode(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        members, n_rows, d = x.shape
        rows = x.transpose(1, 2).unsqueeze(1)  # (S, 1, d, B)
        views = self.views(rows, sizes)  # (S, T, d, B)
        if self.residual:
            views = views.add_(rows)
        # The encoder is shared: views and rows stand side by side, so that each layer is one product per member.
        inputs = torch.cat([rows.transpose(1, 2), views.transpose(1, 2)], dim=2)  # (S, d, T+1, B)
        codes: Tensor = self.encoder(inputs.reshape(members, 1, d, -1))  # (S, 1, z, (T+1) B)
        return codes.view(members, -1, self.n_views + 1, n_rows).permute(0, 3, 2, 1)  # (S, B, T+1, z)


def contrast(z: Tensor) -> Pair:
    """L0 and L1, each (S, B), from the codes z: (S, B, T+1, z), of which number 0 is the row itself.

    With own = log c(k, 0) and others = log of the sum over l of c(k, l), -log p_k is softplus(others - own) and
    -log(1 - p_k) is softplus(own - others): finite however sure the network is.
    """
    members, n_rows, n_codes, _ = z.shape
    z = z.reshape(members * n_rows, n_codes, -1).contiguous()
    products = torch.bmm(z, z.transpose(1, 2))
    norm = products.diagonal(dim1=1, dim2=2).clamp_min(SMALLEST_SQUARE).rsqrt()  # normalised here, where it is small
    similarity = products * (
        norm.unsqueeze(1) * (norm / TEMPERATURE).unsqueeze(2)
    )  # (S B, T+1, T+1): c(k, l) in log space
    same = torch.eye(n_codes - 1, dtype=torch.bool, device=z.device)
    others = similarity[:, 1:, 1:].masked_fill(same, -torch.inf).logsumexp(dim=-1)  # (S B, T)
    gap = (others - similarity[:, 1:, 0]).view(members, n_rows, n_codes - 1)
    scale = math.log(n_codes - 1)
    return F.softplus(gap).mean(-1) / scale, F.softplus(-gap).mean(-1) / scale


class TableNTL(NTL):
    """The form for tables: residual views, encoder sized by the number of columns."""

    def __init__(self, n_features: int, rngs: Sequence[np.random.Generator], n_views: int = 9) -> None:
        d = n_features
        if d < 32:
            hidden = code = 2 * d
        else:
            hidden, code = (64, 32) if d <= LARGE_WIDTH else (256, 64)
        super().__init__(rngs, n_views, [d, d, d, d], [d, hidden, hidden, code], residual=True)


class FeatureNTL(NTL):
    """The form for feature vectors of images: plain views, as wide as the features."""

    def __init__(self, n_features: int, rngs: Sequence[np.random.Generator], n_views: int = 15) -> None:
        super().__init__(rngs, n_views, [n_features] * 4, encoder_widths(n_features), residual=False)


def encoder_widths(n_features: int) -> list[int]:
    """Of the encoder of feature vectors: d - d/4 - 128, with at least 32 in the middle."""
    return [n_features, max(n_features // 4, 32), 128]


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
        first, last = (
            cast(MemberLinear, self.encoder.linears[0]).weight,
            cast(MemberLinear, self.views.linears[-1]).weight,
        )
        if x.shape[1] <= last.shape[-1]:  # folding costs as much as this many rows do
            return super()._encode(x, sizes)
        rows = x.transpose(1, 2).unsqueeze(1)  # (S, 1, d, B)
        views = torch.matmul(torch.matmul(first, last), self.views.hidden(rows, sizes))  # (S, T, hidden, B)
        codes = torch.cat([torch.matmul(first, rows), views], dim=1)  # (S, T+1, hidden, B)
        for linear in self.encoder.linears[1:]:
            codes = linear(F.relu(codes, inplace=True))
        return codes.permute(0, 3, 1, 2)  # (S, B, T+1, z)


INVERSE_OFFSET = 1e-6  # keeps 1 / L0 finite at the centre
CENTRE_MARGIN = 0.1  # a centre at 0 could be reached by zero weights


class DeepSVDD(Backbone):
    """An MLP whose mean squared distance to the centre of its own initial outputs is the score.

    The paper says: three layers, batch-norm and ReLU between them, and no more. Torch's own layers (biases, affine
    batch-norm) and the mean over the outputs come nearest to it of what was tried; `docs/backbones.md` has the figures.
    The sum over the 128 outputs brings L0 and L1 = 1 / L0 on other scales.
    """

    version = 2  # the mean, biases and affine batch-norm

    def __init__(
        self, n_features: int, rngs: Sequence[np.random.Generator], widths: Sequence[int] = (1024, 512, 128)
    ) -> None:
        super().__init__()
        self.n_members = len(rngs)
        self.network = Perceptron(rngs, 1, [n_features, *widths], batch_norm=True, affine=True)
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
        """Mean squared distance to the centre, and its inverse."""
        distance = (self.embed(x) - self.centre).square().mean(-1)
        return distance, 1 / (distance + INVERSE_OFFSET)

    def embed(self, x: Tensor) -> Tensor:
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
        hidden = self.network.hidden(x.transpose(1, 2).unsqueeze(1))  # (S, 1, h, B)
        return hidden.squeeze(1).transpose(1, 2)
