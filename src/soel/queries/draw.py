"""Exact draws from a softmax over the pool, keyed by seed, draw and row: however the rows are sharded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soel.types import Floats

Bits = NDArray[np.uint64]
BITS = 52  # random bits behind a value of the noise
NEAR = 2.0  # rows this near to the top are tried first


@dataclass(frozen=True)
class Drawn:
    """The winner of a draw among some rows, and what its odds need.

    key: its logit with its noise. top: the largest logit. mass: the sum of exp(logit - top).
    """

    row: int
    key: float
    logit: float
    top: float
    mass: float


def gumbel(seed: int, draw: int, rows: np.ndarray) -> Floats:
    """Gumbel noise (n,) for these rows in this draw; the same row always gets the same noise."""
    return _noise(_luck(seed, draw, rows))


def softmax_draw(logits: Floats, seed: int, draw: int) -> tuple[int, float]:
    """One row drawn from softmax(logits), and the probability it had. Rows at -inf are never drawn."""
    drawn = draw_among(logits, seed, draw)
    assert drawn is not None, "there must be a row to draw"
    return drawn.row, float(np.exp(drawn.logit - drawn.top) / drawn.mass)


def draw_among(logits: Floats, seed: int, draw: int, start: int = 0) -> Drawn | None:
    """The row with the largest logit plus noise, among rows `start` on; None where all are at -inf.

    The rows near the top set a bar. Beyond it only rows with enough luck can win, even with the top's logit: the
    others get no logarithm, and the draw stays exact.
    """
    top = float(logits.max())
    if top == -np.inf:
        return None
    near = np.flatnonzero(logits >= top - NEAR)
    bar = float((logits[near] + gumbel(seed, draw, near + start)).max())
    luck = _luck(seed, draw, np.arange(start, start + len(logits)))
    able = np.flatnonzero(luck >= _luck_for(bar - top))
    keys = logits[able] + _noise(luck[able])
    winner = int(keys.argmax())
    row = int(able[winner])
    mass = float(np.exp(logits - logits.dtype.type(top)).sum(dtype=np.float64))
    return Drawn(row, float(keys[winner]), float(logits[row]), top, mass)


def _luck(seed: int, draw: int, rows: np.ndarray) -> Bits:
    """52 random bits for each row."""
    with np.errstate(over="ignore"):
        key = _mix(np.uint64(seed) + _mix(np.uint64(draw) + np.uint64(0x9E3779B97F4A7C15)))
        bits = _mix(rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + key)
    return np.asarray(bits >> np.uint64(64 - BITS))


def _noise(luck: Bits) -> Floats:
    uniform = (luck.astype(np.float64) + 0.5) * 2.0**-BITS  # in (0, 1), never rounded to 0 or 1
    return np.asarray(-np.log(-np.log(uniform)))


def _luck_for(noise: float) -> np.uint64:
    """The least luck that can give this much noise, rounding allowed for."""
    uniform = np.exp(-np.exp(-(noise - 1e-6 * (1 + abs(noise)))))
    return np.uint64(max(0.0, np.floor(uniform * 2.0**BITS) - 1))


def _mix(x: np.uint64 | np.ndarray) -> Bits:
    """The finaliser of splitmix64: every output bit depends on every input bit."""
    x = np.asarray(x, np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
