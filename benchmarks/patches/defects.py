"""Defects for generated surfaces, each with the mask of what it changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.patches.textures import SIDE, Surface, board_parts, noise

Mask = NDArray[np.bool_]  # (SIDE, SIDE)
Spoil = Callable[[np.random.Generator, Surface], tuple[Surface, Mask]]
MARGIN = 24  # defects start at least so many pixels from the border
_Y, _X = (axis.astype(np.float32) for axis in np.mgrid[:SIDE, :SIDE])


def scratch(rng: np.random.Generator, surface: Surface) -> tuple[Surface, Mask]:
    """A thin line that bends a little, lighter or darker than its ground."""
    y, x = rng.uniform(MARGIN, SIDE - MARGIN, 2)
    heading, width = rng.uniform(0, 2 * np.pi), rng.uniform(0.8, 1.6)
    far = np.full((SIDE, SIDE), np.inf, np.float32)
    for _ in range(int(rng.uniform(35, 80))):
        far = np.minimum(far, np.hypot(_Y - y, _X - x))
        heading += rng.normal(0, 0.06)
        y, x = y + np.sin(heading), x + np.cos(heading)
    return _painted(surface, np.clip(width + 0.5 - far, 0, 1), rng.choice([-0.2, 0.2]))


def blob(rng: np.random.Generator, surface: Surface) -> tuple[Surface, Mask]:
    """A drop of another colour."""
    cover = np.clip(2 * _within(rng, rng.uniform(5, 9)), 0, 1)
    colour = surface.mean(axis=(0, 1)) + rng.choice([-1, 1]) * rng.uniform(0.1, 0.2, 3).astype(np.float32)
    return surface + 0.7 * cover[..., None] * (colour - surface), cover > 0.2


def stain(rng: np.random.Generator, surface: Surface) -> tuple[Surface, Mask]:
    """A larger place that is a little darker, with a soft border."""
    cover = np.clip(1.5 * _within(rng, rng.uniform(12, 18)), 0, 1)
    return _painted(surface, cover, -rng.uniform(0.07, 0.13))


def hole(rng: np.random.Generator, surface: Surface) -> tuple[Surface, Mask]:
    """A dark opening with a lighter rim on one side."""
    inside = _within(rng, rng.uniform(4, 7))
    cover = np.clip(4 * inside, 0, 1)
    rim = np.clip(1 - 6 * np.abs(inside), 0, 1) * np.roll(cover < 0.5, 2, axis=0)
    spoiled = surface + cover[..., None] * (0.35 * surface - surface) + 0.12 * rim[..., None]
    return spoiled, (cover > 0.2) | (rim > 0.2)


def missing(rng: np.random.Generator, surface: Surface) -> tuple[Surface, Mask]:
    """A place without its structure: only the tone of the surroundings is left."""
    cover = np.clip(4 * _within(rng, rng.uniform(8, 13)), 0, 1)
    return _erased(rng, surface, cover), cover > 0.2


def missing_part(rng: np.random.Generator, surface: Surface) -> tuple[Surface, Mask]:
    """A board without one of its pads or screws."""
    y, x, radius = board_parts()[rng.integers(len(board_parts()))]
    cover = np.clip(radius + 3 - np.hypot(_Y - y, _X - x), 0, 1)
    ground = np.array([0.128, 0.32, 0.192], np.float32) + 0.02 * noise(rng, 0.8)[..., None]
    return surface + cover[..., None] * (ground - surface), cover > 0.2


def _within(rng: np.random.Generator, radius: float) -> NDArray[np.float32]:
    """A lumpy place somewhere: 1 in its middle, 0 at its border, negative outside."""
    y, x = rng.uniform(MARGIN, SIDE - MARGIN, 2)
    dy, dx = _Y - y, _X - x
    turn = np.arctan2(dy, dx)
    lumps = sum(0.12 * np.sin(n * turn + rng.uniform(0, 2 * np.pi)) for n in (2, 3, 5))
    return np.asarray(1 - np.hypot(dy, dx) / (radius * (1 + lumps)), np.float32)


def _painted(surface: Surface, cover: NDArray[np.float32], tone: float) -> tuple[Surface, Mask]:
    return surface + tone * cover[..., None], cover > 0.2


def _erased(rng: np.random.Generator, surface: Surface, cover: NDArray[np.float32]) -> Surface:
    around = surface[(cover > 0.05) & (cover < 0.95)].mean(axis=0)
    flat = around + 0.015 * noise(rng, 1.0)[..., None]
    return np.asarray(surface + cover[..., None] * (flat - surface))


DEFECTS: Mapping[str, Spoil] = {spoil.__name__: spoil for spoil in (scratch, blob, stain, hole, missing)}
BOARD_DEFECTS: Mapping[str, Spoil] = {**DEFECTS, "missing": missing_part}
