"""What the labels say of each row by simple rules, for the network to weigh."""

from __future__ import annotations

import math
from dataclasses import dataclass

from soel.detect.incontext.features import FAR, TINY, Described, Reference
from soel.detect.incontext.kit import Array, kit_of

N_EVIDENCE, N_META = 15, 8
DEPTHS = (3, 5, 8)  # of the forest at which rows are said to be together
N_BINS = 10
PRIOR = 0.1  # the share of anomalies that is assumed where no label speaks, with the weight of one label


@dataclass(frozen=True)
class LabelTables:
    """What a pool's labels say of any row that falls somewhere: counted once, looked up for each row.

    odds: (B, R, nodes) of a forest's nodes, for each of DEPTHS. ratios: (B, d * N_BINS) of tenths of each column.
    """

    odds: tuple[Array, ...]
    ratios: Array

    @classmethod
    def count(cls, pool: Described, labels: Array) -> LabelTables:
        """From a pool and its labels (B, N) of 1, 0 and -1."""
        kit = kit_of(pool.z)
        counted = kit.floats(labels == 1), kit.floats(labels == 0)
        return cls(_odds_of_nodes(pool.nodes, *counted), _ratios_of_bins(pool, *counted))

    def of_nodes(self, nodes: Array) -> list[Array]:
        """Mean log odds (B, n) of the labels that share a node with a row, at some depths of the forest."""
        gather = kit_of(nodes).gather
        return [gather(table, nodes[..., depth]).mean(1) for depth, table in zip(DEPTHS, self.odds, strict=True)]

    def of_bins(self, rows: Described) -> list[Array]:
        """Naive Bayes over tenths of each column: mean and largest log ratio (B, n) of anomalies to the pool."""
        kit, bins = kit_of(rows.z), _bins(rows)
        n_tasks, _, width = bins.shape
        at = (bins + N_BINS * kit.arange(width, bins)).reshape(n_tasks, -1)
        ratios = kit.gather(self.ratios, at).reshape(bins.shape)  # (B, n, d)
        return [2 * ratios.mean(-1), kit.amax(ratios) + kit.amin(ratios)]


def evidence(reference: Reference, pool: Described, rows: Described, labels: Array, tables: LabelTables) -> Array:
    """(B, n, N_EVIDENCE) for described rows, from the pool's labels (B, N) of 1, 0, -1 and what was counted of them."""
    kit = kit_of(pool.z)
    is_anomaly, is_normal = kit.floats(labels == 1), kit.floats(labels == 0)
    parts = [
        _to_nearest(pool.distances[space], rows.distances[space], has_label)
        for space in (0, 1)
        for has_label in (is_anomaly > 0, is_normal > 0)
    ]
    parts += [parts[1] - parts[0], parts[3] - parts[2]]
    parts += tables.of_nodes(rows.nodes)
    parts += tables.of_bins(rows)
    parts += [
        _along(pool.z, rows.z, is_anomaly, is_normal, reference.precisions[0]),
        _along(pool.g, rows.g, is_anomaly, is_normal, None),
        _kernel(pool.distances[0], rows.distances[0], is_anomaly, is_normal),
        _kernel(pool.distances[1], rows.distances[1], is_anomaly, is_normal),
    ]
    return kit.stack(parts, -1).clip(-6, 6)


def meta(reference: Reference, labels: Array) -> Array:
    """(B, N_META) about the whole: how large the pool is, how many labels of each kind there are."""
    kit = kit_of(labels)
    n_tasks, n_pool, width = reference.z.shape
    n_anomalies, n_normals = kit.floats((labels == 1).sum(1)), kit.floats((labels == 0).sum(1))
    zeros = kit.zeros(labels, n_tasks)
    parts = [
        zeros + math.log(width) / 3,
        zeros + math.log(n_pool) / 3 - 1,
        kit.log(1 + n_anomalies) / 2,
        kit.log(1 + n_normals) / 2,
        n_anomalies / (n_anomalies + n_normals).clip(min=1),
        kit.floats(n_anomalies > 0),
        kit.floats(n_normals > 0),
        kit.log(reference.scale + TINY),
    ]
    return kit.stack(parts, -1)


def _to_nearest(own: Array, distances: Array, has_label: Array) -> Array:
    """Log distance (B, n) to the nearest row with that label, standardised over the pool; 0 where there is none."""
    kit = kit_of(own)
    if kit.none(has_label):
        return kit.zeros(own, *distances.shape[:2])
    to, apart = kit.those(has_label), FAR * kit.floats(~has_label)[:, None]
    of_pool, of_rows = (kit.log(kit.amin(d[..., to] + apart[..., to]).clip(max=1e3) + TINY) for d in (own, distances))
    free = kit.floats(~has_label)
    n_free = free.sum(1, keepdims=True).clip(min=1)
    middle = (of_pool * free).sum(1, keepdims=True) / n_free
    spread = (((of_pool - middle) ** 2 * free).sum(1, keepdims=True) / n_free) ** 0.5
    return kit.where(has_label.any(1)[:, None], (of_rows - middle) / (spread + 1e-3), 0.0)


