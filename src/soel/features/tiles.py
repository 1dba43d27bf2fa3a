"""Pictures of any shape as tiles side by side: each is seen by the network at its full resolution."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from soel.errors import ConfigError
from soel.features.extractors import Extractor, Pictures
from soel.features.items import Picture
from soel.features.patches import Patches, PatchExtractor, has_patches
from soel.features.pictures import image_library
from soel.types import Floats

MOST_TILES = 16  # of a picture: the time and the model grow with them
SPARE = 0.1  # of a tile by which a picture may be larger than its tiles, and is shrunk


@dataclass(frozen=True)
class Tiled:
    """An extractor that looks at `down` times `across` tiles of a picture; the whole picture is brought to their size.

    Features are the mean over the tiles; patches lie on one grid over the whole picture, row by row.
    """

    inner: Extractor
    down: int
    across: int

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
        return self.down * self.size, self.across * self.size

    @property
    def fingerprint(self) -> str | None:
        """The network's, with the tiles; None where nobody knows the network."""
        own = self.inner.fingerprint
        return None if own is None else f"{own}-tiles-{self.down}x{self.across}"

    @property
    def middle(self) -> bool:
        """Whether it can look at places."""
        return has_patches(self.inner)

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
        joined = folded.transpose(0, 1, 3, 2, 4, 5).reshape(len(pictures), -1, patches.shape[2])
        return self._mean(vectors, len(pictures)), np.ascontiguousarray(joined)

    def _cut(self, pictures: Pictures) -> Pictures:
        """Tiles (B down across, size, size, 3), row by row."""
        folded = pictures.reshape(len(pictures), self.down, self.size, self.across, self.size, 3)
        return np.ascontiguousarray(folded.transpose(0, 1, 3, 2, 4, 5)).reshape(-1, self.size, self.size, 3)

    def _mean(self, vectors: Floats, n_pictures: int) -> Floats:
        return np.asarray(vectors.reshape(n_pictures, self.down * self.across, -1).mean(axis=1))


def count_tiles(height: float, width: float, size: int, resolution: int) -> tuple[int, int]:
    """How many tiles of `size` pixels, down and across, a picture has whose shorter side is brought to `resolution`."""
    if resolution < size:
        raise ConfigError(f"A resolution of {resolution} is less than the {size} pixels that the network sees anyway.")
    scale = resolution / min(height, width)
    down, across = (max(1, ceil(side * scale / size - SPARE)) for side in (height, width))
    if down * across > MOST_TILES:
        raise ConfigError(
            f"A resolution of {resolution} makes {down} x {across} tiles of a picture, and at most {MOST_TILES} are "
            "looked at. Choose a lower one."
        )
    return down, across


def stretch(picture: Picture, shape: tuple[int, int]) -> Picture:
    """The whole picture (H, W, 3) in another height and width, bilinear."""
    if picture.shape[:2] == shape:
        return picture
    pillow = image_library()
    whole = pillow.fromarray(np.ascontiguousarray(picture))
    return np.asarray(whole.resize((shape[1], shape[0]), pillow.Resampling.BILINEAR))
