"""What the network is told of columns that experts named: why rows are anomalies, and what is fine in normal ones."""

from __future__ import annotations

from soel.detect.incontext.label_features import LabelTables, standardise
from soel.detect.incontext.ops import Array, ops_of
from soel.detect.incontext.row_features import TINY, RowFeatures

N_OF_COLUMN, N_OF_ROW = 4, 5  # numbers of features


def split(named: Array, labels: Array) -> tuple[Array, Array]:
    """Columns named (B, N, d), from 0 to 1, by whether the row is labelled an anomaly (B, N) or normal."""
    ops = ops_of(named)
    why, fine = (ops.floats(labels == label)[..., None] * named for label in (1, 0))
    return why, fine


def column_features(why: Array, fine: Array) -> Array:
    """(B, d, N_OF_COLUMN): which share of the anomalies with a reason name a column, how many, and likewise fine."""
    ops = ops_of(why)
    n_why, n_fine = why.sum(1), fine.sum(1)
    n_reasons, n_fine_rows = (ops.floats(part.sum(-1) > 0).sum(1)[:, None] for part in (why, fine))
    parts = [n_why / n_reasons.clip(min=1), ops.log(1 + n_why) / 2, n_fine / n_fine_rows.clip(min=1)]
    return ops.stack([*parts, ops.zeros(why, *n_why.shape) + ops.floats(n_reasons > 0)], -1)


def named_means(cells: Array, named: Array) -> Array:
    """Mean embeddings (B, d, c) of the cells (B, N, d, c) that were named, less those of all; 0 where none was."""
    n_named = named.sum(1)[..., None]
    means = (named[..., None] * cells).sum(1) / n_named.clip(min=1)
    return (means - cells.mean(1)) * n_named.clip(max=1)


def named_cells(cells: Array, named: Array) -> Array:
    """The mean embedding (B, N, c) of the named cells of each row, 0 where none is."""
    ops = ops_of(named)
    shares = named / named.sum(-1, keepdims=True).clip(min=1)
    return (ops.as_precise(shares, cells)[..., None] * cells).sum(2)


def row_features(pool: RowFeatures, rows: RowFeatures, why: Array, tables: LabelTables) -> Array:
    """(B, n, N_OF_ROW) of rows beside a pool whose labelled anomalies have reasons (B, N, d).

    How near a row is to one of these in the columns named for it, how far it lies towards them along the named
    columns, by value and by rank, and how often such values were anomalies in these columns.
    """
    ops = ops_of(pool.z)
    has_reason = why.sum(-1) > 0
    if ops.none(has_reason):
        return ops.zeros(pool.z, *rows.z.shape[:2], N_OF_ROW)
    free, n_reasons = ops.floats(~has_reason), ops.floats(has_reason).sum(1).clip(min=1)[:, None]
    weights = why.sum(1) / n_reasons
    parts = []
    for own, theirs in ((pool.z, rows.z), (pool.g, rows.g)):
        of_pool, of_rows = (ops.log(_to_nearest(x, own, why, has_reason) + TINY) for x in (own, theirs))
        direction = ((why * own).sum(1) / n_reasons)[..., None]
        parts.append(standardise(of_pool, of_rows, free))
        parts.append(standardise((own @ direction)[..., 0], (theirs @ direction)[..., 0], free))
    parts.append((tables.of_cells(rows) * weights[:, None]).sum(-1))
    has_any = ops.floats(has_reason.any(1))[:, None, None]
    return ops.stack(parts, -1).clip(-6, 6) * has_any


def _to_nearest(x: Array, pool: Array, why: Array, has_reason: Array) -> Array:
    """Root mean square difference (B, n) of rows (B, n, d) to the nearest such row of the pool in its named columns."""
    ops = ops_of(x)
    to = ops.flagged(has_reason)
    why, pool, apart = why[:, to], pool[:, to], 1e6 * ops.floats(~has_reason[:, to])[:, None]
    squares = (x**2) @ why.swapaxes(1, 2) - 2 * x @ (why * pool).swapaxes(1, 2) + (why * pool**2).sum(-1)[:, None]
    return (ops.amin(squares.clip(min=0) / why.sum(-1).clip(min=TINY)[:, None] + apart)) ** 0.5
