"""A made-up table of pumps, a few of which are about to fail, and some hostile text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from soel.tables.rows import write_rows

COLUMNS = (
    "pump",
    "bearing temperature (°C)",
    "vibration (mm/s)",
    "flow (l/min)",
    "pressure (bar)",
    "motor current (A)",
    "speed (rpm)",
    "running hours",
    "oil level (%)",
    "site",
    "firmware",
)
SITES, VERSIONS = ("Hall A", "Hall B", "Yard", "Harbour"), ("4.1", "4.2", "5.0")
HOSTILE = "<img src=x onerror=alert(1)>"


def make_pumps(n_rows: int = 400, n_failing: int = 30, seed: int = 4) -> tuple[list[list[Any]], set[str]]:
    """Rows, and the ids of the failing pumps: hot and shaking, or blocked, or leaking."""
    rng = np.random.default_rng(seed)
    speed = rng.normal(1480, 25, n_rows)
    flow = 0.14 * speed + rng.normal(0, 6, n_rows)
    numbers = np.stack(
        [
            rng.normal(62, 4, n_rows),
            rng.gamma(6, 0.35, n_rows),
            flow,
            9 - 0.01 * flow + rng.normal(0, 0.25, n_rows),
            0.05 * flow + rng.normal(4, 0.5, n_rows),
            speed,
            rng.integers(200, 30_000, n_rows),
            rng.normal(78, 6, n_rows),
        ],
        axis=1,
    )
    failing = rng.choice(n_rows, n_failing, replace=False)
    kinds = np.array([[22, 4.5, 0, 0, 1.5, 0, 0, -20], [4, 1, -80, 3, 4, -40, 0, 0], [0, 0, -50, -4, -2, 20, 0, -35]])
    numbers[failing] += kinds[rng.integers(0, 3, n_failing)] * rng.uniform(0.7, 1.3, (n_failing, 1))
    rounded = np.round(numbers, 2)
    sites = rng.choice(SITES, n_rows, p=[0.4, 0.35, 0.2, 0.05])
    versions = rng.choice(VERSIONS, n_rows, p=[0.6, 0.35, 0.05])
    ids = [f"P-{row + 1001}" for row in range(n_rows)]
    rows = [[ids[r], *rounded[r].tolist(), str(sites[r]), f"v{versions[r]}"] for r in range(n_rows)]
    return rows, {ids[row] for row in failing}


def write_pumps(path: Path, n_rows: int = 400, n_failing: int = 30) -> set[str]:
    """Write the table; returns the failing pumps."""
    rows, failing = make_pumps(n_rows, n_failing)
    write_rows(path, COLUMNS, rows)
    return failing
