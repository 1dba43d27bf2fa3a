"""A detector that has seen many tasks before: a network reads the pool with its labels and scores rows in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch

from soel.detectors.base import NOTHING, Detector, Options
from soel.detectors.pretrained.context import choose, column_order, keys
from soel.detectors.pretrained.network import HIGHEST_SHARE, LOWEST_SHARE, N_SHARE_BINS, Said, Seen
from soel.detectors.pretrained.passes import read_pool, read_rows
from soel.detectors.pretrained.reference import CLIP, Described, Reference
from soel.detectors.pretrained.weights import VERSION, trained_network
from soel.types import UNLABELLED, Floats, Labels

MOST_COLUMNS = 60  # that the network was trained on; of wider tables it sees the principal axes
BLOCK_ROWS = 1000
FEWEST_FREE = 10  # unlabelled rows from which the unit of scores can be told


@dataclass(frozen=True)
class PretrainedOptions(Options):
    """context_rows: a larger pool is represented by its labelled rows and a sample, so many in all."""

    context_rows: int = 1000


@dataclass(frozen=True)
class Pretrained(Detector):
    """A few rows that stand for the pool, with their labels, and what the network makes of them.

    Only these rows are kept: the network reads them when a score is first asked for. Neither the order of rows nor
    that of columns plays a part. A row of the context is no neighbour of itself when it is scored. Scores are log odds
    in units of their spread over the context.
    """

    name = "pretrained"
    version = VERSION

    context: Floats  # (m, d) in the order of `columns`
    labels: Floats  # (m,)
    columns: Floats  # (d,) which of the given columns
    axes: Floats  # (d, MOST_COLUMNS) of a wide table; (0, 0) of another
    seed: Floats  # (1,)
    weights: Floats  # (1,) their version

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Pretrained:
        """From encoded rows (N, d) and their labels (N,); the share is not looked at: the network has its own."""
        chosen = PretrainedOptions.read(options)
        pool = np.asarray(pool, np.float32)
        columns = column_order(pool)
        pool = pool[:, columns]
        rows = choose(pool, labels, chosen.context_rows, seed)
        rows = np.repeat(rows, 2) if len(rows) == 1 else rows
        context = pool[rows]
        return cls(
            context=context,
            labels=labels[rows].astype(np.float32),
            columns=columns.astype(np.float32),
            axes=_axes(context) if pool.shape[1] > MOST_COLUMNS else np.zeros((0, 0), np.float32),
            seed=np.array([seed % 2**24], np.float32),
            weights=np.array([VERSION], np.float32),
        )

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d)."""
        return self._read.logits(self._ordered(x))

    def chance(self, x: Floats) -> Floats:
        """The probability (n,) of being an anomaly, as the network was trained to tell it."""
        odds = self._read.log_odds(self._ordered(x))
        return np.asarray(1 / (1 + np.exp(-odds)))

    def embed(self, x: Floats) -> Floats:
        """The network's last states (n, w)."""
        return self._read.states(self._ordered(x))

    def space(self, x: Floats) -> Floats:
        """Rows as standardised points (n, p), every value within +-CLIP."""
        return self._read.points(self._ordered(x))

    def shares(self) -> tuple[Floats, Floats]:
        """The middles (b,) of bins of the pool's share of anomalies, and the probability (b,) of each."""
        low, high = (np.log(share / (1 - share)) for share in (LOWEST_SHARE, HIGHEST_SHARE))
        middles = low + (high - low) * (np.arange(N_SHARE_BINS) + 0.5) / N_SHARE_BINS
        assert self._read.said.shares is not None
        return 1 / (1 + np.exp(-middles)), self._read.said.shares[0].softmax(-1).numpy()

    def _ordered(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)[:, self.columns.astype(np.int64)]

    @cached_property
    def _read(self) -> _Read:
        return _Read(self)


