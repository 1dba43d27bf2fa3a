"""Pictures at one shape, about their own resolution: which part of them, how large, and in how many windows."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soel.errors import ConfigError
from soel.images.decode import image_library, load_picture
from soel.images.extractors import SMALLEST_SIDE, VERSION, Extractor, Patches, PatchExtractor, Pictures
from soel.images.grids import WHOLE, Grid
from soel.images.image_items import Picture
from soel.types import Booleans, Floats, Rows

MOST_PIXELS = 1 << 20  # of a picture, where nobody says a resolution: time, disk and the model grow with them
MOST_EVER = 1 << 24
WINDOW = 1024  # pixels along a side that a network sees at once
OVERLAP = 0.125  # of a window that its neighbour sees too: a defect on a seam is whole in one of them
GREY = 127  # of what lies outside the region
MASK_SIDE = 512  # pixels that a mask is kept with


@dataclass(frozen=True)
class SeenRegion:
    """The part of each picture that is judged.

    frame: top, left, bottom and right as shares. mask: a PNG of the frame in base64, white where pictures are judged.
    """

    frame: tuple[float, float, float, float] = WHOLE
    mask: str = ""

    @classmethod
    def read(cls, text: str, shape: tuple[float, float]) -> SeenRegion:
        """From the path of a mask, white where pictures are judged, or 'left,top,width,height' in pixels or shares.

        shape: the usual height and width of the pictures.
        """
        try:
            left, top, width, height = (float(word) for word in text.split(","))
        except ValueError:
            return cls._from_mask(text)
        tall, wide = (1.0, 1.0) if max(left, top, width, height) <= 1 else shape
        frame = (top / tall, left / wide, (top + height) / tall, (left + width) / wide)
        if not (0 <= frame[0] < frame[2] <= 1 and 0 <= frame[1] < frame[3] <= 1):
            raise ConfigError(f"The region {text} does not lie within pictures of {wide:g} x {tall:g}. Give another.")
        return cls(frame)

    @classmethod
    def _from_mask(cls, text: str) -> SeenRegion:
        path = Path(text)
        if not path.is_file():
            raise ConfigError(f"A region is a mask's file or 'left,top,width,height', got {text!r}.")
        inside = load_picture(path).mean(axis=2) > GREY
        if not inside.any():
            raise ConfigError(f"The mask {path.name} is black everywhere. Make white what is to be judged.")
        down, across = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
        part = inside[down[0] : down[-1] + 1, across[0] : across[-1] + 1]
        tall, wide = inside.shape
        frame = (down[0] / tall, across[0] / wide, (down[-1] + 1) / tall, (across[-1] + 1) / wide)
        image, buffer = image_library().fromarray(part), io.BytesIO()
        image.thumbnail((MASK_SIDE, MASK_SIDE))
        image.save(buffer, "PNG")
        return cls(tuple(float(share) for share in frame), base64.b64encode(buffer.getvalue()).decode())  # type: ignore[arg-type]

    def crop(self, picture: Picture) -> Picture:
        """The part of a picture (H, W, 3) within the frame."""
        top, left, tall, wide = Grid(1, 1, self.frame).seen(*picture.shape[:2])
        return picture[top : top + tall, left : left + wide]

    def outside(self, shape: tuple[int, int]) -> Booleans | None:
        """Which pixels (H, W) of the frame are not judged; None where all are."""
        if not self.mask:
            return None
        pillow = image_library()
        image = pillow.open(io.BytesIO(base64.b64decode(self.mask)), formats=("PNG",)).convert("L")
        return np.asarray(image.resize(shape[::-1], pillow.Resampling.BILINEAR)) <= GREY


@dataclass(frozen=True)
class View:
    """An extractor of features and patches, for pictures brought to one shape (H, W).

    A network that takes pictures of one size only, or one of very large pictures, sees windows that overlap: features
    are the mean over them, and each place is taken from the window in whose middle it lies most.
    """

    inner: Extractor
    shape: tuple[int, int]
    region: SeenRegion = SeenRegion()

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def size(self) -> int:
        """The shorter side in pixels."""
        return min(self.shape)

    @property
    def fingerprint(self) -> str | None:
        """The network's, with the shape and the region; None where nobody knows the network."""
        own = self.inner.fingerprint
        part = "" if self.region == SeenRegion() else "-" + hashlib.sha256(str(self.region).encode()).hexdigest()[:12]
        return None if own is None else f"{own}-{self.shape[0]}x{self.shape[1]}-patches-{VERSION}{part}"

    @property
    def n_together(self) -> int:
        """From how many threads it may be called."""
        return int(getattr(self.inner, "n_together", 1))

    def prepare(self, picture: Picture) -> Picture:
        """A picture (H, W, 3) of any size as it is looked at."""
        seen = stretch(self.region.crop(picture), self.shape)
        if self._outside is not None:
            seen = np.where(self._outside[..., None], np.uint8(GREY), seen)
        return seen

    def features(self, pictures: Pictures) -> Floats:
        """Features (B, d) of pictures (B, *shape, 3)."""
        return self.look(pictures)[0]

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        """Features (B, d) and patches (B, P, D) from one pass."""
        vectors, patches = self._look(pictures)
        return vectors, patches.reshape(len(patches), -1, patches.shape[3])

    @cached_property
    def grid(self) -> Grid:
        down, across = self._look(np.zeros((1, *self.shape, 3), np.uint8))[1].shape[1:3]
        if self._windows != self.shape:
            return Grid(down, across, self.region.frame)
        steps = [round(side / n) / side for side, n in zip(self.shape, (down, across), strict=True)]
        first = float(getattr(self.inner, "first_place", 0.5))  # of a step
        return Grid(down, across, self.region.frame, (first * steps[0], first * steps[1]), (steps[0], steps[1]))

    @cached_property
    def _outside(self) -> Booleans | None:
        return self.region.outside(self.shape)

    @property
    def _windows(self) -> tuple[int, int]:
        """Height and width of a window."""
        assert isinstance(self.inner, PatchExtractor)
        side = WINDOW if self.inner.takes_any_shape else self.inner.size
        return min(side, self.shape[0]), min(side, self.shape[1])

    def _look(self, pictures: Pictures) -> tuple[Floats, NDArray[np.float16]]:
        assert isinstance(self.inner, PatchExtractor)
        tall, wide = self._windows
        tops, lefts = _starts(self.shape[0], tall), _starts(self.shape[1], wide)
        found = [[self.inner.look(pictures[:, top : top + tall, left : left + wide]) for left in lefts] for top in tops]
        vectors = np.mean([vector for row in found for vector, _ in row], axis=0)
        patches = np.array([[part for _, part in row] for row in found])  # (m, n, B, down, across, D)
        tile_y, y = _sources(self.shape[0], tall, tops, patches.shape[3])
        tile_x, x = _sources(self.shape[1], wide, lefts, patches.shape[4])
        joined = patches[tile_y[:, None], tile_x, :, y[:, None], x]  # (down, across, B, D)
        return np.asarray(vectors, np.float32), joined.transpose(2, 0, 1, 3)


