"""Patches: what the middle layers of a frozen network say about each place of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from soel.images.extractors import Extractor, Pictures
from soel.types import Floats

DEPTH = 128  # values that a patch is kept with
SMALLEST_SIDE = 64  # pixels: of smaller pictures a place shows so few that the whole picture says as much
VERSION = 2  # raised whenever patches change
Patches = NDArray[np.float16]  # (N, P, D): P places row by row on a grid, D values each


@runtime_checkable
class PatchExtractor(Extractor, Protocol):
    """An extractor that can look at places too."""

    @property
    def takes_any_shape(self) -> bool:
        """Whether pictures may have another shape than (size, size)."""

    def look(self, pictures: Pictures) -> tuple[Floats, NDArray[np.float16]]:
        """Features (B, d) and patches (B, down, across, D) of pictures (B, H, W, 3), from one pass."""


def has_patches(extractor: Extractor) -> bool:
    """Whether an extractor can look at places: one from a file can where the file has middle layers to look at."""
    return isinstance(extractor, PatchExtractor) and bool(getattr(extractor, "middle", True))


def make_patches(layers: Sequence[Floats]) -> NDArray[np.float16]:
    """Middle layers (B, C, H, W) as patches (B, down, across, D) on the coarsest of their grids.

    Each is averaged over 3 x 3 places, brought to the grid, and to unit length at each place; of all values side by
    side a fixed random projection is kept: it changes the distances between patches little.
    """
    down, across = (min(layer.shape[axis] for layer in layers) for axis in (2, 3))
    values = np.concatenate([_unit(_on_grid(layer, down, across)) for layer in layers], axis=3)
    return (values @ _projection(values.shape[3], DEPTH)).astype(np.float16)


def _unit(values: Floats) -> Floats:
    lengths = np.linalg.norm(values, axis=3, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1))


def _on_grid(layer: Floats, down: int, across: int) -> Floats:
    """(B, down, across, C): means of 3 x 3 places around those of a finer grid that lie where the coarser ones do."""
    padded = np.pad(layer, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    rows, columns = _positions(layer.shape[2], down), _positions(layer.shape[3], across)
    tall = padded[:, :, rows] + padded[:, :, rows + 1] + padded[:, :, rows + 2]
    both = tall[:, :, :, columns] + tall[:, :, :, columns + 1] + tall[:, :, :, columns + 2]
    return np.ascontiguousarray(both.transpose(0, 2, 3, 1)) / np.float32(9)


def _positions(n_from: int, n_to: int) -> NDArray[np.int64]:
    return np.minimum(np.arange(n_to) * round(n_from / n_to), n_from - 1)


@cache
def _projection(width: int, depth: int) -> Floats:
    """(width, depth) with orthonormal columns, scaled so that lengths stay what they are on average.

    Fewer values than depth are kept as they are, and zeros after them.
    """
    if width <= depth:
        return np.eye(width, depth, dtype=np.float32)
    columns, upper = np.linalg.qr(np.random.default_rng(0).normal(size=(width, depth)))
    return np.asarray(columns * np.sign(np.diag(upper)) * np.sqrt(width / depth), np.float32)