class _Read:
    """A context that the network has read; rows come in the context's order of columns."""

    def __init__(self, fitted: Pretrained) -> None:
        self.network = trained_network(int(fitted.weights[0]))
        self.axes = fitted.axes
        self.labels = torch.from_numpy(fitted.labels.astype(np.int64))[None]
        context = self._narrow(fitted.context)
        with torch.no_grad():
            self.reference, self.pool, seen = _before_labels(
                context.tobytes(), context.shape, int(fitted.seed[0]), int(fitted.weights[0])
            )
            self.memory, self.said = read_pool(self.network, self.reference, self.pool, seen, self.labels)
        own = keys(fitted.context)
        order = np.argsort(own, kind="stable")
        self.own, first, counts = np.unique(own[order], return_index=True, return_counts=True)
        self._groups = (order, first, counts)
        logits = self.said.logits[0].numpy()
        free = fitted.labels == UNLABELLED
        usual = logits[free] if free.sum() >= FEWEST_FREE else logits
        self.middle, self.spread = float(usual.mean()), float(max(usual.std(), 1e-2))

    def logits(self, x: Floats) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        values = self._of_each(x, self.said.logits[0].numpy(), lambda said: said.logits[0])
        return np.asarray((values - self.middle) / self.spread, np.float64)

    def log_odds(self, x: Floats) -> Floats:
        """Log odds (n,) of being an anomaly."""
        return self._of_each(x, self.said.chances[0].numpy(), lambda said: said.chances[0])

    def states(self, x: Floats) -> Floats:
        """Last states (n, w)."""
        return self._of_each(x, self.said.states[0].numpy(), lambda said: said.states[0])

    def points(self, x: Floats) -> Floats:
        """Standardised rows (n, p)."""
        z = (torch.from_numpy(self._narrow(x)) - self.reference.mean[0]) / self.reference.deviation[0]
        return np.asarray(z.clamp(-CLIP, CLIP).numpy())

    def _of_each(self, x: Floats, of_context: Floats, read: Callable[[Said], torch.Tensor]) -> Floats:
        """What is read of rows (n, d), or known of them already where they are of the context."""
        order, first, counts = self._groups
        known = np.add.reduceat(of_context[order], first, axis=0) / counts.reshape(-1, *[1] * (of_context.ndim - 1))
        key = keys(x)
        at = np.minimum(np.searchsorted(self.own, key), len(self.own) - 1)
        is_own = self.own[at] == key
        values = np.empty((len(x), *of_context.shape[1:]), np.float32)
        values[is_own] = known[at[is_own]]
        others = np.flatnonzero(~is_own)
        for start in range(0, len(others), BLOCK_ROWS):
            rows = others[start : start + BLOCK_ROWS]
            values[rows] = read(self._read_rows(x[rows])).numpy()
        return values

    @torch.no_grad()
    def _read_rows(self, x: Floats) -> Said:
        rows = self.reference.describe(torch.from_numpy(self._narrow(x))[None])
        seen = self.network.cells(rows.cells, self.reference.columns)
        return read_rows(self.network, self.reference, self.pool, self.labels, self.memory, rows, seen)

    def _narrow(self, x: Floats) -> Floats:
        return np.ascontiguousarray(x if not self.axes.size else x @ self.axes, np.float32)


@lru_cache(maxsize=2)
def _before_labels(
    context: bytes, shape: tuple[int, int], seed: int, weights: int
) -> tuple[Reference, Described, Seen]:
    """What needs no label, kept for the next answer: the context stays the same when one of its rows is labelled."""
    rows = torch.from_numpy(np.frombuffer(context, np.float32).reshape(shape).copy())
    reference, pool = Reference.fit(rows[None], torch.Generator().manual_seed(seed))
    return reference, pool, trained_network(weights).cells(pool.cells, reference.columns)


def _axes(context: Floats) -> Floats:
    """Principal axes (d, p) of standardised rows; each looks where its largest entry is positive."""
    deviation = context.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1)
    _, _, axes = np.linalg.svd((context - context.mean(axis=0)) / scale, full_matrices=False)
    axes = axes[:MOST_COLUMNS]
    heads = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return np.asarray((axes * np.sign(heads)).T / scale[:, None], np.float32)