def open_view(inner: Extractor, shape: Sequence[int], region: Mapping[str, Any] | None = None) -> View:
    """A view as it is written down. A network of one size sees no picture that is smaller."""
    least = 0 if getattr(inner, "takes_any_shape", False) else inner.size
    height, width = (max(int(side), least) for side in shape)
    return View(
        inner, (height, width), SeenRegion() if not region else SeenRegion(tuple(region["frame"]), region["mask"])
    )


def choose_shape(sizes: Sequence[tuple[float, float]], resolution: int | None = None) -> tuple[int, int]:
    """Height and width for pictures of these sizes: the usual one of their own, never more.

    Aspect is kept. resolution: the shorter side, where somebody says it; else at most MOST_PIXELS are looked at.
    """
    height, width = (float(np.median([size[axis] for size in sizes])) for axis in (0, 1))
    if resolution is None:
        scale = min(1.0, sqrt(MOST_PIXELS / (height * width)))
    elif resolution < SMALLEST_SIDE:
        raise ConfigError(f"A resolution is the shorter side in pixels, {SMALLEST_SIDE} at least, got {resolution}.")
    else:
        scale = min(1.0, resolution / min(height, width))
    shape = max(round(height * scale), 1), max(round(width * scale), 1)
    if shape[0] * shape[1] > MOST_EVER:
        raise ConfigError(
            f"A resolution of {resolution} makes pictures of {shape[0] * shape[1] / 1e6:.1f} million pixels, and at "
            f"most {MOST_EVER / 1e6:.1f} million are looked at. Choose a lower one."
        )
    return shape


def stretch(picture: Picture, shape: tuple[int, int]) -> Picture:
    """The whole picture (H, W, 3) in another height and width, bilinear."""
    if picture.shape[:2] == shape:
        return picture
    pillow = image_library()
    whole = pillow.fromarray(np.ascontiguousarray(picture))
    return np.asarray(whole.resize((shape[1], shape[0]), pillow.Resampling.BILINEAR))


def _starts(length: int, window: int) -> list[int]:
    """Where windows begin along an axis, in pixels."""
    n_windows = 1 if length <= window else 1 + ceil((length - window) / (window * (1 - OVERLAP)))
    return [round(at) for at in np.linspace(0, length - window, n_windows)]


def _sources(length: int, window: int, starts: Sequence[int], side: int) -> tuple[Rows, Rows]:
    """For each place along an axis the window that it is taken from, and which of the window's `side` places it is."""
    n_places, begin = round(side * length / window), np.array(starts)
    middles = (np.arange(n_places) + 0.5) * length / n_places
    windows = np.abs(middles[:, None] - (begin + window / 2)).argmin(axis=1)
    places = np.floor((middles - begin[windows]) * side / window).astype(np.int64)
    return windows, np.clip(places, 0, side - 1)
