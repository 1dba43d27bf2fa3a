"""A memory of patches as a peer, as PatchCore has it: how far a patch lies from the nearest of the pool's."""

from __future__ import annotations

import numpy as np

from soel.types import Floats

MOST = 5000  # patches that are remembered, drawn at random from the pool
BLOCK = 4096


def measure_by_memory(pool: Floats, x: Floats | None, seed: int) -> Floats:
    """Distances (n, P) of patches (n, P, D) from the nearest of those of the pool (N, P, D)."""
    assert x is not None
    rng, width = np.random.default_rng(seed), pool.shape[2]
    rows, places = rng.integers(len(pool), size=MOST), rng.integers(pool.shape[1], size=MOST)
    memory = np.asarray(pool[rows, places], np.float32)
    squares = (memory**2).sum(axis=1)
    flat, found = x.reshape(-1, width), np.empty(x.shape[0] * x.shape[1], np.float32)
    for start in range(0, len(flat), BLOCK):
        part = np.asarray(flat[start : start + BLOCK], np.float32)
        least = (squares - 2 * part @ memory.T).min(axis=1)
        found[start : start + BLOCK] = np.sqrt(np.maximum(least + (part**2).sum(axis=1), 0))
    return found.reshape(x.shape[:2])
