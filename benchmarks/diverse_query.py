"""The diverse query on a large pool: time against merely reading the bytes, and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from soel.ask.by_distance import Diverse
from soel.numeric import n_cores, parallel_map
from soel.types import PoolView

N_ROWS, WIDTH, QUERIES = 200_000, 320, 20


def measure() -> dict[str, float]:
    """Seconds for 20 queries, seconds for reading the pool 20 times (by one thread, and by all), the extra memory."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N_ROWS, WIDTH), dtype=np.float32)
    view = PoolView(np.zeros(N_ROWS), x, np.full(N_ROWS, -1, np.int8))
    halves = np.array_split(x, n_cores())

    def query() -> None:
        Diverse().select(view, QUERIES, np.random.default_rng(0))

    def read() -> None:
        for _ in range(QUERIES):
            x.max()

    def read_together() -> None:
        for _ in range(QUERIES):
            parallel_map(np.max, halves)

    times = np.min([[seconds(job) for job in (query, read, read_together)] for _ in range(4)], axis=0)
    querying, reading, together = (float(t) for t in times)
    tracemalloc.start()
    Diverse().select(view, 2, np.random.default_rng(0))
    extra = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "query_seconds": querying,
        "reading_seconds": reading,
        "reading_seconds_all_cores": together,
        "reading_over_query": reading / querying,
        "reading_all_cores_over_query": together / querying,
        "extra_bytes_over_pool_bytes": extra / x.nbytes,
        "pool_bytes_over_extra_bytes": x.nbytes / extra,
    }


def seconds(job: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


# The aim is two thirds of the speed of reading. 0.74 to 0.78 is what was seen on two cores; the floor leaves 15 % for
# other work on them. Linear memory: the few numbers per row are a small share of the pool itself.
FLOORS = {"reading_over_query": 0.64, "pool_bytes_over_extra_bytes": 5.0}
