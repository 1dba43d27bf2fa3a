"""A context as the network reads it with its labels, and its outputs for other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from soel.detect.incontext.features import CLIP, Origin, PoolStats, RowFeatures, add_extra_distances
from soel.detect.incontext.network import CellEmbeddings, KeyValueCache, Network, Outputs
from soel.detect.incontext.ops import Array, device_for, move, ops_of, softmax
from soel.detect.incontext.sampling import MOST_GROUPS, keys
from soel.detect.incontext.weights import VERSION, trained_network
from soel.numeric import single_threaded_blas
from soel.types import UNLABELLED, Booleans, Floats, Labels

BLOCK_ROWS, GPU_BLOCK_ROWS = 1000, 8192
FEWEST_FREE = 10  # unlabelled rows from which the unit of scores can be told


@dataclass(frozen=True)
class Context:
    """Rows that stand for a pool, and what else decides how they are read.

    values: (m, d). views: (v, d, p) of a wide table, or none. n_beyond: so many rows at the end are attended to, but
    are not part of the sample that says what is usual. weights: the version of the network.
    """

    values: Floats
    views: Floats
    seed: int = 0
    n_beyond: int = 0
    weights: int = VERSION

    @property
    def n_sample(self) -> int:
        """How many rows are the sample."""
        return len(self.values) - self.n_beyond


@dataclass(frozen=True)
class Encoded:
    """A context with its labels (1, m), on one device: all that other rows are scored with."""

    network: Network
    stats: PoolStats
    pool: RowFeatures
    labels: Array
    cache: KeyValueCache


class View:
    """A context that the network reads with its labels: all its columns, a group of them, or its axes (d, p)."""

    def __init__(self, rows: Context, labels: Labels, matrix: Floats | None) -> None:
        self.network = trained_network(rows.weights)
        self.matrix = None if matrix is None else np.ascontiguousarray(matrix[:, matrix.any(axis=0)])
        self.labels = labels.astype(np.int64)[None]
        self._moved: tuple[Any, Encoded] | None = None
        context = self.narrow(rows.values)
        sample, beyond = context[: rows.n_sample], context[rows.n_sample :]
        self.stats, self.pool, self.embedded = _before_labels(sample.tobytes(), sample.shape, rows.seed, rows.weights)
        if len(beyond):
            self._append(beyond[None])

    def _append(self, rows: Floats) -> None:
        """Labelled rows (1, n, d) beyond the sample; what is known of the sample stays as it is."""
        with single_threaded_blas():
            described = self.stats.describe(rows)
            more = self.network.embed_cells(described, self.stats.columns)
            longer = RowFeatures.joined([self.pool, described])
            self.pool = add_extra_distances(self.stats, longer, longer, None)
            self.embedded = CellEmbeddings.joined([self.embedded, more])

    @cached_property
    def _after_labels(self) -> tuple[KeyValueCache, Outputs]:
        with single_threaded_blas():
            return self.network.encode_pool(self.stats, self.pool, self.embedded, self.labels)

    @property
    def outputs(self) -> Outputs:
        """The outputs for the context's own rows."""
        return self._after_labels[1]

    @cached_property
    def unit(self) -> tuple[float, float]:
        """Mean and spread of the scores over the rows without a label, where these are enough."""
        return unit_over(self._rank(self.outputs), self.labels[0] == UNLABELLED)

    def read(
        self, x: Floats, sources: Floats | None = None, same: np.ndarray | None = None, device: Any = None
    ) -> Outputs:
        """The outputs for rows (n, d). sources: (n, s, d) rows they were composed of; same: (n, s, m) where these are
        in the context. device: a GPU that computes, None for this CPU.
        """
        rows, origins, apart = self.narrow(x)[None], None, None
        if sources is not None and same is not None:
            narrow = self.narrow(sources.reshape(-1, sources.shape[2])).reshape(*sources.shape[:2], -1)
            origins = Origin(narrow[None], same[:, :, : self.stats.z.shape[1]])
            apart = np.asarray(same.any(axis=1))
        known = Encoded(self.network, self.stats, self.pool, self.labels, self._after_labels[0])
        if device is not None:
            rows, origins, apart = move((rows, origins, apart), device)
            known = self._on(device)
        ops = ops_of(rows)

        def read_block(block: slice) -> Outputs:
            origin, masked = (None, None) if origins is None or apart is None else (origins.part(block), apart[block])
            described = known.stats.describe(rows[:, block], origin)
            described = add_extra_distances(known.stats, known.pool, described, masked)
            return known.network.score_rows(known.stats, known.pool, known.labels, known.cache, described, masked)

        outputs = Outputs.joined(ops.in_blocks(read_block, len(x)))
        return Outputs(*(ops.numpy(part) for part in (outputs.logits, outputs.chances, outputs.states)))

    def _on(self, device: Any) -> Encoded:
        """The same on a device, where the context is read again: keys and values have another form there."""
        if self._moved is None or self._moved[0] != device:
            given = self.network, self.stats, self.pool, self.embedded, self.labels
            network, stats, pool, embedded, labels = move(given, device)
            cache, _ = network.encode_pool(stats, pool, embedded, labels)
            self._moved = device, Encoded(network, stats, pool, labels, cache)
        return self._moved[1]

    def logits(self, outputs: Outputs) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        middle, spread = self.unit
        return np.asarray((self._rank(outputs) - middle) / spread)

    def _rank(self, outputs: Outputs) -> Floats:
        return np.asarray(outputs.rank_by(any_label=bool((self.labels != UNLABELLED).any()))[0])

    def narrow(self, x: Floats) -> Floats:
        """Rows (n, d) as this view has them."""
        return np.ascontiguousarray(x if self.matrix is None else x @ self.matrix, np.float32)


