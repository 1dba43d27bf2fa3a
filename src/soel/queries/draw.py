"""Exact draws from a softmax over the pool, keyed by seed, draw and row: however the rows are sharded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from soel.types import Floats

Bits = NDArray[np.uint64]
BITS = 52  # random bits behind a value of the noise
UNIT = 2.0**-BITS
MOST = np.uint64(2**BITS - 1)
SLACK = 1e-3  # far above what rounding does to a speed in float32, but for weights too small to ever win
STEP = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64, from one number to the next
MIXING = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
LAST_SHIFT = np.uint64(31)


@dataclass(frozen=True)
class Drawn:
    """The winner of a draw among some rows, and what its odds need.

    row: in the pool. key: its logit with its noise. top: the largest logit. mass: the sum of exp(logit - top).
    """

    row: int
    key: float
    logit: float
    top: float
    mass: float

    @property
    def odds(self) -> float:
        """The probability the winner had among these rows."""
        return float(np.exp(self.logit - self.top) / self.mass)


def gumbel(seed: int, draw: int, rows: np.ndarray) -> Floats:
    """Gumbel noise (n,) for these rows in this draw; the same row always gets the same noise."""
    return _noise(_luck(seed, draw, rows))


def draw_among(logits: Floats, seed: int, draw: int, start: int = 0) -> Drawn | None:
    """The row with the largest logit plus noise, among rows `start` on; None where all are at -inf.

    That row is the first in a race in which each takes -log(u) / exp(logit), u its uniform number. It takes at least
    (1 - u) / exp(logit). The row that is fastest by that bound sets the bar; only rows that can be as fast get
    logarithms, and the draw stays exact.
    """
    top = float(logits.max())
    if top == -np.inf:
        return None
    luck = _luck(seed, draw, np.arange(start, start + len(logits), dtype=np.uint64))
    weights = np.exp(logits - logits.dtype.type(top))
    speeds = weights / (np.subtract(MOST, luck).astype(weights.dtype) + weights.dtype.type(0.5))
    pace = int(speeds.argmax())
    bar = float(weights[pace] / (-np.log(_uniform(luck[pace])) / UNIT))
    able = np.flatnonzero(speeds >= bar * (1 - SLACK))
    keys = logits[able] + _noise(luck[able])
    winner = int(keys.argmax())
    row = int(able[winner])
    return Drawn(start + row, float(keys[winner]), float(logits[row]), top, float(weights.sum(dtype=np.float64)))


def draw_any(n_rows: int, seed: int, start: int = 0) -> Drawn:
    """The first draw where nothing is known: each of `n_rows` from `start` on is as likely."""
    return joined([draw_among(np.zeros(n_rows, np.float32), seed, 0, start)])


def joined(parts: Iterable[Drawn | None]) -> Drawn:
    """The draw among all rows, from the draws among parts of them in order; one of them must have a row."""
    able = [part for part in parts if part is not None]
    winner, top = max(able, key=lambda part: part.key), max(part.top for part in able)  # the first of equal ones
    mass = float(sum(part.mass * np.exp(part.top - top) for part in able))
    return Drawn(winner.row, winner.key, winner.logit, top, mass)


def _luck(seed: int, draw: int, rows: np.ndarray) -> Bits:
    """52 random bits for each row."""
    bits = rows.astype(np.uint64, copy=False) * STEP
    bits += _key(seed, draw)
    _mix(bits)
    bits >>= np.uint64(64 - BITS)
    return bits


@lru_cache(maxsize=8)
def _key(seed: int, draw: int) -> np.uint64:
    """The random bits that a draw's rows have in common."""
    key = np.array([draw], np.uint64) + STEP
    _mix(key)
    key += np.uint64(seed)
    _mix(key)
    return np.uint64(key[0])


def _uniform(luck: Bits | np.uint64) -> Floats:
    return np.asarray((luck.astype(np.float64) + 0.5) * UNIT)  # in (0, 1), never rounded to 0 or 1


def _noise(luck: Bits) -> Floats:
    return np.asarray(-np.log(-np.log(_uniform(luck))))


def _mix(x: Bits) -> None:
    """The finaliser of splitmix64, in place: every output bit depends on every input bit."""
    shifted = np.empty_like(x)
    for shift, factor in MIXING:
        x ^= np.right_shift(x, shift, out=shifted)
        x *= factor
    x ^= np.right_shift(x, LAST_SHIFT, out=shifted)
