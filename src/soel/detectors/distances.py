"""Distances from many rows to a bounded set of others, block by block, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from soel.cores import n_cores, side_by_side
from soel.types import Floats, Rows

BLOCK_ROWS = 512
MANY_BLOCKS = 8  # fewer are not worth a second thread
RIDGE, SMALLEST_RIDGE = 0.1, 1e-6  # added to a covariance: as a share of its mean variance, and at least


def blocks(x: Floats, others: Floats) -> Iterator[tuple[slice, Floats]]:
    """Euclidean distances (b, m) of blocks of rows x: (n, d) to others: (m, d)."""
    target = _Target(others)
    for start in range(0, len(x), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield block, _rooted(target.less_own(x[block]), x[block])


def nearest(x: Floats, others: Floats) -> Floats:
    """Distance (n,) to the nearest of the others; infinite where there are none."""
    closest = np.full(len(x), np.inf, np.float32)
    if not len(others):
        return closest
    target = _Target(others)

    def measure(block: slice) -> None:
        least = target.less_own(x[block]).min(axis=1, keepdims=True)
        closest[block] = _rooted(least, x[block])[:, 0]

    _for_each_block(len(x), measure)
    return closest


def mean_of_nearest(x: Floats, others: Floats, n_neighbours: int, own: Rows | None = None) -> Floats:
    """Mean distance (n,) to the nearest `n_neighbours` of the others.

    own: (n,) the position among the others of the row itself, which does not count; -1 where it is not there.
    """
    n_neighbours = max(1, min(n_neighbours, len(others) - (own is not None)))
    means, target = np.empty(len(x), np.float32), _Target(others)

    def measure(block: slice) -> None:
        squared = target.less_own(x[block])
        if own is not None:
            rows = np.flatnonzero(own[block] >= 0)
            squared[rows, own[block][rows]] = np.inf
        distances = _rooted(smallest(squared, n_neighbours), x[block])
        finite = np.isfinite(distances)
        means[block] = np.where(finite, distances, 0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)

    _for_each_block(len(x), measure)
    return means


def smallest(values: Floats, k: int) -> Floats:
    """The k smallest values (b, k) of each row (b, m), in any order.

    They lie in the k groups with the smallest minima, so only those few groups are searched.
    """
    n_rows, width = values.shape
    size = min(16, int(np.sqrt(width / k)) * 2)  # of a group; measured to be near the best
    n_groups = width // max(size, 1)
    if size < 2 or n_groups <= k:
        return values if k >= width else np.partition(values, k - 1, axis=1)[:, :k]
    groups = values[:, : size * n_groups].reshape(n_rows, size, n_groups)
    chosen = np.argpartition(groups.min(axis=1), k - 1, axis=1)[:, :k]
    candidates = np.take_along_axis(groups, chosen[:, None, :], axis=2).reshape(n_rows, -1)
    candidates = np.concatenate([candidates, values[:, size * n_groups :]], axis=1)
    return np.partition(candidates, k - 1, axis=1)[:, :k]


def unit(x: Floats) -> Floats:
    """Rows (n, d) at length 1; a row of zeros stays as it is."""
    x = np.asarray(x, np.float32)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1))


class _Target:
    """Others (m, d) made ready: the squared distance to them is their square, less two products, plus one's own."""

    def __init__(self, others: Floats) -> None:
        self._doubled = np.ascontiguousarray(-2 * others.T)
        self._squares = np.einsum("ij,ij->i", others, others)

    def less_own(self, x: Floats) -> Floats:
        """Squared distances (b, m) of rows (b, d), without the rows' own squares: their order is the same."""
        squared = x @ self._doubled
        squared += self._squares
        return np.asarray(squared)


def _rooted(less_own: Floats, x: Floats) -> Floats:
    less_own += np.einsum("ij,ij->i", x, x)[:, None]
    return np.asarray(np.sqrt(np.maximum(less_own, 0, out=less_own), out=less_own))


def _for_each_block(n_rows: int, measure: Callable[[slice], None]) -> None:
    """Measure all blocks, each on one core; the matrix library must then not start threads of its own."""
    parts = [slice(start, start + BLOCK_ROWS) for start in range(0, n_rows, BLOCK_ROWS)]
    if len(parts) < MANY_BLOCKS or n_cores() < 2:
        for part in parts:
            measure(part)
        return
    with threadpool_limits(1, user_api="blas"):
        side_by_side(measure, parts)


def gaussian(x: Floats) -> tuple[Floats, Floats]:
    """Centre (d,) of rows (n, d), and a matrix (d, d) that makes their covariance one."""
    covariance = np.atleast_2d(np.cov(x.T.astype(np.float64)))
    width = len(covariance)
    ridge = RIDGE * np.trace(covariance) / width + SMALLEST_RIDGE
    return x.mean(axis=0), np.linalg.cholesky(np.linalg.inv(covariance + ridge * np.eye(width)))


def mahalanobis(x: Floats, centre: Floats, whitening: Floats) -> Floats:
    """Distances (n,) of rows from the centre, in units of the spread in their direction."""
    white = (x - centre) @ whitening
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", white, white)))
