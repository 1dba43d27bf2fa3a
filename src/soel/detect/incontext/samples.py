"""Which rows stand for a pool, and how a wide table is seen: by what the rows hold, not by their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from soel.numeric import remember
from soel.types import UNLABELLED, Floats, Labels, Rows

Keys = NDArray[np.uint64]
MOST_COLUMNS = 60  # that the network was trained on
BLOCK_ROWS = 200  # that are compared at once
MOST_GROUPS = 4  # of a very wide table only so many groups of columns are looked at
MIX, SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@remember(1)
def column_order(pool: Floats) -> Rows:
    """Columns (d,) in an order that is theirs wherever they stood, and however the rows were ordered."""
    ordered = np.ascontiguousarray(np.sort(np.ascontiguousarray(pool.T), axis=1).T, np.float64)
    heights = np.arange(1, len(pool) + 1, dtype=np.float64)[:, None]
    return np.lexsort(((ordered * np.sqrt(heights)).sum(axis=0), (ordered * heights).sum(axis=0), ordered.sum(axis=0)))


def keys(x: Floats, seed: int = 0) -> Keys:
    """A number (n,) for each row (n, d) that equal rows share and others hardly ever do."""
    words = (
        (np.ascontiguousarray(x, np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
    )  # 0 and -0 are equal
    key = np.full(len(x), seed % 2**63, np.uint64) + MIX
    with np.errstate(over="ignore"):
        for word in words.T:
            key = (key ^ word) * SPREAD
            key ^= key >> np.uint64(29)
    return key


def most_equal(x: Floats, others: Floats, apart: bool = False) -> tuple[Rows, Rows]:
    """Which of the others (m, d) each row (n, d) has most values from, and how many; of equals the first.

    apart: the rows are the others, and none counts for itself.
    """
    which, most = np.zeros(len(x), np.int64), np.zeros(len(x), np.int64)
    columns = np.ascontiguousarray(others.T)
    for start in range(0, len(x), BLOCK_ROWS):
        rows = np.arange(start, min(start + BLOCK_ROWS, len(x)))
        n_equal = np.zeros((len(rows), len(others)), np.uint16)
        for values, column in zip(x[rows].T, columns, strict=True):
            n_equal += values[:, None] == column
        if apart:
            n_equal[rows - start, rows] = 0
        which[rows] = n_equal.argmax(axis=1)
        most[rows] = np.take_along_axis(n_equal, which[rows, None], axis=1)[:, 0]
    return which, most


def choose_context(key: Keys, labels: Labels, n_rows: int) -> tuple[Rows, int]:
    """A sample of so many rows, which no label changes, and after it the labelled rows beyond it; how many these are.

    At most half as many as the sample has. Rows are known by their keys (N,).
    """
    order = np.lexsort((labels, key))
    beyond = order[n_rows:]
    beyond = beyond[labels[beyond] != UNLABELLED][: n_rows // 2]
    return np.concatenate([order[:n_rows], beyond]), len(beyond)


def choose_rows(key: Keys, labels: Labels, n_rows: int) -> Rows:
    """Labelled rows and a sample of the others, n_rows in all; at most half of them labelled, where others are left.

    Rows are known by their keys (N,), so that the same ones are drawn from a pool in another order.
    """
    order = np.lexsort((labels, key))
    known = labels[order] != UNLABELLED
    if len(key) <= n_rows:
        return order
    n_known = min(int(known.sum()), max(n_rows // 2, n_rows - int((~known).sum())))
    chosen = np.concatenate([order[known][:n_known], order[~known][: n_rows - n_known]])
    return chosen[np.lexsort((labels[chosen], key[chosen]))]


@remember(1)
def wide_views(context: Floats, seed: int) -> Floats:
    """Matrices (v, d, MOST_COLUMNS) that rows (m, d) are seen through; none where they are narrow enough.

    The first has the principal axes of the standardised rows; of the others each has one column for each of a group of
    columns that vary, drawn without replacement.
    """
    width = context.shape[1]
    if width <= MOST_COLUMNS:
        return np.zeros((0, 0, 0), np.float32)
    varying = np.random.default_rng(seed).permutation(np.flatnonzero(context.std(axis=0) > 1e-6))
    n_groups = -(-len(varying) // MOST_COLUMNS)  # none where all rows are equal: then the axes are looked at alone
    groups = np.array_split(varying, n_groups)[:MOST_GROUPS] if n_groups else []
    views = np.zeros((1 + len(groups), width, MOST_COLUMNS), np.float32)
    views[0] = _axes(context)
    for view, group in zip(views[1:], groups, strict=True):
        view[group, np.arange(len(group))] = 1
    return views


def _axes(context: Floats) -> Floats:
    """Principal axes (d, p) of standardised rows; each looks where its largest entry is positive."""
    deviation = context.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1)
    _, _, axes = np.linalg.svd((context - context.mean(axis=0)) / scale, full_matrices=False)
    axes = axes[:MOST_COLUMNS]
    heads = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    own = np.zeros((context.shape[1], MOST_COLUMNS), np.float32)
    own[:, : len(axes)] = (axes * np.sign(heads)).T / scale[:, None]
    return own
