"""How well queries cover the pool."""

from __future__ import annotations

import numpy as np

from soel.numeric.distances import nearest_squares
from soel.types import Floats, Rows


def cover_radius(embeddings: Floats, queried: Rows) -> float:
    """The largest distance from any row to its nearest queried row; needs no labels."""
    if not len(queried):
        return float("nan")
    x = np.asarray(embeddings, np.float64)
    return float(np.sqrt(nearest_squares(x, x[queried]).max()))


def class_cover_radius(embeddings: Floats, queried: Rows, is_anomaly: np.ndarray) -> float:
    """The paper's delta (eq:delta-est): to the nearest queried row of the same kind.

    It needs all labels, so it is for experiments only; infinite when a kind that exists was never queried.
    """
    x, radius = np.asarray(embeddings, np.float64), 0.0
    for kind in np.unique(is_anomaly):
        members = np.flatnonzero(is_anomaly == kind)
        same = np.flatnonzero(np.isin(members, queried))
        if not len(same):
            return float("inf")
        radius = max(radius, cover_radius(x[members], same))
    return radius
