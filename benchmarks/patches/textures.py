"""Generated surfaces, 256 px in colour: six families, each picture with a seed of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

SIDE = 256
Surface = NDArray[np.float32]  # (SIDE, SIDE, 3), about 0 to 1
Paint = Callable[[np.random.Generator], Surface]
_Y, _X = (axis.astype(np.float32) for axis in np.mgrid[:SIDE, :SIDE])
_FREQUENCY_Y = np.fft.fftfreq(SIDE)[:, None]
_FREQUENCY_X = np.fft.rfftfreq(SIDE)[None]
BOARD_PARTS = 14  # pads and screws, at the same places on every board


def noise(rng: np.random.Generator, down: float, across: float | None = None) -> NDArray[np.float32]:
    """A smooth random field of spread 1. down, across: the widths of its blur in pixels, along y and x."""
    across = down if across is None else across
    blur = np.exp(-2 * np.pi**2 * ((down * _FREQUENCY_Y) ** 2 + (across * _FREQUENCY_X) ** 2))
    field = np.fft.irfft2(np.fft.rfft2(rng.normal(size=(SIDE, SIDE))) * blur, s=(SIDE, SIDE))
    return np.asarray(field / field.std(), np.float32)


def weave(rng: np.random.Generator) -> Surface:
    """Threads that pass over and under one another, at an angle that varies a little."""
    angle, period = rng.normal(0, 0.04), rng.uniform(10, 11.5)
    u = (np.cos(angle) * _X + np.sin(angle) * _Y) / period + 0.03 * noise(rng, 20) + rng.uniform()
    v = (np.cos(angle) * _Y - np.sin(angle) * _X) / period + 0.03 * noise(rng, 20) + rng.uniform()
    over = np.sin(np.pi * u) * np.sin(np.pi * v) > 0
    height = np.where(over, np.abs(np.sin(np.pi * u)), np.abs(np.sin(np.pi * v)))
    return _coloured(0.35 + 0.3 * height + 0.04 * noise(rng, 0.7) + 0.02 * noise(rng, 30), (1.0, 0.95, 0.82))


def granite(rng: np.random.Generator) -> Surface:
    """Grains of three stones."""
    light, dark, pink = noise(rng, 2.2), noise(rng, 1.8), noise(rng, 3.0)
    grey = 0.55 + 0.03 * noise(rng, 1.0) + 0.08 * (light > 0.8) - 0.12 * (dark > 1.1)
    surface = _coloured(grey, (1.0, 1.0, 1.0))
    surface[..., 0] += 0.06 * (pink > 1.0)
    return surface


def wood(rng: np.random.Generator) -> Surface:
    """Grain along the picture; a quarter of the boards have a knot, which is no defect."""
    along = 0.09 * _X + 0.9 * noise(rng, 60, 8) + 0.15 * noise(rng, 20, 2)
    if rng.uniform() < 0.25:
        y, x = rng.uniform(40, SIDE - 40, 2)
        far = np.hypot((_Y - y) / 1.8, _X - x)
        along = along + 3.0 * np.exp(-((far / 14) ** 2))
        knot = 0.25 * np.exp(-((far / 7) ** 2))
    else:
        knot = 0 * _X
    grey = 0.55 + 0.09 * np.sin(2 * np.pi * along) + 0.03 * noise(rng, 9, 0.6) + 0.02 * noise(rng, 40) - knot
    return _coloured(grey, (1.1, 0.85, 0.6))


def leather(rng: np.random.Generator) -> Surface:
    """Small cushions between creases."""
    creases = np.minimum(np.abs(noise(rng, 3.0)), np.abs(noise(rng, 3.6)))
    grey = 0.42 + 0.22 * np.sqrt(np.minimum(creases, 1)) + 0.03 * noise(rng, 0.8) + 0.03 * noise(rng, 25)
    return _coloured(grey, (1.0, 0.7, 0.5))


def tiles(rng: np.random.Generator) -> Surface:
    """Glazed squares in mortar, shifted at random; each has a tone of its own."""
    size, gap = 43, 4
    y, x = (axis + rng.integers(size) for axis in (_Y, _X))
    tone = rng.normal(0, 0.035, (8, 8)).astype(np.float32)[(y // size).astype(int), (x // size).astype(int)]
    mortar = (y % size < gap) | (x % size < gap)
    glaze = 0.66 + tone + 0.015 * noise(rng, 6) + 0.012 * noise(rng, 0.7)
    return _coloured(np.where(mortar, 0.4 + 0.06 * noise(rng, 0.8), glaze), (0.85, 0.97, 1.0))


def board(rng: np.random.Generator) -> Surface:
    """A printed board: tracks, pads and screws always at the same places, photographed a pixel or two aside."""
    dy, dx = rng.normal(0, 1.2, 2)
    plan = np.random.default_rng(5)  # the layout
    surface = _coloured(0.32 + 0.02 * noise(rng, 0.8) + 0.02 * noise(rng, 40), (0.4, 1.0, 0.6))
    for _ in range(18):
        at, start, length = plan.uniform(10, 246), plan.uniform(0, 150), plan.uniform(60, 180)
        along, across = (_Y - dy, _X - dx) if plan.uniform() < 0.5 else (_X - dx, _Y - dy)
        track = _edge(2 - np.abs(across - at)) * _edge(along - start) * _edge(start + length - along)
        surface += track[..., None] * np.array([0.12, 0.16, 0.08], np.float32)
    for y, x, radius in board_parts():
        far = np.hypot(_Y - y - dy, _X - x - dx)
        metal = np.array([0.78, 0.74, 0.6], np.float32) * (1 + 0.05 * rng.normal())
        surface += _edge(radius - far)[..., None] * (metal - surface)
        surface += _edge(radius * 0.45 - far)[..., None] * (0.35 * metal - surface)
    return surface + 0.015 * noise(rng, 0.6)[..., None]


def board_parts() -> list[tuple[float, float, float]]:
    """Where the pads and screws of a board are: y, x, radius."""
    plan = np.random.default_rng(6)
    return [
        (32 + 64 * (n // 4) + plan.uniform(-9, 9), 32 + 64 * (n % 4) + plan.uniform(-9, 9), plan.uniform(6, 11))
        for n in range(BOARD_PARTS)
    ]


def _edge(inside: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 within, 0 without, softened over a pixel. inside: how many pixels a place lies within."""
    return np.asarray(np.clip(inside + 0.5, 0, 1), np.float32)


def _coloured(grey: NDArray[np.float32], tint: tuple[float, float, float]) -> Surface:
    return np.asarray(grey[..., None] * np.array(tint, np.float32), np.float32)


FAMILIES: Mapping[str, Paint] = {paint.__name__: paint for paint in (weave, granite, wood, leather, tiles, board)}
