"""A context as the network sees it before any label, and with labels, and its outputs for other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from soel.detect.incontext import ops
from soel.detect.incontext.network import CellEmbeddings, InContextNetwork, KeyValueCache, Outputs
from soel.detect.incontext.ops import softmax
from soel.detect.incontext.row_features import CLIP, Origin, PoolStats, RowFeatures, add_extra_distances
from soel.detect.incontext.samples import MOST_GROUPS, keys, most_equal
from soel.detect.incontext.weights import VERSION, trained_network
from soel.numeric import remember, single_threaded_blas
from soel.types import UNLABELLED, Booleans, Floats, Labels, Rows

BLOCK_ROWS = 1000
RARELY = 0.95  # quantile of how many values the rows of a sample have from another one
FEWEST_FREE = 10  # unlabelled rows from which the unit of scores can be told


@dataclass(frozen=True)
class PoolContext:
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
class EncodedPool:
    """What the network needs of a context before any label."""

    network: InContextNetwork
    stats: PoolStats
    rows: RowFeatures
    cells: CellEmbeddings


@dataclass(frozen=True)
class EncodedRows:
    """Rows beside a context, before any label. masked: (n, m) which of its rows they do not attend to."""

    rows: RowFeatures
    cells: CellEmbeddings
    masked: Booleans | None


class ContextView:
    """A context before any label: all its columns, a group of them, or its axes (d, p)."""

    def __init__(self, context: PoolContext, matrix: Floats | None) -> None:
        self.matrix = None if matrix is None else np.ascontiguousarray(matrix[:, matrix.any(axis=0)])
        values = self.narrow(context.values)
        sample, beyond = values[: context.n_sample], values[context.n_sample :]
        self.encoded = encode_sample(sample, context.seed, context.weights)
        self._deviation = context.values[: context.n_sample].std(axis=0)
        if len(beyond):
            self.encoded = _append(self.encoded, beyond[None])

    def describe(self, x: Floats, sources: Floats | None = None, same: Booleans | None = None) -> list[EncodedRows]:
        """Rows (n, d) in blocks. sources: (n, s, d) rows they were composed of; same: (n, s, m) where these are in the
        context, which is read without them.
        """
        known = self.encoded
        rows, origins, apart = self.narrow(x)[None], None, None
        if sources is not None and same is not None:
            narrow = self.narrow(sources.reshape(-1, sources.shape[2])).reshape(*sources.shape[:2], -1)
            origins = Origin(narrow[None], same[:, :, : known.stats.z.shape[1]])
            apart = np.asarray(same.any(axis=1))

        def describe_block(block: slice) -> EncodedRows:
            origin, masked = (None, None) if origins is None or apart is None else (origins.part(block), apart[block])
            described = known.stats.describe(rows[:, block], origin)
            cells = known.network.embed_cells(described, known.stats.columns)
            return EncodedRows(add_extra_distances(known.stats, known.rows, described, masked), cells, masked)

        return ops.in_blocks(describe_block, len(x))

    def narrow_names(self, named: Floats) -> Floats:
        """Which columns (m, d) were named, as shares of the columns (m, p) that this view has."""
        if self.matrix is None:
            return named
        parts = (self.matrix * self._deviation[:, None]) ** 2
        return np.asarray(named @ (parts / parts.sum(axis=0).clip(1e-9)), np.float32)

    def narrow(self, x: Floats) -> Floats:
        """Rows (n, d) as this view has them."""
        return np.ascontiguousarray(x if self.matrix is None else x @ self.matrix, np.float32)


class LabelledView:
    """A view that the network has read with its labels (m,) and the columns (m, d) named with them."""

    def __init__(self, view: ContextView, labels: Labels, named: Floats | None = None) -> None:
        self.view, self.labels = view, labels.astype(np.int64)[None]
        self.named = None if named is None else view.narrow_names(named)[None]

    @cached_property
    def _after_labels(self) -> tuple[KeyValueCache, Outputs]:
        known = self.view.encoded
        with single_threaded_blas():
            return known.network.encode_pool(known.stats, known.rows, known.cells, self.labels, self.named)

    @property
    def outputs(self) -> Outputs:
        """The outputs for the context's own rows."""
        return self._after_labels[1]

    @cached_property
    def unit(self) -> tuple[float, float]:
        """Mean and spread of the scores over the rows without a label, where these are enough."""
        return unit_over(self._rank(self.outputs), self.labels[0] == UNLABELLED)

    def read(self, blocks: Sequence[EncodedRows]) -> Outputs:
        """The outputs for rows that were described by the view."""
        known, cache = self.view.encoded, self._after_labels[0]

        def read_block(each: EncodedRows) -> Outputs:
            network = known.network
            return network.score_rows(known.stats, known.rows, self.labels, cache, each.rows, each.cells, each.masked)

        return Outputs.joined(ops.each(read_block, blocks))

    def logits(self, outputs: Outputs) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        middle, spread = self.unit
        return np.asarray((self._rank(outputs) - middle) / spread)

    def _rank(self, outputs: Outputs) -> Floats:
        return np.asarray(outputs.rank_by(any_label=bool((self.labels != UNLABELLED).any()))[0])


