"""The items that look most like one, by distance of their features."""

from __future__ import annotations

import numpy as np

from soel.distances import squares_to
from soel.types import Floats, Rows


def nearest(matrix: Floats, row: int, among: Rows, k: int) -> Rows:
    """The k rows of `among` nearest to `row`, nearest first; the row itself is never one of them."""
    among = among[among != row]
    distances = squares_to(np.asarray(matrix[among], np.float64), np.asarray(matrix[row], np.float64))
    return among[np.argsort(distances, kind="stable")[:k]]
