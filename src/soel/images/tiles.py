"""Pictures of any shape as tiles that overlap a little: each is seen by the network at its full resolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from soel.errors import ConfigError
from soel.images.decode import image_library
from soel.images.extractors import Extractor, Pictures
from soel.images.grids import count_places
from soel.images.image_items import Picture
from soel.images.patches import Patches, PatchExtractor, has_patches, patch_depth
from soel.types import Floats, Rows

MOST_TILES = 16  # of a picture: the time and the model grow with them
SPARE = 0.1  # of a tile by which a picture may be larger than its tiles, and is shrunk
OVERLAP = 0.125  # of a tile that its neighbour sees too: a defect on a seam is whole in one of them
Tiles = tuple[float, ...]  # how many down and across, and how far they overlap where they do


@dataclass(frozen=True)
class Tiled:
    """An extractor that looks at `down` times `across` tiles of a picture; the whole picture is brought to their size.

    Features are the mean over the tiles; patches lie on one grid over the whole picture, row by row, each taken from
    the tile in whose middle it lies most. overlap: the share of a tile that its neighbour sees too.
    """

    inner: Extractor
    down: int
    across: int
    overlap: float = 0.0

    @property
    def name(self) -> str:
        """That of the network."""
        return self.inner.name

    @property
    def size(self) -> int:
        """The side of a tile in pixels."""
        return self.inner.size

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the pictures it takes."""
        return self._starts(self.down)[-1] + self.size, self._starts(self.across)[-1] + self.size

    @property
    def fingerprint(self) -> str | None:
        """The network's, with the tiles; None where nobody knows the network."""
        own = self.inner.fingerprint
        apart = f"-overlap-{self.overlap:g}" if self.overlap else ""
        return None if own is None else f"{own}-tiles-{self.down}x{self.across}{apart}"

    @property
    def middle(self) -> bool:
        """Whether it can look at places."""
        return has_patches(self.inner)

    @property
    def patch_depth(self) -> int:
        """How many values a patch has."""
        return patch_depth(self.inner)

    @property
    def n_together(self) -> int:
        """From how many threads it may be called."""
        return int(getattr(self.inner, "n_together", 1))

    def features(self, pictures: Pictures) -> Floats:
        """Features (B, d) of pictures (B, *shape, 3)."""
        return self._mean(self.inner.features(self._cut(pictures)), len(pictures))

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        """Features (B, d) and patches (B, P, D) from one pass."""
        assert isinstance(self.inner, PatchExtractor)
        vectors, patches = self.inner.look(self._cut(pictures))
        side = round(patches.shape[1] ** 0.5)
        folded = patches.reshape(len(pictures), self.down, self.across, side, side, -1)
        tile_y, y = self._sources(self.down, side)
        tile_x, x = self._sources(self.across, side)
        joined = folded[:, tile_y[:, None], tile_x, y[:, None], x]
        return self._mean(vectors, len(pictures)), joined.reshape(len(pictures), -1, patches.shape[2])

    def _cut(self, pictures: Pictures) -> Pictures:
        """Tiles (B down across, size, size, 3), row by row."""
        tiles = [
            pictures[:, top : top + self.size, left : left + self.size]
            for top in self._starts(self.down)
            for left in self._starts(self.across)
        ]
        return np.stack(tiles, axis=1).reshape(-1, self.size, self.size, 3)

    def _starts(self, n_tiles: int) -> list[int]:
        """Where tiles begin along an axis, in pixels."""
        return [round(number * self.size * (1 - self.overlap)) for number in range(n_tiles)]

    def _sources(self, n_tiles: int, side: int) -> tuple[Rows, Rows]:
        """For each place along an axis the tile that it is taken from, and which of the tile's `side` places it is."""
        starts, n_places = np.array(self._starts(n_tiles)), count_places(side, n_tiles, self.overlap)
        middles = (np.arange(n_places) + 0.5) * (starts[-1] + self.size) / n_places
        tiles = np.abs(middles[:, None] - (starts + self.size / 2)).argmin(axis=1)
        places = np.floor((middles - starts[tiles]) * side / self.size).astype(np.int64)
        return tiles, np.clip(places, 0, side - 1)

    def _mean(self, vectors: Floats, n_pictures: int) -> Floats:
        return np.asarray(vectors.reshape(n_pictures, self.down * self.across, -1).mean(axis=1))


def open_tiles(inner: Extractor, tiles: Sequence[float]) -> Tiled:
    """An extractor in tiles as they are written down; those of older sessions do not overlap."""
    down, across, *overlap = tiles
    return Tiled(inner, int(down), int(across), *overlap)


def count_tiles(height: float, width: float, size: int, resolution: int) -> Tiles:
    """How many tiles of `size` pixels, down and across, a picture has whose shorter side is brought to `resolution`.

    Tiles that overlap see it a little smaller than that.
    """
    if resolution < size:
        raise ConfigError(f"A resolution of {resolution} is less than the {size} pixels that the network sees anyway.")
    scale = resolution / min(height, width)
    down, across = (max(1, ceil(side * scale / size - SPARE)) for side in (height, width))
    if down * across > MOST_TILES:
        raise ConfigError(
            f"A resolution of {resolution} makes {down} x {across} tiles of a picture, and at most {MOST_TILES} are "
            "looked at. Choose a lower one."
        )
    return (down, across, OVERLAP) if down * across > 1 else (down, across)


def stretch(picture: Picture, shape: tuple[int, int]) -> Picture:
    """The whole picture (H, W, 3) in another height and width, bilinear."""
    if picture.shape[:2] == shape:
        return picture
    pillow = image_library()
    whole = pillow.fromarray(np.ascontiguousarray(picture))
    return np.asarray(whole.resize((shape[1], shape[0]), pillow.Resampling.BILINEAR))
