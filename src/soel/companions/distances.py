"""Distances from many rows to a bounded set of others, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soel.types import Floats, Rows

BLOCK_ROWS = 512


def blocks(x: Floats, others: Floats) -> Iterator[tuple[slice, Floats]]:
    """Euclidean distances (b, m) of blocks of rows x: (n, d) to others: (m, d)."""
    squares = np.einsum("ij,ij->i", others, others)
    for start in range(0, len(x), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        own = np.einsum("ij,ij->i", x[block], x[block])
        squared = own[:, None] + squares - 2 * x[block] @ others.T
        yield block, np.sqrt(np.maximum(squared, 0))


def nearest(x: Floats, others: Floats) -> Floats:
    """Distance (n,) to the nearest of the others; infinite where there are none."""
    closest = np.full(len(x), np.inf, np.float32)
    if len(others):
        for block, distances in blocks(x, others):
            closest[block] = distances.min(axis=1)
    return closest


def mean_of_nearest(x: Floats, others: Floats, n_neighbours: int, own: Rows | None = None) -> Floats:
    """Mean distance (n,) to the nearest `n_neighbours` of the others.

    own: (n,) the position among the others of the row itself, which does not count; -1 where it is not there.
    """
    n_neighbours = max(1, min(n_neighbours, len(others) - (own is not None)))
    means = np.empty(len(x), np.float32)
    for block, distances in blocks(x, others):
        if own is not None:
            rows = np.flatnonzero(own[block] >= 0)
            distances[rows, own[block][rows]] = np.inf
        if n_neighbours < distances.shape[1]:
            distances = np.partition(distances, n_neighbours - 1, axis=1)[:, :n_neighbours]
        finite = np.isfinite(distances)
        means[block] = np.where(finite, distances, 0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    return means
