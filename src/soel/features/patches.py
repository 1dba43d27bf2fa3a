"""Patches: what the middle layers of a frozen network say about each place of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from soel.features.extractors import Extractor, Pictures
from soel.types import Floats

DEPTH = 128  # values a patch is kept with
SMALLEST_SIDE = 64  # pixels: of smaller pictures a place shows so few that the whole picture says as much
VERSION = 1  # raised whenever patches change
Patches = NDArray[np.float16]  # (N, P, D): P places row by row on a square grid, D values each


@runtime_checkable
class PatchExtractor(Extractor, Protocol):
    """An extractor that can look at places too."""

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        """Features (B, d) and patches (B, P, D) of pictures (B, size, size, 3), from one pass."""


def has_patches(extractor: Extractor) -> bool:
    """Whether an extractor can look at places: one from a file can where the file has middle layers to look at."""
    return isinstance(extractor, PatchExtractor) and bool(getattr(extractor, "middle", True))


def make_patches(layers: Sequence[Floats]) -> Patches:
    """Middle layers (B, C, H, W) as patches on the coarsest of their grids.

    Each is averaged over 3 x 3 places and brought to the grid; their values side by side become a unit vector, of
    which a fixed random projection is kept: it changes the distances between patches little.
    """
    side = min(layer.shape[2] for layer in layers)
    joined = np.concatenate([_on_grid(layer, side) for layer in layers], axis=1)  # (B, C, P)
    values = np.ascontiguousarray(joined.transpose(0, 2, 1))
    lengths = np.linalg.norm(values, axis=2, keepdims=True)
    values /= np.where(lengths > 0, lengths, 1)
    return (values @ _projection(values.shape[2])).astype(np.float16)


def fold_patches(rows: Floats) -> Patches:
    """Patches (N, P, D) from the rows (N, P D) that a store keeps."""
    return np.asarray(rows).reshape(len(rows), -1, DEPTH)


def _on_grid(layer: Floats, side: int) -> Floats:
    down, across = _resampling(layer.shape[2], side), _resampling(layer.shape[3], side)
    brought = down @ layer @ across.T  # (B, C, side, side)
    return np.asarray(brought.reshape(*layer.shape[:2], side * side))


@cache
def _resampling(n_from: int, n_to: int) -> Floats:
    """(n_to, n_from): the mean over three neighbours, then over what each new place covers of the old ones."""
    edges = np.arange(n_to + 1) * n_from / n_to
    starts = np.arange(n_from)
    covered = np.minimum(edges[1:, None], starts + 1) - np.maximum(edges[:-1, None], starts)
    area = np.clip(covered, 0, None) * n_to / n_from
    near = np.abs(starts[:, None] - starts) <= 1
    return np.asarray(area @ (near / near.sum(axis=1, keepdims=True)), np.float32)


@cache
def _projection(width: int) -> Floats:
    """(width, DEPTH) with orthonormal columns, scaled so that lengths stay what they are on average.

    Fewer values than DEPTH are kept as they are, and zeros after them.
    """
    if width <= DEPTH:
        return np.eye(width, DEPTH, dtype=np.float32)
    columns, upper = np.linalg.qr(np.random.default_rng(0).normal(size=(width, DEPTH)))
    return np.asarray(columns * np.sign(np.diag(upper)) * np.sqrt(width / DEPTH), np.float32)
