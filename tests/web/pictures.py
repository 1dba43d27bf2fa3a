"""Made-up pictures: brushed metal discs, a few of them scratched, and a clip of a belt that carries them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from soel.features.items import Picture
from soel.types import Floats

SIDE, N_DISCS, N_FRAMES = 256, 40, 48
DAMAGED = (3, 11, 17, 29, 34)
SCRATCHED = {f"disc {n:03d}.png" for n in DAMAGED} | {f"belt/frame {n:03d}.png" for n in range(24, 36)}


def draw_disc(rng: np.random.Generator, scratched: bool, at: float = 0.5) -> Picture:
    """A disc on a dark ground, its middle `at` of the width; a scratch is a bright line across it."""
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    away = np.hypot(x - at, y - 0.5)
    rings = 0.62 + 0.08 * np.sin(180 * away) + 0.18 * (x - y)
    picture = np.where((away < 0.36) & (away > 0.07), rings, 0.13) + rng.normal(0, 0.02, (SIDE, SIDE))
    if scratched:
        angle, offset = rng.uniform(0, np.pi), rng.uniform(-0.15, 0.15)
        line = np.abs((x - at) * np.cos(angle) + (y - 0.5) * np.sin(angle) - offset)
        picture = np.where((line < 0.008) & (away < 0.36), 1.0, picture)
    tint = np.array([0.96, 1.0, 1.08])
    pixels: NDArray[np.uint8] = (255 * np.clip(picture[..., None] * tint, 0, 1)).astype(np.uint8)
    return pixels


def write_discs(folder: Path) -> None:
    """A folder of pictures, scratched ones scattered among them."""
    rng = np.random.default_rng(2)
    folder.mkdir()
    for number in range(N_DISCS):
        Image.fromarray(draw_disc(rng, number in DAMAGED)).save(folder / f"disc {number:03d}.png")


def write_belt(folder: Path) -> None:
    """Numbered frames of discs that pass by, one of them scratched."""
    rng = np.random.default_rng(3)
    clip = folder / "belt"
    clip.mkdir(parents=True)
    for number in range(N_FRAMES):
        turn, at = divmod(number, 12)
        Image.fromarray(draw_disc(rng, turn == 2, -0.2 + 0.125 * at)).save(clip / f"frame {number:03d}.png")


class Brightness:
    """Features that need no network: the picture in 8 x 8 grey squares, and how bright its brightest spots are."""

    name, size, fingerprint = "brightness", 64, "brightness-1"

    def features(self, pictures: NDArray[np.uint8]) -> Floats:
        """Features (B, 65) of pictures (B, 64, 64, 3)."""
        grey = pictures.mean(axis=3) / 255
        squares = grey.reshape(len(grey), 8, 8, 8, 8).mean(axis=(2, 4)).reshape(len(grey), -1)
        bright = np.quantile(grey.reshape(len(grey), -1), 0.99, axis=1)[:, None]
        return np.hstack([squares, 4 * bright]).astype(np.float32)