Part = Callable[[LabelledView, Outputs], Floats]


class EncodedContext:
    """A context before any label. The first view counts half where there are several, the others the other half."""

    def __init__(self, context: PoolContext) -> None:
        self.context = context
        self.views = [ContextView(context, matrix) for matrix in context.views] or [ContextView(context, None)]
        n_others = len(self.views) - 1
        self.weights = np.array([0.5, *[0.5 / n_others] * n_others] if n_others else [1.0], np.float32)
        own = keys(context.values)
        order = np.argsort(own, kind="stable")
        self.own, first, counts = np.unique(own[order], return_index=True, return_counts=True)
        self._groups = (order, first, counts)

    @cached_property
    def without_labels(self) -> Predictor:
        """What the network says where no label is looked at."""
        return Predictor(self, np.full(len(self.context.values), UNLABELLED, np.int8))

    def points(self, x: Floats) -> Floats:
        """Standardised rows (n, p) of the first view."""
        view = self.views[0]
        z = (view.narrow(x) - view.encoded.stats.mean[0]) / view.encoded.stats.deviation[0]
        return np.asarray(z.clip(-CLIP, CLIP))

    def outputs(self, predictors: Sequence[Predictor], x: Floats, of: Part) -> list[Floats]:
        """A part of each predictor's outputs for rows (n, d): those of the context are known, others described once."""
        order, first, counts = self._groups
        key = keys(x)
        at = np.minimum(np.searchsorted(self.own, key), len(self.own) - 1)
        is_own = self.own[at] == key
        others, values = np.flatnonzero(~is_own), list[Floats]()
        for predictor in predictors:
            context = self.mean([of(view, view.outputs) for view in predictor.views])
            known = np.add.reduceat(context[order], first, axis=0) / counts.reshape(-1, *[1] * (context.ndim - 1))
            values.append(np.empty((len(x), *context.shape[1:]), np.float64))
            values[-1][is_own] = known[at[is_own]]
        for start in range(0, len(others), BLOCK_ROWS):
            self._fill(values, others[start : start + BLOCK_ROWS], predictors, of, x)
        return values

    def changed_logits(self, predictors: Sequence[Predictor], x: Floats, sources: Floats) -> list[Floats]:
        """Scores of rows that were composed of others (n, s, d): the context is read without these."""
        values: list[Floats] = [np.empty(len(x)) for _ in predictors]
        n_sample = self.context.n_sample
        for start in range(0, len(x), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            same = self.find(sources[rows])
            n_left = n_sample - same[:, :, :n_sample].sum(axis=(1, 2)).max(initial=0)
            apart = (sources[rows], same) if same.any() and n_left else (None, None)
            self._fill(values, np.arange(len(x))[rows], predictors, LabelledView.logits, x, *apart)
        return values

    def _fill(
        self,
        values: Sequence[Floats],
        rows: Rows,
        predictors: Sequence[Predictor],
        of: Part,
        x: Floats,
        sources: Floats | None = None,
        same: Booleans | None = None,
    ) -> None:
        """Put what each predictor says of these rows of x into its values; sources and same: of these rows."""
        each = []
        for number, view in enumerate(self.views):
            described = view.describe(x[rows], sources, same)
            labelled = [predictor.views[number] for predictor in predictors]
            each.append([of(view, view.read(described)) for view in labelled])
        for found, said in zip(values, zip(*each, strict=True), strict=True):
            found[rows] = self.mean(said)

    def find(self, sources: Floats) -> np.ndarray:
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

    def find_copied(self, x: Floats) -> Rows:
        """The row (n,) of the sample that each of the rows (n, d) is once more, with some values changed; else -1."""
        which, n_equal = most_equal(x, self.context.values[: self.context.n_sample])
        is_copy = (n_equal > self._usually_equal) & ~np.isin(keys(x), self.own)
        return np.where(is_copy, which, -1)

    @cached_property
    def _usually_equal(self) -> float:
        """In how many columns two rows may agree by the way the sample is: hardly any two of it do in more."""
        sample = self.context.values[: self.context.n_sample]
        _, n_equal = most_equal(sample, sample, apart=True)
        return float(max(np.quantile(n_equal, RARELY), sample.shape[1] / 2))

    def mean(self, each: Sequence[Floats]) -> Floats:
        """Of what the views say, by their weights."""
        return np.asarray(np.tensordot(self.weights, np.stack(each), 1))


class Predictor:
    """A context that the network has read with its labels (m,) and the columns (m, d) named with them."""

    def __init__(self, context: EncodedContext, labels: Labels, named: Floats | None = None) -> None:
        self.context, self.views = context, [LabelledView(view, labels, named) for view in context.views]

    def logits(self, x: Floats) -> Floats:
        """Scores (n,) in units of their spread over the context."""
        return self.context.outputs([self], x, LabelledView.logits)[0]

    def log_odds(self, x: Floats) -> Floats:
        return self.context.outputs([self], x, lambda _, outputs: outputs.chances[0])[0]

    def shares(self) -> Floats:
        """The probability (b,) of each bin of shares."""
        outputs = [view.outputs.shares for view in self.views]
        return self.context.mean([softmax(shares[0], -1) for shares in outputs if shares is not None])


@remember(2)
def encode_context(context: PoolContext) -> EncodedContext:
    """A context before any label; those of the last two are kept for the next answer."""
    return EncodedContext(context)


@remember(2 * (1 + MOST_GROUPS))
def encode_sample(sample: Floats, seed: int, weights: int) -> EncodedPool:
    """What needs no label, kept for the next answer: no label changes the sample (n, d)."""
    network = trained_network(weights)
    with single_threaded_blas():
        stats, pool = PoolStats.fit(sample[None], np.random.RandomState(seed))
        return EncodedPool(network, stats, pool, network.embed_cells(pool, stats.columns))


def _append(known: EncodedPool, rows: Floats) -> EncodedPool:
    """With labelled rows (1, n, d) beyond the sample; what is known of the sample stays as it is."""
    with single_threaded_blas():
        described = known.stats.describe(rows)
        more = known.network.embed_cells(described, known.stats.columns)
        longer = RowFeatures.joined([known.rows, described])
        longer = add_extra_distances(known.stats, longer, longer, None)
        return replace(known, rows=longer, cells=CellEmbeddings.joined([known.cells, more]))


def unit_over(scores: Floats, rows: Booleans) -> tuple[float, float]:
    """Mean and standard deviation of scores (m,) over some rows (m,), over all where these are too few."""
    usual = scores[rows] if rows.sum() >= FEWEST_FREE else scores
    return float(usual.mean()), float(max(usual.std(), 1e-2))
