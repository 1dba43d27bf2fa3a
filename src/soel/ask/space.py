"""Euclidean distances from all rows to a few, in blocks: one pass over the bytes, O(N) extra memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from soel.numeric import n_cores
from soel.types import Floats, Rows

BLOCK_ROWS = 8192  # blocks start at multiples of this, so that the number of cores cannot change a rounding
SMALL_ROWS = 1024  # where rows are copied, these many at a time stay in the cache, and threads seldom meet
MANY_BLOCKS = 4  # fewer are not worth a second thread
FAR = 100.0  # squared distance of the mean from 0, in units of the rows' variance
EXACT_ROWS = 5000  # up to this many rows all pairs are looked at; beyond it, bounds and samples


class Space:
    """Rows as points, with the mean as origin, so that differences of squares keep their digits in float32.

    The rows themselves are moved (and so copied) only where they lie far from 0 compared with their spread; else
    the origin is taken care of in the algebra, and the only extra memory is a few numbers per row.
    """

    def __init__(self, points: Floats) -> None:
        points = np.ascontiguousarray(points, np.float32)
        mean, is_far = find_origin(points[:: sample_step(len(points))])
        if is_far:
            points, mean = points - mean, np.zeros_like(mean)
        self.points, self.mean = points, mean
        self.squares = np.empty(len(points), np.float32)  # of the distances to the mean
        self._threads = ThreadPoolExecutor(n_cores())  # kept: new ones for every pass take a tenth of its time
        self._for_each_block(self._measure_squares)

    def __len__(self) -> int:
        return len(self.points)

    def distances(self, row: int) -> Floats:
        """Distances (N,) of all rows to one."""
        return self.nearest(np.array([row]))

    def nearest(self, rows: Rows) -> Floats:
        """Distances (N,) of all rows to the nearest of these; infinite where there are none."""
        closest = np.full(len(self), np.inf, np.float32)
        self.shrink(closest, rows.tolist())
        closest[rows] = 0
        return closest

    def shrink(self, closest: Floats, rows: Iterable[int]) -> None:
        """Make distances (N,) to the nearest of some rows those to the nearest of these as well."""
        arms = [(row, self.points[row] - self.mean) for row in rows]
        terms = [(-2 * arm, self.squares[row] + 2 * (self.mean @ arm)) for row, arm in arms]

        def shrink(block: slice) -> None:
            part = closest[block]
            for less, offset in terms:
                # einsum adds up one row after the other, on its own: no library's threads can change a rounding.
                away = np.einsum("ij,j->i", self.points[block], less)
                away += self.squares[block]
                away += offset
                np.minimum(part, np.sqrt(np.maximum(away, 0, out=away), out=away), out=part)

        self._for_each_block(shrink)

    def pairs(self) -> Iterator[tuple[slice, Floats]]:
        """Distances between blocks of rows and a sample of at most EXACT_ROWS of them: (block, (b, m))."""
        sample = self._sample()
        others, squares = self.points[sample] - self.mean, self.squares[sample]
        for start in range(0, len(self), 256):
            block = slice(start, start + 256)
            squared = self.squares[block, None] + squares[None] - 2 * (self.points[block] - self.mean) @ others.T
            yield block, np.sqrt(np.maximum(squared, 0))

    def diameter(self) -> float:
        """The largest distance between two rows: exact up to EXACT_ROWS rows, else a double-sweep bound.

        The sweeps are from the mean to the row farthest from it, and from there. All rows lie in both balls, so the
        bound lies between the diameter over root 3 and the diameter, and in practice within a few percent.
        """
        if len(self) <= EXACT_ROWS:
            return float(max(part.max() for _, part in self.pairs()))
        return float(self.distances(int(self.squares.argmax())).max())

    def shortest(self) -> float:
        """The smallest distance between two different rows of the (sampled) pool."""
        sample, best = self._sample(), np.inf
        for block, part in self.pairs():
            part[np.arange(len(self))[block, None] == sample] = np.inf
            best = min(best, float(part.min()))
        return best

    def _sample(self) -> Rows:
        return np.arange(0, len(self), sample_step(len(self)))

    def _measure_squares(self, block: slice) -> None:
        moved = np.empty((SMALL_ROWS, self.points.shape[1]), np.float32)
        for start in range(block.start, block.stop, SMALL_ROWS):
            part = slice(start, min(start + SMALL_ROWS, block.stop))
            at = np.subtract(self.points[part], self.mean, out=moved[: part.stop - start])
            np.einsum("ij,ij->i", at, at, out=self.squares[part])

    def _for_each_block(self, work: Callable[[slice], None]) -> None:
        blocks = [slice(start, min(start + BLOCK_ROWS, len(self))) for start in range(0, len(self), BLOCK_ROWS)]
        list((self._threads.map if len(blocks) >= MANY_BLOCKS else map)(work, blocks))


def sample_step(n_rows: int) -> int:
    """Every how many rows one stands for the others where all of them, or all pairs, would be too many."""
    return max(1, -(-n_rows // EXACT_ROWS))


def find_origin(sample: Floats) -> tuple[Floats, bool]:
    """The mean (D,) of rows, and whether it lies so far from 0 that they are moved. A sample will do."""
    mean = sample.mean(axis=0, dtype=np.float64)
    square = float(mean @ mean)
    spread = float(np.einsum("ij,ij->i", sample, sample).mean(dtype=np.float64)) - square
    return mean.astype(np.float32), square > FAR * spread
