"""Features of rows by simple rules from the labels, for the network to weigh."""

from __future__ import annotations

import math
from dataclasses import dataclass

from soel.detect.incontext.ops import Array, ops_of
from soel.detect.incontext.row_features import FAR, TINY, PoolStats, RowFeatures

N_LABEL_FEATURES, N_POOL_FEATURES = 15, 8
DEPTHS = (3, 5, 8)  # of the forest at which rows that share a node are counted
N_BINS = 10
PRIOR = 0.1  # the share of anomalies assumed a priori, with the weight of one label


@dataclass(frozen=True)
class LabelTables:
    """Counts of a pool's labels by node of the forest and by tenth of a column: made once, looked up for each row.

    odds: (B, R, nodes) of a forest's nodes, for each of DEPTHS. ratios: (B, d * N_BINS) of tenths of each column.
    """

    odds: tuple[Array, ...]
    ratios: Array

    @classmethod
    def count(cls, pool: RowFeatures, labels: Array) -> LabelTables:
        """From a pool and its labels (B, N) of 1, 0 and -1."""
        ops = ops_of(pool.z)
        counted = ops.floats(labels == 1), ops.floats(labels == 0)
        return cls(_odds_of_nodes(pool.nodes, *counted), _ratios_of_bins(pool, *counted))

    def of_nodes(self, nodes: Array) -> list[Array]:
        """Mean log odds (B, n) of the labels that share a node with a row, at some depths of the forest."""
        gather = ops_of(nodes).gather
        return [gather(table, nodes[..., depth]).mean(1) for depth, table in zip(DEPTHS, self.odds, strict=True)]

    def of_cells(self, rows: RowFeatures) -> Array:
        """The log ratio (B, n, d) of anomalies to the pool in the tenth of its column that each cell is in."""
        ops, bins = ops_of(rows.z), _bins(rows)
        n_tasks, _, width = bins.shape
        at = (bins + N_BINS * ops.arange(width, bins)).reshape(n_tasks, -1)
        return ops.gather(self.ratios, at).reshape(bins.shape)

    def of_bins(self, rows: RowFeatures) -> list[Array]:
        """Naive Bayes over tenths of each column: mean and largest log ratio (B, n) of anomalies to the pool."""
        ops, ratios = ops_of(rows.z), self.of_cells(rows)
        return [2 * ratios.mean(-1), ops.amax(ratios) + ops.amin(ratios)]


def label_features(stats: PoolStats, pool: RowFeatures, rows: RowFeatures, labels: Array, tables: LabelTables) -> Array:
    """(B, n, N_LABEL_FEATURES) of rows, from the pool's labels (B, N) of 1, 0, -1 and the tables of these."""
    ops = ops_of(pool.z)
    is_anomaly, is_normal = ops.floats(labels == 1), ops.floats(labels == 0)
    parts = [
        _to_nearest(pool.distances[space], rows.distances[space], has_label)
        for space in (0, 1)
        for has_label in (is_anomaly > 0, is_normal > 0)
    ]
    parts += [parts[1] - parts[0], parts[3] - parts[2]]
    parts += tables.of_nodes(rows.nodes)
    parts += tables.of_bins(rows)
    parts += [
        _along(pool.z, rows.z, is_anomaly, is_normal, stats.precisions[0]),
        _along(pool.g, rows.g, is_anomaly, is_normal, None),
        _kernel(pool.distances[0], rows.distances[0], is_anomaly, is_normal),
        _kernel(pool.distances[1], rows.distances[1], is_anomaly, is_normal),
    ]
    return ops.stack(parts, -1).clip(-6, 6)


def pool_features(stats: PoolStats, labels: Array) -> Array:
    """(B, N_POOL_FEATURES) of whole pools: their size, and how many labels of each kind there are."""
    ops = ops_of(labels)
    n_tasks, n_pool, width = stats.z.shape
    n_anomalies, n_normals = ops.floats((labels == 1).sum(1)), ops.floats((labels == 0).sum(1))
    zeros = ops.zeros(labels, n_tasks)
    parts = [
        zeros + math.log(width) / 3,
        zeros + math.log(n_pool) / 3 - 1,
        ops.log(1 + n_anomalies) / 2,
        ops.log(1 + n_normals) / 2,
        n_anomalies / (n_anomalies + n_normals).clip(min=1),
        ops.floats(n_anomalies > 0),
        ops.floats(n_normals > 0),
        ops.log(stats.scale + TINY),
    ]
    return ops.stack(parts, -1)


def _to_nearest(own: Array, distances: Array, has_label: Array) -> Array:
    """Log distance (B, n) to the nearest row with that label, standardised over the pool; 0 where there is none."""
    ops = ops_of(own)
    if ops.none(has_label):
        return ops.zeros(own, *distances.shape[:2])
    to, apart = ops.flagged(has_label), FAR * ops.floats(~has_label)[:, None]
    of_pool, of_rows = (ops.log(ops.amin(d[..., to] + apart[..., to]).clip(max=1e3) + TINY) for d in (own, distances))
    return ops.where(has_label.any(1)[:, None], standardise(of_pool, of_rows, ops.floats(~has_label)), 0.0)


