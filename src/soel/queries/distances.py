"""Euclidean distances from all rows to a few, in blocks: one pass over the bytes, O(N) extra memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from soel.cores import n_cores, side_by_side
from soel.types import Floats, Rows

BLOCK_ROWS = 8192  # blocks start at multiples of this, so that sharding cannot change a rounding
SMALL_ROWS = 256  # where rows are copied, these many at a time stay in the cache
MANY_BLOCKS = 4  # fewer are not worth a second thread
FAR = 100.0  # squared distance of the mean from 0, in units of the rows' variance
EXACT_ROWS = 5000  # up to this many rows all pairs are looked at; beyond it, bounds and samples


@dataclass(frozen=True)
class Origin:
    """The mean (D,) of the rows, and whether it lies so far from 0 that the rows themselves are moved."""

    mean: Floats
    is_far: bool


class Space:
    """Rows as points, with the mean as origin, so that differences of squares keep their digits in float32.

    The rows themselves are moved (and so copied) only where they lie far from 0 compared with their spread; else
    the origin is taken care of in the algebra, and the only extra memory is a few numbers per row.
    origin: given where these rows, from a multiple of BLOCK_ROWS on, are a part of the space only.
    """

    def __init__(self, points: Floats, origin: Origin | None = None) -> None:
        points = np.ascontiguousarray(points, np.float32)
        if origin is None:
            origin = find_origin(block_sums(points), len(points), points[:: origin_step(len(points))])
        mean = origin.mean
        if origin.is_far:
            points, mean = points - mean, np.zeros_like(mean)
        self.points, self.mean = points, mean
        self.squares = np.empty(len(points), np.float32)  # of the distances to the mean
        side_by_side(self._measure_squares, self._runs())
        self._everyone = np.arange(len(points))

    def __len__(self) -> int:
        return len(self.points)

    def distances(self, row: int) -> Floats:
        """Distances (N,) of all rows to one."""
        distances = self.distances_to(self.points[row], self.squares[row])
        distances[row] = 0
        return distances

    def distances_to(self, point: Floats, square: np.float32) -> Floats:
        """Distances (N,) of all rows to a point (D,) of this space whose squared distance to the mean is known."""
        arm = point - self.mean
        distances = np.empty(len(self), np.float32)
        offset = square + 2 * (self.mean @ arm)

        def measure(run: slice) -> None:
            for block in _blocks(run):
                # einsum adds up one row after the other, on its own: no library's threads can change a rounding.
                part = np.einsum("ij,j->i", self.points[block], arm, out=distances[block])
                part *= -2
                part += self.squares[block]
                part += offset
                np.sqrt(np.maximum(part, 0, out=part), out=part)

        side_by_side(measure, self._runs())
        return distances

    def nearest(self, rows: Rows) -> Floats:
        """Distances (N,) of all rows to the nearest of these; infinite where there are none."""
        closest = np.full(len(self), np.inf, np.float32)
        for row in rows:
            np.minimum(closest, self.distances(int(row)), out=closest)
        return closest

    def pairs(self) -> Iterator[tuple[slice, Floats]]:
        """Distances between blocks of rows and a sample of at most EXACT_ROWS of them: (block, (b, m))."""
        sample = self._sample()
        return self.pairs_with(self.points[sample] - self.mean, self.squares[sample])

    def pairs_with(self, others: Floats, squares: Floats) -> Iterator[tuple[slice, Floats]]:
        """Distances between blocks of rows and others (m, D), given as arms from the mean, with their squares."""
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
        return self._everyone[:: sample_step(len(self))]

    def _measure_squares(self, run: slice) -> None:
        moved = np.empty((SMALL_ROWS, self.points.shape[1]), np.float32)
        for start in range(run.start, run.stop, SMALL_ROWS):
            part = slice(start, min(start + SMALL_ROWS, run.stop))
            at = np.subtract(self.points[part], self.mean, out=moved[: part.stop - start])
            np.einsum("ij,ij->i", at, at, out=self.squares[part])

    def _runs(self) -> list[slice]:
        """The rows in runs of whole blocks, one for each core where there are enough of them."""
        n_blocks = -(-len(self) // BLOCK_ROWS)
        step = -(-n_blocks // n_cores()) * BLOCK_ROWS if n_blocks >= MANY_BLOCKS else max(len(self), 1)
        return [slice(start, min(start + step, len(self))) for start in range(0, len(self), step)]


def _blocks(run: slice) -> Iterator[slice]:
    for start in range(run.start, run.stop, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, run.stop))


def block_sums(points: Floats) -> Floats:
    """The sum of each block of rows: (blocks, D). Added up in this order, however the rows are spread."""
    blocks = list(_blocks(slice(0, len(points))))
    return np.stack(side_by_side(lambda block: points[block].sum(axis=0), blocks)).astype(np.float64)


def sample_step(n_rows: int) -> int:
    """Every how many rows one stands for the others where all pairs would be too many."""
    return max(1, -(-n_rows // EXACT_ROWS))


def origin_step(n_rows: int) -> int:
    """Every how many rows one is looked at to find the spread."""
    return max(1, n_rows // 1000)


def find_origin(sums: Floats, n_rows: int, sample: Floats) -> Origin:
    """The origin of rows with these sums by block; sample: every `origin_step`-th of them."""
    mean = np.asarray(sums.sum(axis=0) / n_rows, np.float32)
    square = float(mean @ mean)
    spread = float((sample**2).mean(axis=0, dtype=np.float64).sum()) - square
    return Origin(mean, square > FAR * spread)
