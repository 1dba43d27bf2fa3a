"""How the network sees a table wider than those it was trained on: along principal axes, and in groups of columns."""

from __future__ import annotations

import numpy as np

from soel.types import Floats

MOST_COLUMNS = 60  # that the network was trained on
MOST_GROUPS = 8  # of a very wide table only so many groups of columns are looked at


def wide_views(context: Floats, seed: int) -> Floats:
    """Matrices (v, d, MOST_COLUMNS) that rows (m, d) are seen through; none where they are narrow enough.

    The first has the principal axes of the standardised rows; of the others each has one column for each of a group of
    columns that vary, drawn without replacement.
    """
    width = context.shape[1]
    if width <= MOST_COLUMNS:
        return np.zeros((0, 0, 0), np.float32)
    varying = np.random.default_rng(seed).permutation(np.flatnonzero(context.std(axis=0) > 1e-6))
    n_groups = -(-len(varying) // MOST_COLUMNS)  # none where all rows are equal: then the axes are looked at alone
    groups = np.array_split(varying, n_groups)[:MOST_GROUPS] if n_groups else []
    views = np.zeros((1 + len(groups), width, MOST_COLUMNS), np.float32)
    views[0] = _axes(context)
    for view, group in zip(views[1:], groups, strict=True):
        view[group, np.arange(len(group))] = 1
    return views


def _axes(context: Floats) -> Floats:
    """Principal axes (d, p) of standardised rows; each looks where its largest entry is positive."""
    deviation = context.std(axis=0)
    scale = np.where(deviation > 1e-6, deviation, 1)
    _, _, axes = np.linalg.svd((context - context.mean(axis=0)) / scale, full_matrices=False)
    axes = axes[:MOST_COLUMNS]
    heads = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    own = np.zeros((context.shape[1], MOST_COLUMNS), np.float32)
    own[:, : len(axes)] = (axes * np.sign(heads)).T / scale[:, None]
    return own