def standardise(of_pool: Array, of_rows: Array, free: Array) -> Array:
    """Values (B, n) of rows in deviations over those rows of the pool (B, N) that are free, 1 or 0 (B, N)."""
    n_free = free.sum(1, keepdims=True).clip(min=1)
    middle = (of_pool * free).sum(1, keepdims=True) / n_free
    spread = (((of_pool - middle) ** 2 * free).sum(1, keepdims=True) / n_free) ** 0.5
    return (of_rows - middle) / (spread + 1e-3)


def _odds_of_nodes(pool: Array, is_anomaly: Array, is_normal: Array) -> tuple[Array, ...]:
    """Log odds (B, R, nodes) of the labels of the pool's rows in each node, at some depths of the forest."""
    ops = ops_of(pool)
    to, n_nodes = ops.flagged((is_anomaly + is_normal) > 0), 2 ** (DEPTHS[-1] + 1)
    odds = []
    for depth in DEPTHS:
        at = pool[:, :, to, depth]
        for_it, against = (ops.tally(at, label[:, None, to], n_nodes) for label in (is_anomaly, is_normal))
        odds.append(ops.log((for_it + PRIOR) / (against + 1 - PRIOR)) - math.log(PRIOR / (1 - PRIOR)))
    return tuple(odds)


def _bins(rows: RowFeatures) -> Array:
    """The tenth (B, n, d) of its column that each cell is in, by its rank."""
    return ops_of(rows.z).whole((rows.cells[..., 2] + 1) * (0.5 * N_BINS)).clip(0, N_BINS - 1)


def _ratios_of_bins(pool: RowFeatures, is_anomaly: Array, is_normal: Array) -> Array:
    """The log ratio (B, d * N_BINS) of anomalies to the pool in each tenth of each column."""
    ops, own = ops_of(is_normal), _bins(pool)
    n_tasks, n_pool, width = own.shape
    one_hot = ops.floats(own[..., None] == ops.arange(N_BINS, own)).reshape(n_tasks, n_pool, width * N_BINS)
    weights = ops.stack([is_anomaly, is_normal, 0 * is_normal + 1 / n_pool], 1)  # (B, 3, N)
    counts = (weights @ one_hot).reshape(n_tasks, 3, width, N_BINS)
    smooth = counts + 0.0
    smooth[..., 1:] += 0.5 * counts[..., :-1]
    smooth[..., :-1] += 0.5 * counts[..., 1:]
    anomalies, normals, everyone = smooth[:, 0], smooth[:, 1], smooth[:, 2]
    n_anomalies, n_normals = anomalies.sum(-1, keepdims=True), normals.sum(-1, keepdims=True)
    everyone = everyone / everyone.sum(-1, keepdims=True) + 1e-3
    ratio = ops.log((anomalies + 4 * everyone) / (n_anomalies + 4) / ((normals + 8 * everyone) / (n_normals + 8)))
    return ratio.reshape(n_tasks, -1)


def _along(own: Array, rows: Array, is_anomaly: Array, is_normal: Array, precision: Array | None) -> Array:
    """Place (B, n) along the direction from the rest to the labelled anomalies, in deviations over the pool."""
    ops = ops_of(own)
    n_anomalies, n_normals = is_anomaly.sum(1), is_normal.sum(1)
    to = (is_anomaly[:, None] @ own)[:, 0] / n_anomalies.clip(min=1)[:, None]
    away = (is_normal[:, None] @ own)[:, 0] / (n_normals + 5)[:, None]
    direction = to - away if precision is None else ((to - away)[:, None] @ precision)[:, 0]
    of_pool, of_rows = ((x @ direction[..., None])[..., 0] for x in (own, rows))
    middle, spread = of_pool.mean(1, keepdims=True), ops.std(of_pool, 1)
    return ops.where(n_anomalies[:, None] > 0, (of_rows - middle) / (spread + 1e-3), 0.0)


def _kernel(own: Array, distances: Array, is_anomaly: Array, is_normal: Array) -> Array:
    """Log odds (B, n) of labels weighed by nearness, in units of the typical distance to a labelled row."""
    ops = ops_of(own)
    is_labelled = (is_anomaly + is_normal) > 0
    if ops.none(is_labelled):
        return ops.zeros(own, *distances.shape[:2])  # the logarithm of the prior's odds, less itself
    to, apart = ops.flagged(is_labelled), FAR * ops.floats(~is_labelled)[:, None]
    reach = ops.median(ops.amin(own[..., to] + apart[..., to])).clip(TINY, 1e3)[:, None, None]
    weights = ops.exp(-0.5 * (distances[..., to] / reach) ** 2)
    for_it, against = ((weights * label[:, None, to]).sum(-1) for label in (is_anomaly, is_normal))
    return ops.log((for_it + 0.1 * PRIOR) / (against + 0.1)) - math.log(PRIOR)
