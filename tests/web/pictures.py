"""Made-up pictures: brushed metal discs, a few of them scratched, and clips of a belt that carries them."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from soel.images.image_items import Picture
from soel.types import Floats

SIDE, N_DISCS, N_FRAMES = 256, 40, 48
DAMAGED = (3, 11, 17, 29, 34)


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


def write_discs(folder: Path, n_discs: int = N_DISCS) -> None:
    """A folder of pictures, scratched ones scattered among them."""
    rng = np.random.default_rng(2)
    folder.mkdir(exist_ok=True)
    for number in range(n_discs):
        Image.fromarray(draw_disc(rng, number in DAMAGED)).save(folder / f"disc {number:03d}.png")


def write_belt(folder: Path) -> None:
    """Numbered frames of discs that pass by, one of them scratched."""
    rng = np.random.default_rng(3)
    clip = folder / "belt"
    clip.mkdir(parents=True)
    for number in range(N_FRAMES):
        turn, at = divmod(number, 12)
        Image.fromarray(draw_disc(rng, turn == 2, -0.2 + 0.125 * at)).save(clip / f"frame {number:03d}.png")


def write_clip(path: Path, n_frames: int = N_FRAMES) -> None:
    """A video file of the belt, twelve frames for each disc that passes; the third one is scratched."""
    rng = np.random.default_rng(3)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        stream.bit_rate = 4_000_000
        for number in range(n_frames):
            turn, at = divmod(number, 12)
            picture = draw_disc(rng, turn == 2, -0.2 + 0.125 * at)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


class Brightness:
    """Features that need no network: the picture in 8 x 8 grey squares, and how bright its brightest spots are."""

    name, size, fingerprint = "brightness", 64, "brightness-1"

    def features(self, pictures: NDArray[np.uint8]) -> Floats:
        """Features (B, 65) of pictures (B, 64, 64, 3)."""
        grey = pictures.mean(axis=3) / 255
        squares = grey.reshape(len(grey), 8, 8, 8, 8).mean(axis=(2, 4)).reshape(len(grey), -1)
        bright = np.quantile(grey.reshape(len(grey), -1), 0.99, axis=1)[:, None]
        return np.hstack([squares, 4 * bright]).astype(np.float32)
