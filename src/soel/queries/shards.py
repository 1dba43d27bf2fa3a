"""A pool whose rows are spread over workers: what each does with its rows, in numbers that one reduce can join."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from soel.queries.distances import Origin, Space, block_sums
from soel.queries.diverse import as_logits
from soel.queries.draw import draw_among
from soel.types import Floats, Rows


@dataclass(frozen=True)
class Point:
    """A row of the pool that others measure their distance to. value: what it was chosen by, where it was."""

    row: int
    at: Floats  # (D,) in the space
    square: np.float32  # of its distance to the mean
    value: float = 0.0


@dataclass(frozen=True)
class Best:
    """A shard's candidate for a draw, and what the draw's odds need: the largest logit and the mass below it."""

    point: Point | None
    top: float = -np.inf
    mass: float = 0.0
    logit: float = -np.inf


class Shard:
    """Rows `start` to `start + n` of the pool as points (n, D); `start` is a multiple of the space's block.

    Every answer is that of the one space of all rows: the same blocks, the same origin, the same noise.
    """

    def __init__(self, points: Floats, start: int) -> None:
        self._raw, self.start = np.ascontiguousarray(points, np.float32), start

    def sums(self) -> Floats:
        """Sums by block, for the origin."""
        return block_sums(self._raw)

    def every(self, step: int) -> Floats:
        """Every `step`-th row of the pool that is here, before the origin is known."""
        return self._raw[-self.start % step :: step]

    def settle(self, origin: Origin, free: np.ndarray) -> None:
        """Take the origin; free: (n,), which rows may be drawn."""
        self._space, self._free = Space(self._raw, origin), free.copy()
        self._closest = np.full(len(self._raw), np.inf, np.float32)

    def samples(self, step: int) -> tuple[Floats, Floats]:
        """Every `step`-th row as an arm from the mean, and their squares."""
        part = slice(-self.start % step, None, step)
        return self._space.points[part] - self._space.mean, self._space.squares[part]

    def points_of(self, rows: Rows) -> list[Point]:
        """Those of these rows of the pool that are here."""
        own = rows[(rows >= self.start) & (rows < self.start + len(self._raw))]
        return [self._point(int(row) - self.start) for row in own]

    def extreme(self, smallest: bool) -> Point:
        """The row nearest to the mean, or the one farthest from it."""
        squares = self._space.squares
        row = int(squares.argmin() if smallest else squares.argmax())
        return self._point(row, float(squares[row]))

    def farthest_from(self, point: Point) -> Point:
        """The row farthest from a point."""
        distances = self._distances(point)
        row = int(distances.argmax())
        return self._point(row, float(distances[row]))

    def most_central(self, others: Floats, squares: Floats, unit: float) -> Point:
        """The row with the smallest mean of exp(distance / unit) to the others."""
        reach = np.empty(len(self._raw))
        for block, distances in self._space.pairs_with(others, squares):
            reach[block] = logsumexp(distances.astype(np.float64) / unit, axis=1)
        row = int(reach.argmin())
        return self._point(row, float(reach[row]))

    def place(self, points: list[Point]) -> None:
        """Rows are known or drawn from now on: distances to the nearest of them shrink."""
        for point in points:
            np.minimum(self._closest, self._distances(point), out=self._closest)
            if 0 <= point.row - self.start < len(self._free):
                self._free[point.row - self.start] = False

    def farthest(self, placed: list[Point]) -> Best:
        """Place these, then name the free row farthest from all that were placed."""
        self.place(placed)
        values = np.where(self._free, self._closest, -np.inf)
        row = int(values.argmax())
        return Best(self._point(row, float(values[row])) if self._free[row] else None)

    def draw(self, placed: list[Point], unit: float, seed: int, number: int) -> Best:
        """Place these, then draw from softmax(distance / unit) over the free rows."""
        self.place(placed)
        free = np.where(self._free, self._closest, np.float32(-np.inf))
        return self._drawn(as_logits(free, unit), seed, number)

    def draw_any(self, seed: int) -> Best:
        """The first draw where nothing is known: every row is as likely."""
        return self._drawn(np.zeros(len(self._raw)), seed, 0)

    def _drawn(self, logits: Floats, seed: int, number: int) -> Best:
        drawn = draw_among(logits, seed, number, self.start)
        if drawn is None:
            return Best(None)
        return Best(self._point(drawn.row, drawn.key), drawn.top, drawn.mass, drawn.logit)

    def _distances(self, point: Point) -> Floats:
        distances = self._space.distances_to(point.at, point.square)
        if 0 <= point.row - self.start < len(distances):
            distances[point.row - self.start] = 0
        return distances

    def _point(self, row: int, value: float = 0.0) -> Point:
        return Point(row + self.start, self._space.points[row].copy(), self._space.squares[row], value)
