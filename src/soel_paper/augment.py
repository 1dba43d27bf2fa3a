"""Weak and strong augmentations of pictures in bytes, for FixMatch: (n, h, w) or (n, h, w, channels) in and out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from soel.types import Floats

Pictures = NDArray[np.uint8]
Picture = NDArray[np.uint8]
SHIFT = 0.125  # of the side, at most
HOLE = 0.5  # the side of the square that is cut out, of the picture's
N_CHANGES = 2
GREY = 127


def weak(pictures: Pictures, rng: np.random.Generator) -> Pictures:
    """Mirrored half of the time and shifted a little; what a shift uncovers is reflected."""
    return np.stack([_move(picture, rng) for picture in pictures])


def strong(pictures: Pictures, rng: np.random.Generator) -> Pictures:
    """Moved, changed in two random ways, and with a square cut out (Cutout)."""
    return np.stack([_cut(_change(_move(picture, rng), rng), rng) for picture in pictures])


def _move(picture: Picture, rng: np.random.Generator) -> Picture:
    reach = max(1, round(SHIFT * min(picture.shape[:2])))
    down, across = rng.integers(0, 2 * reach + 1, 2)
    turned = picture[:, ::-1] if rng.random() < 0.5 else picture
    padded = np.pad(turned, [(reach, reach), (reach, reach), *[(0, 0)] * (picture.ndim - 2)], mode="reflect")
    return padded[down : down + picture.shape[0], across : across + picture.shape[1]]


def _change(picture: Picture, rng: np.random.Generator) -> Picture:
    for index in rng.choice(len(CHANGES), N_CHANGES, replace=False):
        picture = CHANGES[index](picture, rng.random())
    return picture


def _cut(picture: Picture, rng: np.random.Generator) -> Picture:
    """A grey square around a random place, which may lie partly outside."""
    height, width = picture.shape[:2]
    row, column = rng.integers(height), rng.integers(width)
    half = round(HOLE * min(height, width) / 2)
    holed = picture.copy()
    holed[max(0, row - half) : row + half, max(0, column - half) : column + half] = GREY
    return holed


def _brighter(picture: Picture, strength: float) -> Picture:
    return _bytes(picture.astype(np.float32) * (0.4 + 1.2 * strength))


def _contrast(picture: Picture, strength: float) -> Picture:
    middle = picture.mean()
    return _bytes(middle + (picture - middle) * (0.4 + 1.2 * strength))


def _posterise(picture: Picture, strength: float) -> Picture:
    bits = 4 - int(3 * strength)  # how many are dropped: one to four
    return np.left_shift(np.right_shift(picture, bits), bits).astype(np.uint8)


def _solarise(picture: Picture, strength: float) -> Picture:
    return np.where(picture >= 128 + 127 * strength, 255 - picture, picture).astype(np.uint8)


def _stretch(picture: Picture, strength: float) -> Picture:
    """The darkest becomes black and the brightest white."""
    low, high = int(picture.min()), int(picture.max())
    return _bytes((picture.astype(np.float32) - low) * (255 / max(1, high - low)))


def _turn(picture: Picture, strength: float) -> Picture:
    """Turned by up to 30 degrees about the middle, by the nearest pixel."""
    angle = (strength - 0.5) * np.pi / 3
    height, width = picture.shape[:2]
    rows, columns = np.mgrid[:height, :width]
    down, across = rows - (height - 1) / 2, columns - (width - 1) / 2
    at_row = np.cos(angle) * down - np.sin(angle) * across + (height - 1) / 2
    at_column = np.sin(angle) * down + np.cos(angle) * across + (width - 1) / 2
    at_row = at_row.round().astype(int).clip(0, height - 1)
    at_column = at_column.round().astype(int).clip(0, width - 1)
    turned: Picture = picture[at_row, at_column]
    return turned


def _bytes(values: Floats) -> Picture:
    return values.round().clip(0, 255).astype(np.uint8)


CHANGES: tuple[Callable[[Picture, float], Picture], ...] = (
    _brighter,
    _contrast,
    _posterise,
    _solarise,
    _stretch,
    _turn,
)
