"""Noise that belongs to a seed, a draw and a row: however the rows are sharded, each gets its own again."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from soel.types import Floats

Bits = NDArray[np.uint64]
BITS = 52  # random bits behind a value of the noise
UNIT = 2.0**-BITS
MOST = np.uint64(2**BITS - 1)
STEP = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64, from one number to the next
MIXING = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
LAST_SHIFT = np.uint64(31)


def gumbel(seed: int, draw: int, rows: np.ndarray) -> Floats:
    """Gumbel noise (n,) for these rows in this draw; the same row always gets the same noise."""
    return noise(random_bits(seed, draw, rows))


def random_bits(seed: int, draw: int, rows: np.ndarray) -> Bits:
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


def uniform(bits: Bits | np.uint64) -> Floats:
    """The bits as numbers between 0 and 1."""
    return np.asarray((bits.astype(np.float64) + 0.5) * UNIT)  # in (0, 1), never rounded to 0 or 1


def noise(bits: Bits) -> Floats:
    """The bits as Gumbel noise."""
    return np.asarray(-np.log(-np.log(uniform(bits))))


def _mix(x: Bits) -> None:
    """The finaliser of splitmix64, in place: every output bit depends on every input bit."""
    shifted = np.empty_like(x)
    for shift, factor in MIXING:
        x ^= np.right_shift(x, shift, out=shifted)
        x *= factor
    x ^= np.right_shift(x, LAST_SHIFT, out=shifted)
