"""How long a person waits: the help, the status of a session of a million items, the page of a prepared session."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np

from benchmarks.tell_latency import served
from soel.session import SessionOptions, create

N_ITEMS, N_SMALL, N_COLUMNS, TURNS = 1_000_000, 2000, 5, 3
LIMITS = {"help": 0.4, "status_of_a_million": 1.0, "prepared_page": 1.0}  # seconds
FLOORS = {f"{name}_limit_over_seconds": 1.0 for name in LIMITS}


def measure() -> dict[str, float]:
    """Seconds of each, the best of three, and its limit over them."""
    with tempfile.TemporaryDirectory() as scratch:
        large, small = make(Path(scratch) / "large", N_ITEMS), make(Path(scratch) / "small", N_SMALL)
        soel("ask", str(small))
        jobs: dict[str, Callable[[], None]] = {
            "help": lambda: soel("--help"),
            "status_of_a_million": lambda: soel("status", str(large)),
            "prepared_page": lambda: open_page(small),
        }
        seconds = {name: min(timed(job) for _ in range(TURNS)) for name, job in jobs.items()}
    ratios = {f"{name}_limit_over_seconds": LIMITS[name] / seconds[name] for name in jobs}
    return {f"{name}_seconds": value for name, value in seconds.items()} | ratios


def make(folder: Path, n_items: int) -> Path:
    """A session on rows of noise."""
    data = folder.with_suffix(".npy")
    np.save(data, np.random.default_rng(0).standard_normal((n_items, N_COLUMNS), dtype=np.float32))
    create.create_session(folder, data, SessionOptions(pool_rows=n_items)).close()
    return folder


def soel(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "soel.cli.main", *words], check=True, stdout=subprocess.DEVNULL)


def open_page(folder: Path) -> None:
    """Until the first page has come."""
    with served(folder) as address:
        assert httpx.get(address, follow_redirects=True).status_code in (200, 401, 403)


def timed(job: Callable[[], None]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start
