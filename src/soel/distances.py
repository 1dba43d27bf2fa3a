"""Euclidean distances between rows, in O(N) memory. One way for each need; `Space` has the one for many passes.

By products, as a matrix library is fast at: `blocks`, `nearest`, `mean_of_nearest` and `nearest_of`, from many rows to
a bounded set of others, block by block, on all cores. `pairs`, of all rows of two small sets. By differences, exact
wherever the rows lie: `squares_to`, of all rows to one point, and what is made of it. The ways round differently, so
none can take another's place without changing the last bits of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from soel.threads import parallel_map, single_threaded_blas
from soel.types import Floats, Rows

BLOCK_ROWS = 512
RIDGE, SMALLEST_RIDGE = 0.1, 1e-6  # added to a covariance: as a share of its mean variance, and at least
MOST_AT_ONCE = 2**24  # distances, where the nearest of many others is looked for


def blocks(x: Floats, others: Floats) -> Iterator[tuple[slice, Floats]]:
    """Euclidean distances (b, m) of blocks of rows x: (n, d) to others: (m, d)."""
    target = _Target(others)
    for start in range(0, len(x), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        yield block, _take_roots(target.less_own(x[block]), x[block])


def nearest(x: Floats, others: Floats) -> Floats:
    """Distance (n,) to the nearest of the others; infinite where there are none."""
    closest = np.full(len(x), np.inf, np.result_type(x, others))
    if not len(others):
        return closest
    target = _Target(others)

    def measure(block: slice) -> None:
        least = target.less_own(x[block]).min(axis=1, keepdims=True)
        closest[block] = _take_roots(least, x[block])[:, 0]

    _for_each_block(len(x), measure)
    return closest


def nearest_of(x: Floats, others: Floats) -> tuple[Rows, Floats]:
    """Which of the others is nearest to each row (n,), and the squared distance to it."""
    owner, squares, target = np.empty(len(x), np.int64), np.empty(len(x)), _Target(others)
    own = np.einsum("ij,ij->i", x, x)
    step = max(1, MOST_AT_ONCE // len(others))
    for start in range(0, len(x), step):
        block = slice(start, start + step)
        squared = target.less_own(x[block])
        owner[block] = squared.argmin(axis=1)
        least = np.take_along_axis(squared, owner[block, None], axis=1)[:, 0]
        squares[block] = np.maximum(least + own[block], 0)
    return owner, squares


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
        distances = _take_roots(smallest(squared, n_neighbours), x[block])
        finite = np.isfinite(distances)
        means[block] = np.where(finite, distances, 0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)

    _for_each_block(len(x), measure)
    return means


def smallest(values: Floats, k: int) -> Floats:
    """The k smallest values (b, k) of each row (b, m), in any order.

    k values at least are no larger than the minima of k groups: only values up to the k-th such minimum are searched.
    """
    n_rows, width = values.shape
    size = min(16, int(np.sqrt(width / k)) * 2)  # of a group; measured to be near the best
    n_groups = width // max(size, 1)
    if size < 2 or n_groups <= k:
        return values if k >= width else np.partition(values, k - 1, axis=1)[:, :k]
    groups = values[:, : size * n_groups].reshape(n_rows, size, n_groups)
    border = np.partition(groups.min(axis=1), k - 1, axis=1)[:, k - 1]
    at = np.flatnonzero(values <= border[:, None])
    row = at // width
    counts = np.bincount(row, minlength=n_rows)
    candidates = np.full((n_rows, counts.max()), np.inf, values.dtype)
    candidates[row, np.arange(len(at)) - (np.cumsum(counts) - counts)[row]] = values.reshape(-1)[at]
    return np.partition(candidates, k - 1, axis=1)[:, :k]


def pairs(a: Floats, b: Floats) -> Floats:
    """Distances (n, m) between all rows of two sets, of which one must be small."""
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squared, 0)))


def squares_to(x: Floats, point: Floats) -> Floats:
    """Squared distances (n,) of rows to a point (d,), by differences."""
    squares = np.empty(len(x), np.result_type(x, point))
    for start in range(0, len(x), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        squares[block] = np.square(x[block] - point).sum(axis=1)
    return squares


def nearest_squares(x: Floats, points: Floats) -> Floats:
    """Squared distances (n,) to the nearest of a few points (k, d), by differences; infinite where there are none."""
    closest = np.full(len(x), np.inf, np.result_type(x, points))
    for point in points:
        np.minimum(closest, squares_to(x, point), out=closest)
    return closest


def cell_sizes(distances: Iterable[Floats], n_rows: int) -> Rows:
    """How many of `n_rows` rows are nearest to each of K points: (K,). distances: (N,) to each; of equals the first."""
    closest, owner, n_points = np.full(n_rows, np.inf), np.zeros(n_rows, np.int64), 0
    for index, away in enumerate(distances):
        nearer = away < closest
        closest[nearer], owner[nearer], n_points = away[nearer], index, index + 1
    return np.bincount(owner, minlength=n_points)[:n_points]


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


def _take_roots(less_own: Floats, x: Floats) -> Floats:
    less_own += np.einsum("ij,ij->i", x, x)[:, None]
    return np.asarray(np.sqrt(np.maximum(less_own, 0, out=less_own), out=less_own))


def _for_each_block(n_rows: int, measure: Callable[[slice], None]) -> None:
    """Measure all blocks, each on one core; the matrix library must then not start threads of its own."""
    parts = [slice(start, start + BLOCK_ROWS) for start in range(0, n_rows, BLOCK_ROWS)]
    with single_threaded_blas():
        parallel_map(measure, parts)


def unit(x: Floats) -> Floats:
    """Rows (n, d) at length 1; a row of zeros stays as it is."""
    x = np.asarray(x, np.float32)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1))


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
