"""Features of cells, columns and rows beside a pool that need no label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from soel.detect.incontext.ops import Array, ops_of

CLIP = 4.0  # in standard deviations: one wild value must not decide alone
N_CELL, N_COLUMN, N_SCORES = 10, 8, 16  # numbers of features of a cell, a column and a row
NEIGHBOURS, NEIGHBOUR_SHARE = 5, 0.03
DROPPED_SHARE = 0.1  # the most isolated rows are no reference for what is normal
RIDGES = (0.1, 0.003)  # added to the covariance, as shares of the mean variance
FAR, TINY = 1e9, 1e-3
LARGEST_SCORE = 5.0
N_TREES, DEPTH, SAMPLE_ROWS = 48, 8, 256  # of the forest
EULER = 0.5772156649
LEAST_SPREAD = 0.02  # of a score over the pool: where all but a few rows agree, those few are not infinitely far


@dataclass(frozen=True)
class RowFeatures:
    """Rows beside the pool: n rows of d columns, N of them in the pool."""

    z: Array  # (B, n, d) standardised values
    g: Array  # (B, n, d) Gaussian ranks
    cells: Array  # (B, n, d, N_CELL)
    scores: Array  # (B, n, N_SCORES) in standard deviations over the pool
    distances: Array  # (2, B, n, N) to the pool's rows by z and by g
    nodes: Array  # (B, R, n, DEPTH + 1) of the forest

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(cls.__dataclass_fields__)

    def first(self, n_rows: int) -> RowFeatures:
        rows = slice(0, n_rows)
        z, g, cells, scores = (part[:, rows] for part in (self.z, self.g, self.cells, self.scores))
        return RowFeatures(z, g, cells, scores, self.distances[:, :, rows], self.nodes[:, :, rows])

    @classmethod
    def joined(cls, parts: Sequence[RowFeatures]) -> RowFeatures:
        """Rows that were described in parts."""
        if len(parts) == 1:
            return parts[0]
        axes, concat = {"distances": 2, "nodes": 2}, ops_of(parts[0].z).concat
        return cls(**{name: concat([getattr(part, name) for part in parts], axes.get(name, 1)) for name in cls.names()})


@dataclass(frozen=True)
class Origin:
    """The s rows (B, n, s, d) that each of n was put together from, and where in the pool (n, s, N) these are."""

    rows: Array
    same: Array

    def part(self, rows: slice) -> Origin:
        return Origin(self.rows[:, rows], self.same[rows])

    @property
    def masked(self) -> Array:
        """Which rows of the pool (n, N) are no neighbours of each."""
        return self.same.any(1)


@dataclass(frozen=True)
class PoolStats:
    """B pools of N rows and d columns, and all that is computed of them once."""

    mean: Array  # (B, 1, d)
    deviation: Array  # (B, 1, d)
    ordered: Array  # (B, d, N) standardised values, unclipped, in order
    z: Array  # (B, N, d)
    g: Array  # (B, N, d)
    precisions: tuple[Array, ...]  # (B, d, d) for each ridge
    forest: Forest
    columns: Array  # (B, d, N_COLUMN)
    kth: Array  # (B, N) distance to the tenth neighbour
    dropped: Array  # (B, N) whether a row is too isolated to be a reference
    middle: Array  # (B, 1, N_SCORES)
    spread: Array  # (B, 1, N_SCORES)
    scale: Array  # (B,) a typical distance to the neighbours, as a share of that to any row

    @classmethod
    def fit(cls, pool: Array, random: Array) -> tuple[PoolStats, RowFeatures]:
        """From pools (B, N, d); also the features of the pools' own rows. random: as `Forest.grow` takes it."""
        ops = ops_of(pool)
        mean, deviation = pool.mean(1, keepdims=True), ops.std(pool, 1)
        deviation = ops.where(deviation > 1e-6 * (1 + abs(mean)), deviation, 1.0)
        raw = (pool - mean) / deviation
        z = raw.clip(-CLIP, CLIP)
        ordered = ops.sort(raw.swapaxes(1, 2))
        g = _gaussian_rank(*_places(ordered, raw, own=True), pool.shape[1] - 1)
        precisions = _precisions(z)
        columns = _columns(ordered, z, g, precisions[0])
        nothing = ops.zeros(pool, 0)
        blank = cls(
            mean, deviation, ordered, z, g, precisions, Forest.grow(z, random), columns, *[nothing] * 5
        )  # the rest needs distances
        return blank._complete(raw)

    def _complete(self, raw: Array) -> tuple[PoolStats, RowFeatures]:
        ops = ops_of(raw)
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        blocks = ops.in_blocks(lambda rows: (rows, self._parts(raw[:, rows], rows)), raw.shape[1])
        near, kth = (ops.concat([parts[name] for _, parts in blocks], 1) for name in ("near_mean", "kth"))
        n_dropped = int(DROPPED_SHARE * raw.shape[1])
        border = ops.amin(ops.largest(near, max(n_dropped, 1)))
        fields["kth"], fields["dropped"] = kth, (near >= border[:, None]) & (n_dropped > 0)
        squares = sum((parts["distances"][0] ** 2).sum((1, 2)) for _, parts in blocks)
        fields["scale"] = ops.median(near) / ((squares / raw.shape[1] ** 2) ** 0.5 + TINY)
        whole = PoolStats(**fields)
        known = {rows.start: parts for rows, parts in blocks}
        each = ops.in_blocks(lambda rows: whole._scores(known[rows.start]), raw.shape[1])
        scores = ops.concat(each, 1)
        beside = scores - scores[:, :1]  # or rounding would give one that is the same for all rows a spread
        fields["middle"], fields["spread"] = (
            scores[:, :1] + beside.mean(1, keepdims=True),
            ops.std(beside, 1).clip(LEAST_SPREAD),
        )
        whole = PoolStats(**fields)
        described = (whole._put_together(parts, found) for (_, parts), found in zip(blocks, each, strict=True))
        return whole, RowFeatures.joined(list(described))

    def describe(self, rows: Array, origin: Origin | None = None) -> RowFeatures:
        """Features of other rows (B, n, d). origin: their sources, which are no neighbours of theirs."""
        parts = self._parts((rows - self.mean) / self.deviation, origin=origin)
        return self._put_together(parts, self._scores(parts))

    def _put_together(self, parts: dict[str, Array], scores: Array) -> RowFeatures:
        scores = ((scores - self.middle) / self.spread).clip(-LARGEST_SCORE, LARGEST_SCORE)
        return RowFeatures(parts["z"], parts["g"], parts["cells"], scores, parts["distances"], parts["nodes"])

    def _parts(self, raw: Array, own: slice | None = None, origin: Origin | None = None) -> dict[str, Array]:
        """All that scores are made of. own: which rows of the pool they are, if so."""
        ops = ops_of(raw)
        z = raw.clip(-CLIP, CLIP)
        n_pool = self.z.shape[1]
        n_others = n_pool - int(own is not None)
        low, high = _places(self.ordered, raw, own is not None)
        if origin is not None:
            low, high = self._without(origin, raw, low, high)
        g = _gaussian_rank(low, high, n_others) if own is None else self.g[:, own]
        surprise = (z @ self.precisions[0]) / (self.precisions[0].diagonal(0, 1, 2) ** 0.5)[:, None]
        cells = _cells(self.ordered, z, g, low, high, n_others, surprise)
        distances = ops.stack([pairwise_distances(z, self.z), pairwise_distances(g, self.g)])
        if origin is not None:
            distances = ops.where(origin.masked, FAR, distances)
        others = distances
        if own is not None:
            itself = ops.arange(n_pool, raw)[own]
            others = distances + 0.0
            others[..., itself - own.start, itself] = FAR
        near = ops.smallest(others[0], min(max(10, math.ceil(NEIGHBOUR_SHARE * n_pool)), n_others))
        return {
            "z": z,
            "g": g,
            "cells": cells,
            "distances": distances,
            "surprise": surprise,
            "others": others[0],
            "five": near[..., :NEIGHBOURS].mean(-1),
            "near_mean": near.mean(-1),
            "kth": near[..., min(10, near.shape[-1]) - 1],
            "near_g": ops.smallest(others[1], min(NEIGHBOURS, n_others)).mean(-1),
            "nodes": self.forest.nodes(z),
        }

    def _without(self, origin: Origin, raw: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """The counts (B, d, n) of cells below and not above, without those that the rows were made of."""
        now = raw.swapaxes(1, 2)
        for source in range(origin.rows.shape[2]):
            were = ((origin.rows[:, :, source] - self.mean) / self.deviation).swapaxes(1, 2)
            n_hidden = origin.same[:, source].sum(1)
            low, high = low - n_hidden * (were < now), high - n_hidden * (were <= now)
        return low, high

    def _scores(self, parts: dict[str, Array]) -> Array:
        """Label-free scores (B, n, N_SCORES), higher is more anomalous, in units of their own."""
        ops = ops_of(self.z)
        z, cells = parts["z"], parts["cells"]
        ten = ops.floats(parts["others"] <= parts["kth"][..., None])  # and those as far as the tenth
        theirs = (ten @ self.kth[..., None])[..., 0] / ten.sum(-1)
        kept = ops.where(self.dropped[:, None], FAR, parts["others"])
        cleaned = ops.smallest(kept, min(NEIGHBOURS, kept.shape[-1] - 1)).clip(max=1e3).mean(-1)
        tails, surprise = cells[..., 6], abs(parts["surprise"])
        scores = [
            ops.log(parts["five"] + TINY),
            ops.log(parts["near_mean"] + TINY),
            ops.log((parts["kth"] + TINY) / (theirs + TINY)),
            ops.log(cleaned + TINY),
            ops.log(parts["near_g"] + TINY),
            *[0.5 * ops.log(((z @ p) * z).sum(-1).clip(min=0) + TINY) for p in self.precisions],
            ops.log((z**2).sum(-1) + TINY),
            ops.log((parts["g"] ** 2).sum(-1) + TINY),
            tails.mean(-1),
            ops.largest(tails, min(3, z.shape[2])).mean(-1),
            surprise.mean(-1),
            ops.amax(surprise),
            cells[..., 4].mean(-1),
            -cells[..., 5].mean(-1),
            -self.forest.isolation(parts["nodes"]),
        ]
        return ops.stack(scores, -1)


def add_extra_distances(stats: PoolStats, pool: RowFeatures, rows: RowFeatures, masked: Array | None) -> RowFeatures:
    """Rows with their distances to those rows of the pool that came after its statistics, if there are any.

    masked: (n, N) which rows of the pool are no neighbours of each.
    """
    n_known = stats.z.shape[1]
    if pool.z.shape[1] == n_known:
        return rows
    ops = ops_of(rows.z)
    extra = ops.stack(
        [pairwise_distances(rows.z, pool.z[:, n_known:]), pairwise_distances(rows.g, pool.g[:, n_known:])]
    )
    if masked is not None:
        extra = ops.where(masked[:, n_known:], FAR, extra)
    return replace(rows, distances=ops.concat([rows.distances, extra], -1))


def _places(ordered: Array, raw: Array, own: bool) -> tuple[Array, Array]:
    """How many other rows of the pool lie below, and not above, each cell: two (B, d, n)."""
    search, values = ops_of(raw).search, raw.swapaxes(1, 2)
    return search(ordered, values), search(ordered, values, right=True) - int(own)


def _rank(low: Array, high: Array, n_others: int) -> Array:
    """Ranks (B, n, d) between 0 and 1."""
    return ((0.5 * ops_of(low).floats(low + high) + 0.5) / (n_others + 1)).swapaxes(1, 2)


def _gaussian_rank(low: Array, high: Array, n_others: int) -> Array:
    """Ranks as Gaussian quantiles (B, n, d)."""
    lowest = 0.5 / (n_others + 1)
    return ops_of(low).normal_quantiles(_rank(low, high, n_others).clip(lowest, 1 - lowest))


def _cells(ordered: Array, z: Array, g: Array, low: Array, high: Array, n_others: int, surprise: Array) -> Array:
    """Features of each cell (B, n, d, N_CELL): its value, its rank, its tail, how full its surroundings are."""
    ops = ops_of(z)
    n_pool = ordered.shape[-1]
    step = max(2, n_pool // 20)
    before = ops.gather(ordered, (low - step).clip(0, n_pool - 1))
    after = ops.gather(ordered, (high + step).clip(0, n_pool - 1))
    gap = ops.log(after - before + TINY).clip(-7, 4).swapaxes(1, 2)
    n_equal = (high - low).clip(min=0)  # along axes, a row can differ from itself by rounding
    ties = ops.log(ops.floats(n_equal + 1) / (n_others + 1)).swapaxes(1, 2)
    rank = _rank(low, high, n_others)
    tail = -ops.log(ops.minimum(rank, 1 - rank).clip(0.5 / (n_others + 1), 0.5))
    surprise = surprise.clip(-2 * CLIP, 2 * CLIP)
    return ops.stack([z, g, 2 * rank - 1, abs(2 * rank - 1), gap, ties / 3, tail, abs(z), surprise, abs(surprise)], -1)


def _columns(ordered: Array, z: Array, g: Array, precision: Array) -> Array:
    """Features of each column (B, d, N_COLUMN): how discrete, skewed and heavy it is, and correlated."""
    ops = ops_of(z)
    n_pool, width = z.shape[1:]
    distinct = 1 + ops.floats(ordered[..., 1:] != ordered[..., :-1]).sum(-1)
    runs = ops.search(ordered, ordered, right=True) - ops.search(ordered, ordered)
    square = z * z
    skew, heavy = (square * z).mean(1), (square * square).mean(1)
    correlation = abs(g.swapaxes(1, 2) @ g) / n_pool
    itself = ops.arange(width, z)
    correlation[:, itself, itself] = 0.0
    alone = 1 / (precision.diagonal(0, 1, 2) + TINY)
    return ops.stack(
        [
            ops.log(distinct) / math.log(n_pool),
            ops.floats(distinct <= 2),
            ops.floats(distinct <= 20),
            ops.floats(ops.amax(runs)) / n_pool,
            ops.sign(skew) * ops.log(1 + abs(skew)),
            ops.log(1 + heavy),
            ops.amax(correlation),
            alone.clip(0, 2),
        ],
        -1,
    )


def _precisions(z: Array) -> tuple[Array, ...]:
    """Inverse covariances (B, d, d) of standardised rows, one for each ridge."""
    ops = ops_of(z)
    n_pool, width = z.shape[1:]
    centred = z - z.mean(1, keepdims=True)
    covariance = centred.swapaxes(1, 2) @ centred / n_pool
    itself = ops.arange(width, z)
    mean = covariance.diagonal(0, 1, 2).mean(1).clip(min=1e-3)[:, None]

    def add_ridge(ridge: float) -> Array:
        raised = covariance + 0.0
        raised[:, itself, itself] += ridge * mean
        return raised

    return tuple(ops.inverse(add_ridge(ridge)) for ridge in RIDGES)


def pairwise_distances(x: Array, pool: Array) -> Array:
    """Euclidean distances (B, n, N), per root of the number of columns."""
    squared = (x**2).sum(-1)[..., None] + (pool**2).sum(-1)[:, None] - 2 * x @ pool.swapaxes(1, 2)
    return (squared.clip(min=0) / x.shape[-1]) ** 0.5


@dataclass(frozen=True)
class Forest:
    """Complete binary trees; node i has the children 2i+1 and 2i+2.

    columns, borders: (B, R, 2^DEPTH - 1) of the inner nodes. depths: (B, R, 2^(DEPTH + 1) - 1) expected depth at which
    a row that reaches a node stands alone; where a node holds one row or none, its own depth.
    """

    columns: Array
    borders: Array
    depths: Array

    @classmethod
    def grow(cls, pool: Array, random: Array) -> Forest:
        """From rows (B, N, d): each tree cuts a sample, at a random place of a random column in each node.

        random: a `RandomState` for numpy's rows, a generator of torch for tensors.
        """
        ops = ops_of(pool)
        n_tasks, n_rows, width = pool.shape
        size = min(SAMPLE_ROWS, n_rows)
        shape = (n_tasks, N_TREES)
        chosen = ops.uniform(random, pool, *shape, n_rows).argsort(-1)[..., :size]  # (B, R, M)
        n_inner = 2**DEPTH - 1
        columns = ops.integers(random, pool, width, *shape, n_inner)
        places = ops.uniform(random, pool, *shape, n_inner)
        borders = ops.zeros(pool, *shape, n_inner)
        node = ops.whole(ops.zeros(pool, *shape, size))
        for level in range(DEPTH):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            values = ops.take_cells(pool, chosen, ops.gather(columns, node))  # (B, R, M)
            low, high = ops.extremes(node - nodes.start, values, 2**level)
            filled = high >= low
            low, high = ops.where(filled, low, 0.0), ops.where(filled, high, 0.0)
            borders[..., nodes] = low + (high - low) * places[..., nodes]
            node = 2 * node + 1 + ops.whole(values > ops.gather(borders, node))
        return cls(columns, borders, _depths(node, n_inner))

    def nodes(self, x: Array) -> Array:
        """Which node (B, R, n, DEPTH + 1) rows (B, n, d) reach at each depth."""
        ops = ops_of(x)
        rows = ops.arange(x.shape[1], x)
        node = ops.whole(ops.zeros(x, len(x), self.columns.shape[1], x.shape[1]))
        path = [node]
        for _ in range(DEPTH):
            values = ops.take_cells(x, rows, ops.gather(self.columns, node))
            node = 2 * node + 1 + ops.whole(values > ops.gather(self.borders, node))
            path.append(node)
        return ops.stack(path, -1)

    def isolation(self, nodes: Array) -> Array:
        """Mean depth (B, n) at which rows stand alone, from their nodes: less is more isolated."""
        return ops_of(nodes).gather(self.depths, nodes[..., -1]).mean(1)


def _depths(leaves: Array, n_inner: int) -> Array:
    """Expected depths (B, R, nodes) of lone rows, from the leaf (B, R, M) of each row that the trees were grown on."""
    ops = ops_of(leaves)
    n_nodes = 2 * n_inner + 1
    counts = ops.tally(leaves, ops.floats(leaves >= 0), n_nodes)
    for level in range(DEPTH - 1, -1, -1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        counts[..., first:last] = (
            counts[..., 2 * first + 1 : 2 * last + 1 : 2] + counts[..., 2 * first + 2 : 2 * last + 2 : 2]
        )
    depth = ops.array(np.floor(np.log2(np.arange(1, n_nodes + 1))).astype(np.float32), leaves)
    further = 2 * ops.log(counts.clip(min=2) - 1) + 2 * EULER - 2 * (counts - 1) / counts.clip(min=1)
    further = ops.where(counts > 2, further, (counts - 1).clip(min=0))
    # a node of at most one row: the row stood alone where its parent still held others
    own = ops.where(counts > 1, depth + further, depth)
    for level in range(1, DEPTH + 1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        nodes = ops.arange(last, leaves)[first:]
        parent = (nodes - 1) // 2
        own[..., first:last] = ops.where(counts[..., parent] <= 1, own[..., parent], own[..., first:last])
    return own
