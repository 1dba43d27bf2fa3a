"""Patches: what the middle layers of a frozen network say about each place of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from soel.images.extractors import DEFAULT, Extractor, Pictures
from soel.images.grids import Grid
from soel.types import Floats

DEPTH = 128  # values of coarser layers that a patch is kept with
FINE_DEPTH = 72  # and those of finer layers after them, where the network has such
SMALLEST_SIDE = 64  # pixels: of smaller pictures a place shows so few that the whole picture says as much
VERSION = 1  # raised whenever patches change
# From the middle of a place to the next, as a share of the picture, for networks where a dot that moves through a
# picture showed it: 17 places of 16 pixels are more than 260, so they are not spread evenly.
STEPS = {DEFAULT: 16 / 260}
Patches = NDArray[np.float16]  # (N, P, D): P places row by row on a grid, D values each


@runtime_checkable
class PatchExtractor(Extractor, Protocol):
    """An extractor that can look at places too."""

    def look(self, pictures: Pictures) -> tuple[Floats, Patches]:
        """Features (B, d) and patches (B, P, D) of pictures (B, size, size, 3), from one pass."""


def has_patches(extractor: Extractor) -> bool:
    """Whether an extractor can look at places: one from a file can where the file has middle layers to look at."""
    return isinstance(extractor, PatchExtractor) and bool(getattr(extractor, "middle", True))


def patch_depth(extractor: Extractor) -> int:
    """How many values an extractor's patches have."""
    return int(getattr(extractor, "patch_depth", DEPTH))


def map_grid(grid: Grid, extractor: str) -> Grid:
    """The grid with the middles of places where this extractor's answers lie in a picture, for what is drawn on it.

    Which places a person's mark covers is told by the even grid, so that what was learnt from marks stays.
    """
    return grid if grid.whole else replace(grid, step=STEPS.get(extractor))


def look_as_before(extractor: Extractor, depth: int | None) -> Extractor:
    """The extractor with patches of so many values: earlier releases looked at coarser layers alone. None: as it is."""
    if depth is None or patch_depth(extractor) == depth:
        return extractor
    former = copy(extractor)
    former.patch_depth = depth  # type: ignore[attr-defined]
    return former


def make_patches(layers: Sequence[Floats], fine: Sequence[Floats] = ()) -> Patches:
    """Middle layers (B, C, H, W) as patches on the coarsest of their grids.

    Each is averaged over 3 x 3 places and brought to the grid; their values side by side become a unit vector, of
    which a fixed random projection is kept: it changes the distances between patches little.
    fine: finer layers, on the same grid; each becomes a unit vector of its own, and their values follow.
    """
    side = min(layer.shape[2] for layer in layers)
    coarse = _unit(np.concatenate([_on_grid(layer, side) for layer in layers], axis=2))
    values = [coarse @ _projection(coarse.shape[2], DEPTH)]
    if fine:
        finer = np.concatenate([_unit(_on_grid(layer, side)) for layer in fine], axis=2)
        values.append(finer @ _projection(finer.shape[2], FINE_DEPTH))
    return np.concatenate(values, axis=2).astype(np.float16)


def fold_patches(rows: Floats, depth: int = DEPTH) -> Patches:
    """Patches (N, P, D) from the rows (N, P D) that a store keeps."""
    return np.asarray(rows).reshape(len(rows), -1, depth)


def _unit(values: Floats) -> Floats:
    lengths = np.linalg.norm(values, axis=2, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1))


def _on_grid(layer: Floats, side: int) -> Floats:
    down, across = _resampling(layer.shape[2], side), _resampling(layer.shape[3], side)
    brought = (down @ layer @ across.T).reshape(*layer.shape[:2], side * side)
    return np.ascontiguousarray(brought.transpose(0, 2, 1))  # (B, P, C)


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
def _projection(width: int, depth: int) -> Floats:
    """(width, depth) with orthonormal columns, scaled so that lengths stay what they are on average.

    Fewer values than depth are kept as they are, and zeros after them.
    """
    if width <= depth:
        return np.eye(width, depth, dtype=np.float32)
    columns, upper = np.linalg.qr(np.random.default_rng(0).normal(size=(width, depth)))
    return np.asarray(columns * np.sign(np.diag(upper)) * np.sqrt(width / depth), np.float32)
