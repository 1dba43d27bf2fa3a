"""Exact draws from a softmax over the pool, keyed by seed, draw and row: however the rows are sharded."""

from __future__ import annotations

import numpy as np

from soel.types import Floats

NOISE_RANGE = 42.0  # the largest and smallest Gumbel value from 52 random bits lie 40.4 apart


def gumbel(seed: int, draw: int, rows: np.ndarray) -> Floats:
    """Gumbel noise (n,) for these rows in this draw; the same row always gets the same noise."""
    with np.errstate(over="ignore"):
        key = _mix(np.uint64(seed) + _mix(np.uint64(draw) + np.uint64(0x9E3779B97F4A7C15)))
        bits = _mix(rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key)
    uniform = ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52  # in (0, 1), never rounded to 0 or 1
    return np.asarray(-np.log(-np.log(uniform)))


def softmax_draw(logits: Floats, seed: int, draw: int) -> tuple[int, float]:
    """One row drawn from softmax(logits), and the probability it had. Rows at -inf are never drawn.

    The noise is bounded, so rows too far below the top cannot win: they get none, and the draw stays exact.
    """
    top = logits.max()
    rows = np.flatnonzero(logits > top - NOISE_RANGE)
    row = int(rows[np.argmax(logits[rows] + gumbel(seed, draw, rows))])
    total = np.exp(logits - top).sum()
    return row, float(np.exp(logits[row] - top) / total)


def _mix(x: np.uint64 | np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: every output bit depends on every input bit."""
    x = np.asarray(x, np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
