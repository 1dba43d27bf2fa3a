"""The arrays that travel between rooms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def within(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def standardise(scores: Floats, mean: Floats, deviation: Floats) -> Floats:
    """The ensemble's score (n,): the mean of its members' standardised scores (S, n)."""
    return np.asarray(((scores - mean[:, None]) / deviation[:, None]).mean(axis=0))
