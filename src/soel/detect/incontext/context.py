"""Which rows stand for a pool, in an order that depends on nothing but what the rows hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from soel.types import UNLABELLED, Floats, Labels, Rows

Keys = NDArray[np.uint64]
MIX, SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


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


def choose_context(key: Keys, labels: Labels, n_rows: int) -> tuple[Rows, int]:
    """A sample of so many rows, which no label changes, and after it the labelled rows beyond it; how many these are.

    At most half as many as the sample has. Rows are known by their keys (N,).
    """
    order = np.lexsort((labels, key))
    beyond = order[n_rows:]
    beyond = beyond[labels[beyond] != UNLABELLED][: n_rows // 2]
    return np.concatenate([order[:n_rows], beyond]), len(beyond)


def choose(pool: Floats, labels: Labels, n_rows: int, seed: int) -> Rows:
    """Labelled rows, and a sample of the others by the seed, n_rows in all; at most half of them labelled.

    A row is drawn by what it holds, so that the same rows are drawn from a pool in another order.
    """
    return choose_by(keys(pool, seed), labels, n_rows)


def choose_by(key: Keys, labels: Labels, n_rows: int) -> Rows:
    """The same of rows that are known by their keys (N,)."""
    order = np.lexsort((labels, key))
    known = labels[order] != UNLABELLED
    if len(key) <= n_rows:
        return order
    n_known = min(int(known.sum()), max(n_rows // 2, n_rows - int((~known).sum())))
    chosen = np.concatenate([order[known][:n_known], order[~known][: n_rows - n_known]])
    return chosen[np.lexsort((labels[chosen], key[chosen]))]
