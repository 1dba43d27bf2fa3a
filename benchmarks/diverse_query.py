"""The diverse query on a large pool: time against merely reading the bytes, and memory."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np

from soel.queries.diverse import Diverse
from soel.types import PoolView

N_ROWS, WIDTH, QUERIES = 100_000, 320, 20


def measure() -> dict[str, float]:
    """Seconds for 20 queries, seconds for reading the pool 20 times, and the extra memory per row."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N_ROWS, WIDTH), dtype=np.float32)
    view = PoolView(np.zeros(N_ROWS), x, np.full(N_ROWS, -1, np.int8))
    start = time.perf_counter()
    Diverse().select(view, QUERIES, np.random.default_rng(0))
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(QUERIES):
        x.max()
    reading = time.perf_counter() - start
    tracemalloc.start()
    Diverse().select(view, 2, np.random.default_rng(0))
    extra = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "query_seconds": seconds,
        "reading_seconds": reading,
        "query_over_reading": seconds / reading,
        "extra_bytes_over_pool_bytes": extra / x.nbytes,
        "pool_bytes_over_extra_bytes": x.nbytes / extra,
    }


FLOORS = {"pool_bytes_over_extra_bytes": 0.5}  # linear in N: at most twice the pool itself
