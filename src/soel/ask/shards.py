"""A pool whose rows are spread over workers: what each does with its rows, in numbers that one reduce can join."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from soel.ask.diverse import draw_in_blocks
from soel.ask.draw import Drawn, draw_any, join_draws
from soel.ask.space import Measure, Origin, Space
from soel.types import Floats, Rows


@dataclass(frozen=True)
class Point:
    """A row of the pool that others measure their distance to. value: what it was chosen by, where it was."""

    row: int
    at: Floats  # (D,) in the space
    square: np.float32  # of its distance to the mean
    value: float = 0.0


class Shard:
    """Rows `start` to `start + n` of the pool as points (n, D); `start` is a multiple of the space's block.

    Every answer is that of the one space of all rows: the same blocks, the same origin, the same noise.
    """

    def __init__(self, points: Floats, start: int) -> None:
        self._raw, self.start = np.ascontiguousarray(points, np.float32), start

    def every(self, step: int) -> Floats:
        """Every `step`-th row of the pool that is here, before the origin is known."""
        return self._raw[-self.start % step :: step]

    def settle(self, origin: Origin, free: np.ndarray) -> None:
        """Take the origin; free: (n,), which rows may be drawn."""
        self._space = Space(self._raw, origin)
        self._closest = np.where(free, np.float32(np.inf), np.float32(-np.inf))  # no distance is smaller

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
        distances = np.full(len(self._raw), np.inf, np.float32)
        self._space.shrink(distances, self._measures([point]))
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
        self._take(points)
        self._space.shrink(self._closest, self._measures(points))

    def farthest(self, placed: list[Point]) -> Point | None:
        """Place these, then name the free row farthest from all that were placed."""
        self.place(placed)
        row = int(self._closest.argmax())
        value = float(self._closest[row])
        return self._point(row, value) if value > -np.inf else None

    def draw(self, placed: list[Point], unit: float, seed: int, number: int) -> tuple[Point, Drawn] | None:
        """Place these, then draw from softmax(distance / unit) over the free rows."""
        self._take(placed)
        parts = draw_in_blocks(self._space, self._closest, self._measures(placed), unit, seed, number, self.start)
        return self._locate(join_draws(parts)) if any(parts) else None

    def draw_any(self, seed: int) -> tuple[Point, Drawn]:
        """The first draw where nothing is known: every row is as likely."""
        return self._locate(draw_any(len(self._raw), seed, self.start))

    def _locate(self, drawn: Drawn) -> tuple[Point, Drawn]:
        return self._point(drawn.row - self.start), drawn

    def _take(self, points: list[Point]) -> None:
        for point in points:
            if 0 <= point.row - self.start < len(self._raw):
                self._closest[point.row - self.start] = -np.inf

    def _measures(self, points: list[Point]) -> list[Measure]:
        return [self._space.measure(point.at, point.square) for point in points]

    def _point(self, row: int, value: float = 0.0) -> Point:
        return Point(row + self.start, self._space.points[row].copy(), self._space.squares[row], value)