def _odds_of_nodes(pool: Array, is_anomaly: Array, is_normal: Array) -> tuple[Array, ...]:
    """Log odds (B, R, nodes) of the labels of the pool's rows in each node, at some depths of the forest."""
    kit = kit_of(pool)
    to, n_nodes = kit.those((is_anomaly + is_normal) > 0), 2 ** (DEPTHS[-1] + 1)
    odds = []
    for depth in DEPTHS:
        at = pool[:, :, to, depth]
        for_it, against = (kit.tally(at, label[:, None, to], n_nodes) for label in (is_anomaly, is_normal))
        odds.append(kit.log((for_it + PRIOR) / (against + 1 - PRIOR)) - math.log(PRIOR / (1 - PRIOR)))
    return tuple(odds)


def _bins(rows: Described) -> Array:
    """The tenth (B, n, d) of its column that each cell is in, by its rank."""
    return kit_of(rows.z).whole((rows.cells[..., 2] + 1) * (0.5 * N_BINS)).clip(0, N_BINS - 1)


def _ratios_of_bins(pool: Described, is_anomaly: Array, is_normal: Array) -> Array:
    """The log ratio (B, d * N_BINS) of anomalies to the pool in each tenth of each column."""
    kit, own = kit_of(is_normal), _bins(pool)
    n_tasks, n_pool, width = own.shape
    one_hot = kit.floats(own[..., None] == kit.arange(N_BINS, own)).reshape(n_tasks, n_pool, width * N_BINS)
    weights = kit.stack([is_anomaly, is_normal, 0 * is_normal + 1 / n_pool], 1)  # (B, 3, N)
    counts = (weights @ one_hot).reshape(n_tasks, 3, width, N_BINS)
    smooth = counts + 0.0
    smooth[..., 1:] += 0.5 * counts[..., :-1]
    smooth[..., :-1] += 0.5 * counts[..., 1:]
    anomalies, normals, everyone = smooth[:, 0], smooth[:, 1], smooth[:, 2]
    n_anomalies, n_normals = anomalies.sum(-1, keepdims=True), normals.sum(-1, keepdims=True)
    everyone = everyone / everyone.sum(-1, keepdims=True) + 1e-3
    ratio = kit.log((anomalies + 4 * everyone) / (n_anomalies + 4) / ((normals + 8 * everyone) / (n_normals + 8)))
    return ratio.reshape(n_tasks, -1)


def _along(own: Array, rows: Array, is_anomaly: Array, is_normal: Array, precision: Array | None) -> Array:
    """Place (B, n) along the direction from the rest to the labelled anomalies, in deviations over the pool."""
    kit = kit_of(own)
    n_anomalies, n_normals = is_anomaly.sum(1), is_normal.sum(1)
    to = (is_anomaly[:, None] @ own)[:, 0] / n_anomalies.clip(min=1)[:, None]
    away = (is_normal[:, None] @ own)[:, 0] / (n_normals + 5)[:, None]
    direction = to - away if precision is None else ((to - away)[:, None] @ precision)[:, 0]
    of_pool, of_rows = ((x @ direction[..., None])[..., 0] for x in (own, rows))
    middle, spread = of_pool.mean(1, keepdims=True), kit.std(of_pool, 1)
    return kit.where(n_anomalies[:, None] > 0, (of_rows - middle) / (spread + 1e-3), 0.0)


def _kernel(own: Array, distances: Array, is_anomaly: Array, is_normal: Array) -> Array:
    """Log odds (B, n) of labels weighed by nearness, in units of the typical distance to a labelled row."""
    kit = kit_of(own)
    is_labelled = (is_anomaly + is_normal) > 0
    if kit.none(is_labelled):
        return kit.zeros(own, *distances.shape[:2])  # the logarithm of the prior's odds, less itself
    to, apart = kit.those(is_labelled), FAR * kit.floats(~is_labelled)[:, None]
    reach = kit.median(kit.amin(own[..., to] + apart[..., to])).clip(TINY, 1e3)[:, None, None]
    weights = kit.exp(-0.5 * (distances[..., to] / reach) ** 2)
    for_it, against = ((weights * label[:, None, to]).sum(-1) for label in (is_anomaly, is_normal))
    return kit.log((for_it + 0.1 * PRIOR) / (against + 0.1)) - math.log(PRIOR)
