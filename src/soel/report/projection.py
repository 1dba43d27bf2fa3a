"""The map's two axes: the plane in which the embeddings spread most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.errors import DataError
from soel.types import Floats, Rows

SAMPLE = 20_000  # rows that decide on the plane
ENTRIES = 4_000_000  # wide embeddings get fewer rows, so that the decomposition stays a matter of seconds
FEWEST = 1_000
BLOCK = 4_096


@dataclass(frozen=True)
class Plane:
    """An affine plane: centre (D,), axes (2, D), and the share of the spread it keeps."""

    centre: Floats
    axes: Floats
    spread: float


def fit_plane(embeddings: Floats, rng: np.random.Generator) -> Plane:
    """The principal plane of embeddings (N, D), from a sample where they are many."""
    x = np.asarray(embeddings[_sample(embeddings.shape[0], embeddings.shape[1], rng)], np.float64)
    if not np.isfinite(x).all():
        raise DataError("The embeddings hold values that are not finite numbers. Train again before reporting.")
    centre = x.mean(axis=0)
    _, sizes, axes = np.linalg.svd(x - centre, full_matrices=False)
    variances = np.square(sizes)
    total = float(variances.sum())
    return Plane(centre, _two(_fix_signs(axes)), float(variances[:2].sum() / total) if total > 0 else 1.0)


def project(embeddings: Floats, plane: Plane) -> Floats:
    """Coordinates (N, 2) in the plane; a block at a time, so a memory-mapped matrix stays on disk."""
    points = np.empty((len(embeddings), 2))
    for start in range(0, len(embeddings), BLOCK):
        block = np.asarray(embeddings[start : start + BLOCK], np.float64)
        points[start : start + BLOCK] = (block - plane.centre) @ plane.axes.T
    return points


def _sample(n_rows: int, n_columns: int, rng: np.random.Generator) -> Rows:
    size = min(n_rows, SAMPLE, max(FEWEST, ENTRIES // max(1, n_columns)))
    if size == n_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, size, replace=False))


def _fix_signs(axes: Floats) -> Floats:
    """Axes are known up to their sign: let the largest entry of each be positive."""
    largest = np.argmax(np.abs(axes), axis=1)
    signs = np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)
    return axes * signs[:, None]


def _two(axes: Floats) -> Floats:
    """The first two axes; where there is only one, the second is nought."""
    plane = np.zeros((2, axes.shape[1]))
    plane[: min(2, len(axes))] = axes[:2]
    return plane