class Predictor:
    """The mean over views: the first counts half where there are several, the others the other half."""

    def __init__(self, rows: Context, labels: Labels) -> None:
        self.views = [View(rows, labels, view) for view in rows.views] or [View(rows, labels, None)]
        n_others = len(self.views) - 1
        self.weights = np.array([0.5, *[0.5 / n_others] * n_others] if n_others else [1.0], np.float32)
        self.n_sample = rows.n_sample
        own = keys(rows.values)
        order = np.argsort(own, kind="stable")
        self.own, first, counts = np.unique(own[order], return_index=True, return_counts=True)
        self._groups = (order, first, counts)

    def logits(self, x: Floats) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        return self._of_each(x, lambda view, outputs: view.logits(outputs))

    def changed_logits(self, x: Floats, sources: Floats) -> Floats:
        """The same of rows that were composed of others (n, s, d): the context is read without these."""
        values = np.empty(len(x))
        for start in range(0, len(x), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            same = self._find(sources[rows])
            n_left = self.n_sample - same[:, :, : self.n_sample].sum(axis=(1, 2)).max(initial=0)
            apart = (sources[rows], same) if same.any() and n_left else ()
            values[rows] = self._mean([view.logits(view.read(x[rows], *apart)) for view in self.views])
        return values

    def _find(self, sources: Floats) -> np.ndarray:
        """Where (n, s, m) in the context rows (n, s, d) are.

        Of equal rows one is meant: the others stay neighbours, as they are for a row of the context itself.
        """
        theirs = keys(sources.reshape(-1, sources.shape[2])).reshape(sources.shape[:2])
        order, first, _ = self._groups
        at = np.minimum(np.searchsorted(self.own, theirs), len(self.own) - 1)
        same = np.zeros((*theirs.shape, len(order)), bool)
        row, source = np.nonzero(self.own[at] == theirs)
        same[row, source, order[first[at[row, source]]]] = True
        same[:, 1:] &= ~np.logical_or.accumulate(same, axis=1)[:, :-1]  # each row of the context is left out once
        return same

    def log_odds(self, x: Floats) -> Floats:
        """Log odds (n,) of being an anomaly."""
        return self._of_each(x, lambda _, outputs: outputs.chances[0])

    def states(self, x: Floats) -> Floats:
        """Last states (n, w)."""
        return self._of_each(x, lambda _, outputs: outputs.states[0])

    def shares(self) -> Floats:
        """The probability (b,) of each bin of shares."""
        outputs = [view.outputs.shares for view in self.views]
        return self._mean([softmax(shares[0], -1) for shares in outputs if shares is not None])

    def points(self, x: Floats) -> Floats:
        """Standardised rows (n, p) of the first view."""
        view = self.views[0]
        z = (view.narrow(x) - view.stats.mean[0]) / view.stats.deviation[0]
        return np.asarray(z.clip(-CLIP, CLIP))

    def _of_each(self, x: Floats, of: Callable[[View, Outputs], Floats]) -> Floats:
        """A part of the outputs for rows (n, d); those of the context are known already."""
        order, first, counts = self._groups
        context = self._mean([of(view, view.outputs) for view in self.views])
        known = np.add.reduceat(context[order], first, axis=0) / counts.reshape(-1, *[1] * (context.ndim - 1))
        key = keys(x)
        at = np.minimum(np.searchsorted(self.own, key), len(self.own) - 1)
        is_own = self.own[at] == key
        values = np.empty((len(x), *context.shape[1:]), np.float64)
        values[is_own] = known[at[is_own]]
        others = np.flatnonzero(~is_own)
        device = device_for(len(others))
        step = BLOCK_ROWS if device is None else GPU_BLOCK_ROWS
        for start in range(0, len(others), step):
            rows = others[start : start + step]
            values[rows] = self._mean([of(view, view.read(x[rows], device=device)) for view in self.views])
        return values

    def _mean(self, each: list[Floats]) -> Floats:
        return np.asarray(np.tensordot(self.weights, np.stack(each), 1))


def predictor_without_labels(rows: Context) -> Predictor:
    """Of a context whose labels are not looked at; that of the last context is kept for the next answer."""
    values, views = rows.values, rows.views
    return _without_labels(
        values.tobytes(), values.shape, views.tobytes(), views.shape, rows.seed, rows.n_beyond, rows.weights
    )


@lru_cache(maxsize=1)
def _without_labels(
    values: bytes,
    shape: tuple[int, ...],
    views: bytes,
    views_shape: tuple[int, ...],
    seed: int,
    n_beyond: int,
    weights: int,
) -> Predictor:
    rows, matrices = np.frombuffer(values, np.float32).reshape(shape), np.frombuffer(views, np.float32)
    context = Context(rows, matrices.reshape(views_shape), seed, n_beyond, weights)
    return Predictor(context, np.full(len(rows), UNLABELLED, np.int8))


def unit_over(scores: Floats, rows: Booleans) -> tuple[float, float]:
    """Mean and standard deviation of scores (m,) over some rows (m,), over all where these are too few."""
    usual = scores[rows] if rows.sum() >= FEWEST_FREE else scores
    return float(usual.mean()), float(max(usual.std(), 1e-2))


@lru_cache(maxsize=2 * (1 + MOST_GROUPS))
def _before_labels(
    context: bytes, shape: tuple[int, int], seed: int, weights: int
) -> tuple[PoolStats, RowFeatures, CellEmbeddings]:
    """What needs no label, kept for the next answer: no label changes the sample."""
    rows, network = np.frombuffer(context, np.float32).reshape(1, *shape), trained_network(weights)
    with single_threaded_blas():
        stats, pool = PoolStats.fit(rows, np.random.RandomState(seed))
        return stats, pool, network.embed_cells(pool, stats.columns)
