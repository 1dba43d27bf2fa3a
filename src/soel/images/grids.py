"""Where the places of a picture lie in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.types import Floats


@dataclass(frozen=True)
class Grid:
    """`down` times `across` places, row by row.

    whole: they cover the whole picture, whatever its shape; else the square in its middle, which is all that was seen.
    step: how far the middles of neighbours lie apart, as a share of what is seen, the first at its rim; None spreads
    them evenly.
    """

    down: int
    across: int
    whole: bool = False
    step: float | None = None

    @classmethod
    def square(cls, n_places: int) -> Grid:
        """As many places down as across, in the middle of the picture."""
        side = round(n_places**0.5)
        return cls(side, side)

    @classmethod
    def of_tiles(cls, n_places: int, down: int, across: int, overlap: float = 0.0) -> Grid:
        """Over a whole picture that was seen in so many tiles, `n_places` in all."""
        for side in range(1, n_places + 1):
            grid = cls(count_places(side, down, overlap), count_places(side, across, overlap), whole=True)
            if grid.down * grid.across >= n_places:
                break
        return grid

    def seen(self, height: int, width: int) -> tuple[int, int, int, int]:
        """The part of a picture that the places cover: top, left, height and width in pixels."""
        if self.whole:
            return 0, 0, height, width
        side = min(height, width)
        return (height - side) // 2, (width - side) // 2, side, side

    def middles(self, height: int, width: int) -> Floats:
        """The middle (P, 2) of each place, x and y in pixels of a picture."""
        top, left, tall, wide = self.seen(height, width)
        y, x = top + tall * _middles(self.down, self.step), left + wide * _middles(self.across, self.step)
        return np.stack([np.tile(x, self.down), np.repeat(y, self.across)], axis=1)

    def size(self, height: int, width: int) -> tuple[float, float]:
        """The width and height of a place, in pixels of a picture."""
        _, _, tall, wide = self.seen(height, width)
        return wide * (self.step or 1 / self.across), tall * (self.step or 1 / self.down)

    def enlarge(self, maps: Floats, height: int, width: int) -> Floats:
        """Values (n, P) as pictures (n, height, width); between the middles of places they pass evenly."""
        folded = maps.reshape(len(maps), self.down, self.across)
        down, across = _between(self.down, height, self.step), _between(self.across, width, self.step)
        return np.asarray(down @ folded @ across.T)


def count_places(side: int, n_tiles: int, overlap: float) -> int:
    """Places along an axis of `n_tiles` tiles with `side` places each."""
    return round(side * (1 + (n_tiles - 1) * (1 - overlap)))


def _middles(n_places: int, step: float | None) -> Floats:
    """The middles (n_places,) of places along an axis, as shares of it."""
    return np.arange(n_places) * step if step else (np.arange(n_places) + 0.5) / n_places


def _between(n_places: int, n_pixels: int, step: float | None) -> Floats:
    """(n_pixels, n_places): how far each place counts at each pixel."""
    shares = (np.arange(n_pixels) + 0.5) / n_pixels
    at = np.clip(shares / step if step else shares * n_places - 0.5, 0, n_places - 1)
    return np.asarray(np.clip(1 - np.abs(at[:, None] - np.arange(n_places)), 0, 1), np.float32)
