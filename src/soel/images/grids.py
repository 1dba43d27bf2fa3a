"""Where the places of a picture lie in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from soel.types import Floats

Pair = tuple[float, float]  # along y and x
WHOLE = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Grid:
    """`down` times `across` places, row by row, over a part of a picture.

    frame: top, left, bottom and right of that part, as shares of the picture. first, step: the middle of the first
    place, and from one middle to the next, as shares of the part along y and x; None spreads the places evenly.
    """

    down: int
    across: int
    frame: tuple[float, float, float, float] = WHOLE
    first: Pair | None = None
    step: Pair | None = None

    @property
    def even(self) -> Grid:
        """The same with places spread evenly, so that each point of the part lies in one: for what people mark."""
        return replace(self, first=None, step=None)

    def seen(self, height: int, width: int) -> tuple[int, int, int, int]:
        """The part of a picture that the places cover: top, left, height and width in pixels."""
        top, left, bottom, right = (
            round(share * side) for share, side in zip(self.frame, (height, width) * 2, strict=True)
        )
        return top, left, max(bottom - top, 1), max(right - left, 1)

    def middles(self, height: int, width: int) -> Floats:
        """The middle (P, 2) of each place, x and y in pixels of a picture."""
        top, left, tall, wide = self.seen(height, width)
        y, x = top + tall * self._shares(0), left + wide * self._shares(1)
        return np.stack([np.tile(x, self.down), np.repeat(y, self.across)], axis=1)

    def size(self, height: int, width: int) -> tuple[float, float]:
        """The width and height of a place, in pixels of a picture."""
        _, _, tall, wide = self.seen(height, width)
        return wide * self._placing(1)[1], tall * self._placing(0)[1]

    def enlarge(self, maps: Floats, height: int, width: int) -> Floats:
        """Values (n, P) as pictures (n, height, width) of the part; between the middles of places they pass evenly."""
        folded = maps.reshape(len(maps), self.down, self.across)
        return np.asarray(self._between(0, height) @ folded @ self._between(1, width).T)

    def _placing(self, axis: int) -> Pair:
        """The first middle and the step along an axis, as shares."""
        n_places = (self.down, self.across)[axis]
        if self.first is None or self.step is None:
            return 0.5 / n_places, 1 / n_places
        return self.first[axis], self.step[axis]

    def _shares(self, axis: int) -> Floats:
        first, step = self._placing(axis)
        return np.asarray(first + step * np.arange((self.down, self.across)[axis]))

    def _between(self, axis: int, n_pixels: int) -> Floats:
        """(n_pixels, n_places): how far each place counts at each pixel."""
        first, step = self._placing(axis)
        n_places = (self.down, self.across)[axis]
        at = np.clip(((np.arange(n_pixels) + 0.5) / n_pixels - first) / step, 0, n_places - 1)
        return np.asarray(np.clip(1 - np.abs(at[:, None] - np.arange(n_places)), 0, 1), np.float32)
