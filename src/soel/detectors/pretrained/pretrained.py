"""A detector that has seen many tasks before: a network reads the pool with its labels and scores rows in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch

from soel.detectors.base import NOTHING, Detector, Options
from soel.detectors.neighbours import Neighbours
from soel.detectors.pretrained.context import choose, column_order, keys
from soel.detectors.pretrained.network import HIGHEST_SHARE, LOWEST_SHARE, N_SHARE_BINS, Said, Seen
from soel.detectors.pretrained.passes import read_pool, read_rows
from soel.detectors.pretrained.reference import CLIP, Described, Reference
from soel.detectors.pretrained.views import MOST_GROUPS, wide_views
from soel.detectors.pretrained.weights import VERSION, trained_network
from soel.types import UNLABELLED, Floats, Labels

NEIGHBOUR_ROWS = 2000  # of the pool, among which the distances are measured that stand beside the network
BLOCK_ROWS = 1000
FEWEST_FREE = 10  # unlabelled rows from which the unit of scores can be told
NEIGHBOURS = "neighbours."  # prefix of arrays


@dataclass(frozen=True)
class PretrainedOptions(Options):
    """context_rows: a larger pool is represented by its labelled rows and a sample, so many in all.
    neighbours_weight: of the detector `neighbours` in the sum; chosen on 118 tables (docs/detection.md).
    """

    context_rows: int = 1000
    neighbours_weight: float = 0.25


@dataclass(frozen=True)
class Pretrained(Detector):
    """A few rows that stand for the pool, with their labels, and what the network makes of them.

    Only these rows are kept: the network reads them when a score is first asked for. Neither the order of rows nor
    that of columns plays a part. A row of the context is no neighbour of itself when it is scored. Scores are log odds
    in units of their spread over the context, and a little of what the distances say.
    """

    name = "pretrained"
    version = 2

    context: Floats  # (m, d) in the order of `columns`
    labels: Floats  # (m,)
    columns: Floats  # (d,) which of the given columns
    views: Floats  # (v, d, MOST_COLUMNS) of a wide table: principal axes, then groups of columns; (0, 0, 0) of another
    seed: Floats  # (1,)
    weights: Floats  # (1,) their version
    neighbours_weight: Floats  # (1,)
    neighbours: Neighbours

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
        beside = choose(pool, labels, NEIGHBOUR_ROWS, seed)
        return cls(
            context=pool[rows],
            labels=labels[rows].astype(np.float32),
            columns=columns.astype(np.float32),
            views=wide_views(pool[rows], seed),
            seed=np.array([seed % 2**24], np.float32),
            weights=np.array([VERSION], np.float32),
            neighbours_weight=np.array([chosen.neighbours_weight], np.float32),
            neighbours=Neighbours.fit(pool[beside], labels[beside], seed),
        )

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d)."""
        x = self._ordered(x)
        weight = float(self.neighbours_weight[0])
        return np.asarray(self._read.logits(x) + weight * self.neighbours.score(x))

    def chance(self, x: Floats) -> Floats:
        """The probability (n,) of being an anomaly, as the network was trained to tell it."""
        return np.asarray(1 / (1 + np.exp(-self._read.log_odds(self._ordered(x)))))

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
        return 1 / (1 + np.exp(-middles)), self._read.shares()

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything it has learnt, by name."""
        own = {field.name: np.asarray(getattr(self, field.name), np.float32) for field in fields(self)[:-1]}
        return own | {NEIGHBOURS + name: array for name, array in self.neighbours.arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Pretrained:
        """The detector back from its arrays."""
        own = {field.name: np.asarray(arrays[field.name], np.float32) for field in fields(cls)[:-1]}
        theirs = {k.removeprefix(NEIGHBOURS): v for k, v in arrays.items() if k.startswith(NEIGHBOURS)}
        return cls(**own, neighbours=Neighbours.from_arrays(theirs))

    def _ordered(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)[:, self.columns.astype(np.int64)]

    @cached_property
    def _read(self) -> _Read:
        return _Read(self)


class _View:
    """A context that the network has read: all its columns, a group of them, or its axes (d, p)."""

    def __init__(self, fitted: Pretrained, matrix: Floats | None) -> None:
        self.network = trained_network(int(fitted.weights[0]))
        self.matrix = None if matrix is None else np.ascontiguousarray(matrix[:, matrix.any(axis=0)])
        self.labels = torch.from_numpy(fitted.labels.astype(np.int64))[None]
        context = self.narrow(fitted.context)
        with torch.no_grad():
            self.reference, self.pool, seen = _before_labels(
                context.tobytes(), context.shape, int(fitted.seed[0]), int(fitted.weights[0])
            )
            self.memory, self.said = read_pool(self.network, self.reference, self.pool, seen, self.labels)
        logits = self.said.logits[0].numpy()
        free = fitted.labels == UNLABELLED
        usual = logits[free] if free.sum() >= FEWEST_FREE else logits
        self.middle, self.spread = float(usual.mean()), float(max(usual.std(), 1e-2))

    def read(self, x: Floats) -> Said:
        """What the network says of rows (n, d)."""
        rows = self.reference.describe(torch.from_numpy(self.narrow(x))[None])
        seen = self.network.cells(rows.cells, self.reference.columns)
        return read_rows(self.network, self.reference, self.pool, self.labels, self.memory, rows, seen)

    def logits(self, said: Said) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        return np.asarray((said.logits[0].numpy() - self.middle) / self.spread)

    def narrow(self, x: Floats) -> Floats:
        """Rows (n, d) as this view has them."""
        return np.ascontiguousarray(x if self.matrix is None else x @ self.matrix, np.float32)


class _Read:
    """What the views say together: the first counts half where there are several, the others the other half."""

    def __init__(self, fitted: Pretrained) -> None:
        self.views = [_View(fitted, view) for view in fitted.views] or [_View(fitted, None)]
        n_others = len(self.views) - 1
        self.weights = np.array([0.5, *[0.5 / n_others] * n_others] if n_others else [1.0], np.float32)
        own = keys(fitted.context)
        order = np.argsort(own, kind="stable")
        self.own, first, counts = np.unique(own[order], return_index=True, return_counts=True)
        self._groups = (order, first, counts)

    def logits(self, x: Floats) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        return self._of_each(x, lambda view, said: view.logits(said))

    def log_odds(self, x: Floats) -> Floats:
        """Log odds (n,) of being an anomaly."""
        return self._of_each(x, lambda _, said: np.asarray(said.chances[0].numpy()))

    def states(self, x: Floats) -> Floats:
        """Last states (n, w)."""
        return self._of_each(x, lambda _, said: np.asarray(said.states[0].numpy()))

    def shares(self) -> Floats:
        """The probability (b,) of each bin of shares."""
        said = [view.said.shares for view in self.views]
        each = [shares[0].softmax(-1).numpy() for shares in said if shares is not None]
        return np.asarray(self.weights @ np.stack(each))

    def points(self, x: Floats) -> Floats:
        """Standardised rows (n, p) of the first view."""
        view = self.views[0]
        z = (torch.from_numpy(view.narrow(x)) - view.reference.mean[0]) / view.reference.deviation[0]
        return np.asarray(z.clamp(-CLIP, CLIP).numpy())

    def _of_each(self, x: Floats, of: Callable[[_View, Said], Floats]) -> Floats:
        """What is read of rows (n, d), or known of them already where they are of the context."""
        order, first, counts = self._groups
        context = self._together([of(view, view.said) for view in self.views])
        known = np.add.reduceat(context[order], first, axis=0) / counts.reshape(-1, *[1] * (context.ndim - 1))
        key = keys(x)
        at = np.minimum(np.searchsorted(self.own, key), len(self.own) - 1)
        is_own = self.own[at] == key
        values = np.empty((len(x), *context.shape[1:]), np.float64)
        values[is_own] = known[at[is_own]]
        others = np.flatnonzero(~is_own)
        for start in range(0, len(others), BLOCK_ROWS):
            rows = others[start : start + BLOCK_ROWS]
            with torch.no_grad():
                values[rows] = self._together([of(view, view.read(x[rows])) for view in self.views])
        return values

    def _together(self, each: list[Floats]) -> Floats:
        return np.asarray(np.tensordot(self.weights, np.stack(each), 1))


@lru_cache(maxsize=MOST_GROUPS + 1)
def _before_labels(
    context: bytes, shape: tuple[int, int], seed: int, weights: int
) -> tuple[Reference, Described, Seen]:
    """What needs no label, kept for the next answer: the context stays the same when one of its rows is labelled."""
    rows = torch.from_numpy(np.frombuffer(context, np.float32).reshape(shape).copy())
    reference, pool = Reference.fit(rows[None], torch.Generator().manual_seed(seed))
    return reference, pool, trained_network(weights).cells(pool.cells, reference.columns)
