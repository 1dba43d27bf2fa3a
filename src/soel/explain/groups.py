"""Columns that go together in a pool: they are changed together, and named together."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from soel.types import Floats, Rows

Part = tuple[int, ...]  # positions of columns
FARTHEST = 0.4  # 1 - |correlation|, on average, up to which columns are joined
MOST_ROWS = 2000  # of a pool; more would only be slower
CLIP = 3.0


def find_groups(pool: Floats, column_of: Rows) -> tuple[Part, ...]:
    """Groups of columns by average linkage on 1 - |correlation| in encoded rows (N, d), the most central first.

    column_of: (d,) the column that each feature came from. A category, a time and a number that may be missing are
    several features and one column; two columns correlate as their most correlated features do.
    """
    alike = measure_likeness(pool, column_of)
    n_columns = len(alike)
    if n_columns == 1:
        return ((0,),)
    apart = np.clip(1 - alike, 0, None)
    np.fill_diagonal(apart, 0)
    names = fcluster(linkage(squareform(apart, checks=False), "average"), FARTHEST, "distance")
    groups = []
    for name in dict.fromkeys(names.tolist()):
        group = np.flatnonzero(names == name)
        centrality = alike[np.ix_(group, group)].sum(axis=1).round(9)
        groups.append(tuple(group[np.argsort(-centrality, kind="stable")].tolist()))
    return tuple(groups)


def measure_likeness(rows: Floats, column_of: Rows) -> Floats:
    """The largest absolute correlation (c, c) between features of two columns, in encoded rows (N, d).

    Values farther from the median than CLIP times the interquartile range are moved there: a wild one must not decide.
    """
    low, middle, high = np.quantile(np.asarray(rows, np.float64), (0.25, 0.5, 0.75), axis=0)
    reach = np.where(high > low, CLIP * (high - low), np.inf)
    scaled = np.clip(rows - middle, -reach, reach)
    scaled -= scaled.mean(axis=0)
    lengths = np.linalg.norm(scaled, axis=0)
    scaled /= np.where(lengths > 0, lengths, 1)
    between = np.abs(scaled.T @ scaled)
    starts = np.flatnonzero(np.diff(column_of, prepend=-1))
    return np.asarray(np.maximum.reduceat(np.maximum.reduceat(between, starts, axis=0), starts, axis=1))
