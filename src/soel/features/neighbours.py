"""The items that look most like one, by distance of their features."""

from __future__ import annotations

import numpy as np

from soel.types import Floats, Rows


def nearest(matrix: Floats, row: int, among: Rows, k: int) -> Rows:
    """The k rows of `among` nearest to `row`, nearest first; the row itself is never one of them."""
    among = among[among != row]
    distances = np.square(np.asarray(matrix[among], np.float64) - np.asarray(matrix[row], np.float64)).sum(axis=1)
    return among[np.argsort(distances, kind="stable")[:k]]
