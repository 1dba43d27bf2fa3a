"""Rows known by what they hold, wherever they stand."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from soel.numeric import Bits, random_bits
from soel.types import Booleans, Floats, Rows

BLOCK_WORDS = 1 << 22  # values that are looked at at once
HALF, HIGH, LOW = np.uint64(2**24 - 1), np.uint64(40), np.uint64(16)


def fingerprints(x: Floats) -> Floats:
    """Two whole numbers (n, 2) for each row (n, ...) that equal rows share and others hardly ever do.

    Below 2**24, so that float32 keeps them as they are.
    """
    n_words, found = math.prod(x.shape[1:]), np.empty((len(x), 2), np.float32)
    step = max(1, BLOCK_WORDS // max(n_words, 1))
    for start in range(0, len(x), step):
        rows = np.ascontiguousarray(x[start : start + step], np.float32).reshape(-1, n_words)
        words = (rows + np.float32(0)).view(np.uint32)  # 0 and -0 are equal
        sums = words.astype(np.uint64) @ _factors(n_words)  # modulo 2**64
        found[start : start + step] = np.stack([sums >> HIGH, (sums >> LOW) & HALF], axis=1)
    return found


def is_among(own: Floats, known: Floats) -> Booleans:
    """Which fingerprints (n, 2) are among others (m, 2)."""
    return np.isin(_joined(own), _joined(known))


def positions_among(own: Floats, known: Floats) -> Rows:
    """Where each fingerprint (n, 2) is among others (m, 2), -1 where it is not; of equal ones the first."""
    values, first = np.unique(_joined(known), return_index=True)
    wanted = _joined(own)
    at = np.minimum(np.searchsorted(values, wanted), max(len(values) - 1, 0))
    return np.where(values[at] == wanted, first[at], -1) if len(values) else np.full(len(own), -1)


def _joined(halves: Floats) -> Floats:
    return np.asarray(halves[:, 0] * 2.0**24 + halves[:, 1], np.float64)


@lru_cache(maxsize=4)
def _factors(n_words: int) -> Bits:
    """An odd number (n_words,) for each value of a row."""
    return np.uint64(2) * random_bits(0, 0, np.arange(n_words)) + np.uint64(1)
