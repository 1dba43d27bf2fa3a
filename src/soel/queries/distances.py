"""Euclidean distances from all rows to a few, in blocks: one pass over the bytes, O(N) extra memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soel.types import Floats, Rows

BLOCK_ROWS = 8192  # blocks start at multiples of this, so that sharding cannot change a rounding
FAR = 100.0  # squared distance of the mean from 0, in units of the rows' variance
EXACT_ROWS = 5000  # up to this many rows all pairs are looked at; beyond it, bounds and samples


class Space:
    """Rows as points, with the mean as origin, so that differences of squares keep their digits in float32.

    The rows themselves are moved (and so copied) only where they lie far from 0 compared with their spread; else
    the origin is taken care of in the algebra, and the only extra memory is a few numbers per row.
    """

    def __init__(self, points: Floats) -> None:
        points = np.ascontiguousarray(points, np.float32)
        mean = _mean(points)
        if float(mean @ mean) > FAR * float(_mean(points[:: max(1, len(points) // 1000)] ** 2).sum() - mean @ mean):
            points, mean = points - mean, np.zeros_like(mean)
        self.points, self.mean = points, mean
        self.squares = np.empty(len(points), np.float32)  # of the distances to the mean
        for block in self._blocks():
            moved = points[block] - mean
            np.einsum("ij,ij->i", moved, moved, out=self.squares[block])
        self._everyone = np.arange(len(points))

    def __len__(self) -> int:
        return len(self.points)

    def distances(self, row: int) -> Floats:
        """Distances (N,) of all rows to one."""
        arm = self.points[row] - self.mean
        squared = np.empty(len(self), np.float32)
        for block in self._blocks():
            np.dot(self.points[block], arm, out=squared[block])
        squared -= self.mean @ arm
        squared *= -2
        squared += self.squares
        squared += self.squares[row]
        np.maximum(squared, 0, out=squared)
        squared[row] = 0
        return np.sqrt(squared, out=squared)

    def nearest(self, rows: Rows) -> Floats:
        """Distances (N,) of all rows to the nearest of these; infinite where there are none."""
        closest = np.full(len(self), np.inf, np.float32)
        for row in rows:
            np.minimum(closest, self.distances(int(row)), out=closest)
        return closest

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

        The bound lies between the diameter over root 3 and the diameter, and in practice within a few percent.
        """
        if len(self) <= EXACT_ROWS:
            return float(max(part.max() for _, part in self.pairs()))
        far = int(self.squares.argmax())
        for _ in range(3):
            distances = self.distances(far)
            far, widest = int(distances.argmax()), float(distances.max())
        return widest

    def shortest(self) -> float:
        """The smallest distance between two different rows of the (sampled) pool."""
        sample, best = self._sample(), np.inf
        for block, part in self.pairs():
            rows = self._everyone[block]
            part[rows[:, None] == sample[None]] = np.inf
            best = min(best, float(part.min()))
        return best

    def _sample(self) -> Rows:
        step = max(1, -(-len(self) // EXACT_ROWS))
        return self._everyone[::step]

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self), BLOCK_ROWS):
            yield slice(start, start + BLOCK_ROWS)


def _mean(points: Floats) -> Floats:
    return np.asarray(points.mean(axis=0, dtype=np.float64), np.float32)
