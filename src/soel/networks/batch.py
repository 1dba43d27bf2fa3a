"""The pool as a training sees it: all rows here, or some of them here and the rest in other processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soel.deep import Tensor, torch
from soel.networks.inference import losses
from soel.networks.model import Model
from soel.networks.ranks import ALONE, Ranks
from soel.types import Floats

Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Shard:
    """A run of rows of the pool that this process has: (n, d), of which the first is number `start` of `n_rows`."""

    x: Floats
    start: int
    n_rows: int
    ranks: Ranks


class Rows:
    """The pool on the model's device; members may share it or have one each."""

    ranks: Ranks = ALONE

    def __init__(self, model: Model, pool: Floats) -> None:
        self.pool = pool
        self._model = model
        dtype = next(model.backbone.parameters()).dtype
        self._matrix = torch.from_numpy(np.ascontiguousarray(pool)).to(model.device, dtype)
        self._index = torch.arange(model.n_members, device=model.device).unsqueeze(-1)

    def __len__(self) -> int:
        return self._matrix.shape[-2]

    def everything(self) -> Tensor:
        """(S, N, d), of the rows that are here."""
        return self._matrix.expand(self._model.n_members, *self._matrix.shape[-2:])

    def losses(self, rows: Tensor) -> Pair:
        """L0 and L1, each (S, B), of the rows (S, B); 0 for rows that are elsewhere."""
        return self._model.backbone.losses(self._take(rows))

    def losses_apart(self, batches: Sequence[Tensor]) -> list[Pair]:
        """The losses of each of these batches (S, B), which share nothing but the weights."""
        if len(batches) == 1:
            return [self.losses(batches[0])]
        rows = self._take(torch.cat(list(batches), dim=1))
        return self._model.backbone.losses_apart(rows, [batch.shape[1] for batch in batches])

    def eval_losses(self) -> tuple[Floats, Floats]:
        """L0 and L1, each (S, N), of all rows in eval mode."""
        return losses(self._model, self.pool)

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        return values

    def collect(self, pair: Pair) -> Pair:
        """What `losses` found here and elsewhere, without gradients."""
        return pair

    def sum_gradients(self) -> None:
        """Make each gradient the sum over all processes."""

    def _take(self, rows: Tensor) -> Tensor:
        """The rows (S, B) as (S, B, d)."""
        return self._matrix[rows] if self._matrix.ndim == 2 else self._matrix[self._index, rows]


class SharedRows(Rows):
    """Rows that are spread over processes. All draw the same batches; each computes those of its rows that are in one.

    Members shuffle apart, so one member may have more of a batch here than another: the gap is padded with a row
    that counts for nothing.
    """

    def __init__(self, model: Model, shard: Shard) -> None:
        super().__init__(model, shard.x)
        self._shard, self.ranks = shard, shard.ranks

    def __len__(self) -> int:
        return self._shard.n_rows

    def losses(self, rows: Tensor) -> Pair:
        """L0 and L1, each (S, B), of the rows (S, B); 0 for rows that are elsewhere."""
        own = rows - self._shard.start
        here = (own >= 0) & (own < len(self._shard.x))
        width = max(1, int(here.sum(1).max()))
        at = here.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :width]  # (S, b) places in the batch
        present = here.gather(1, at)
        self.ranks.present, self.ranks.n_rows = present.to(self._matrix.dtype), rows.shape[1]
        try:
            pair = self._model.backbone.losses(self._take(own.gather(1, at).where(present, 0)))
        finally:
            self.ranks.present = None
        first, second = (
            loss.new_zeros(rows.shape).scatter(1, at, loss.where(present, loss.new_zeros(()))) for loss in pair
        )
        return first, second

    def losses_apart(self, batches: Sequence[Tensor]) -> list[Pair]:
        """The losses of each of these batches, one after the other."""
        return [self.losses(batch) for batch in batches]

    def eval_losses(self) -> tuple[Floats, Floats]:
        """L0 and L1, each (S, N), of all rows in eval mode, those of other processes included."""
        own = slice(self._shard.start, self._shard.start + len(self._shard.x))
        whole = torch.zeros(2, self._model.n_members, len(self), dtype=self._matrix.dtype)
        for place, values in zip(whole, losses(self._model, self._shard.x), strict=True):
            place[:, own] = torch.from_numpy(values)
        first, second = self.ranks.total(whole).numpy()
        return first, second

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        return self.ranks.total(values)

    def collect(self, pair: Pair) -> Pair:
        """What `losses` found here and elsewhere, without gradients."""
        first, second = self.ranks.total(torch.stack(pair).detach())
        return first, second

    def sum_gradients(self) -> None:
        """Make each gradient the sum over all processes: one sum for all of them, since each sum is a wait."""
        gradients = [p.grad for p in self._model.backbone.parameters() if p.grad is not None]
        whole = self.ranks.total(torch.cat([gradient.flatten() for gradient in gradients]))
        for gradient, summed in zip(gradients, whole.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(summed.view_as(gradient))


def rows_of(model: Model, pool: Floats | Shard) -> Rows:
    """The rows of a pool for this model."""
    return SharedRows(model, pool) if isinstance(pool, Shard) else Rows(model, pool)
