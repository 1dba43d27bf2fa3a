"""A made quarter from a real table: nights of rows with a slow drift, a broken sensor and a new kind of anomaly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from soel.types import Booleans, Floats

N_POOL = 1_000
DRIFT_FROM, BROKEN_ON, NEW_FROM = 25, 40, 60  # nights, from 1
DRIFT = 1.0  # spreads that a quarter of the columns have moved by at the end of the quarter
NEW_SHARE = 0.01


@dataclass(frozen=True)
class Quarter:
    """Rows in the order in which they come in, from the start again where a quarter needs more: take large tables.

    x (n, d), is_anomaly (n,): no row of the pool. spread (d,). has_events: False for a quiet quarter.
    """

    name: str
    x: Floats
    is_anomaly: Booleans
    spread: Floats
    n_nights: int
    n_rows: int
    seed: int
    has_events: bool = True

    def night(self, number: int) -> tuple[pd.DataFrame, Booleans, Booleans]:
        """Rows of a night from 1, which are anomalies, and which of these are of the new kind."""
        rng = np.random.default_rng([self.seed, number])
        rows = np.arange((number - 1) * self.n_rows, number * self.n_rows) % len(self.x)
        x, odd = self.x[rows].copy(), self.is_anomaly[rows].copy()
        is_new = np.zeros(self.n_rows, bool)
        if self.has_events:
            moved = np.random.default_rng(self.seed).permutation(x.shape[1])
            part = moved[: max(1, x.shape[1] // 4)]
            so_far = max(0, number - DRIFT_FROM) / max(self.n_nights - DRIFT_FROM, 1)
            x[:, part] += DRIFT * so_far * self.spread[part]
            if number >= NEW_FROM:
                is_new = ~odd & (rng.random(self.n_rows) < NEW_SHARE)
                pair = moved[-2:]
                x[np.ix_(is_new, pair)] += (np.array([2.5, -2.5]) * self.spread[pair]).astype(x.dtype)
            if number == BROKEN_ON:
                x[:, moved[-1]] = 0.0
        names = [f"n{number}-{at}" for at in range(self.n_rows)]
        return read_frame(x, names), odd | is_new, is_new


def read_frame(x: Floats, names: list[str]) -> pd.DataFrame:
    """Rows as a table with their names first."""
    frame = pd.DataFrame(x, columns=[f"c{at}" for at in range(x.shape[1])])
    frame.insert(0, "name", names)
    return frame


def load(path: Path, n_nights: int, n_rows: int, seed: int, has_events: bool) -> tuple[pd.DataFrame, Booleans, Quarter]:
    """The pool with its truth, and what comes after it, from a table's file (X, y)."""
    with np.load(path) as file:
        x, y = np.asarray(file["X"], np.float64), np.asarray(file["y"]).astype(bool)
    order: NDArray[np.int64] = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order], y[order]
    n_pool = min(N_POOL, len(x) // 3)
    pool = read_frame(x[:n_pool], [f"p-{at}" for at in range(n_pool)])
    spread = x[:n_pool].std(axis=0)
    rest = Quarter(path.stem, x[n_pool:], y[n_pool:], spread, n_nights, n_rows, seed, has_events)
    return pool, y[:n_pool], rest
