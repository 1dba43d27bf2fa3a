"""The strategy that groups the pool first: medoids."""

from __future__ import annotations

import numpy as np

from soel.ask.strategy import Need, Strategy, certain
from soel.numeric import nearest_of, single_threaded_blas
from soel.types import Floats, PoolView, Rows, Selection

AXES = 64  # along which rows differ most; groups are looked for there
EVEN = 0.3  # of the axes' mean variance, added to each before it is made one; more where rows are few
POWER = 3  # of a row's rank by its distance from the middle, as its weight
STARTS, STEPS = 3, 50
SAMPLE_ROWS = 20_000  # a larger pool is grouped by a random sample of this size


class Medoids(Strategy):
    """k-means among directions from the middle of the pool; rows far from the middle weigh most.

    Distances are measured along axes that are made about equally wide: most of the pool's variety is that of normal
    rows, and anomalies that resemble them differ from them along its narrow axes. Rows that were labelled before are
    groups of their own that do not move. Of each new group the row nearest to its middle is asked, the heaviest group
    first; the reserve holds the next nearest. Where the diverse strategies take the outermost rows, these stand for
    many others, and so do their answers. Time O((K + labels) N D), memory O(N D).
    """

    needs = frozenset({Need.EMBEDDINGS})

    def _select(self, view: PoolView, n_queries: int, n_rows: int, rng: np.random.Generator) -> Selection:
        points, weights = _directions(view.embeddings, rng)
        free = view.unlabelled
        sample = free if len(free) <= SAMPLE_ROWS else np.sort(rng.choice(free, SAMPLE_ROWS, replace=False))
        taken = _to_labelled(points[free], points[view.labelled])
        near = taken[np.searchsorted(free, sample)]
        starts = [_group(points[sample], weights[sample], near, n_queries, rng) for _ in range(STARTS)]
        centres = min(starts, key=lambda start: start[1])[0]
        return certain(free[_middles(points[free], weights[free], taken, centres)[:n_rows]])


def _directions(embeddings: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Unit vectors (N, p) from the middle of the pool, and weights (N,) that grow with the distance from it."""
    arms = np.asarray(embeddings, np.float32) - embeddings.mean(axis=0, dtype=np.float64).astype(np.float32)
    part = arms if len(arms) <= SAMPLE_ROWS else arms[rng.choice(len(arms), SAMPLE_ROWS, replace=False)]
    arms = arms @ _find_axes(part, rng)
    lengths = np.linalg.norm(arms, axis=1)
    ranks = np.empty(len(arms))
    ranks[np.argsort(lengths, kind="stable")] = np.arange(len(arms)) + 0.5
    return arms / np.where(lengths > 0, lengths, 1)[:, None], (ranks / len(arms)) ** POWER


def _find_axes(arms: Floats, rng: np.random.Generator) -> Floats:
    """Axes (d, p) along which centred rows (n, d) differ most, scaled so that all are about equally wide."""
    from sklearn.utils.extmath import randomized_svd  # takes a second to import

    with single_threaded_blas():
        _, widths, axes = randomized_svd(arms, min(AXES, *arms.shape), random_state=int(rng.integers(2**31)))
    variances = widths**2 / len(arms)
    scales = np.sqrt(variances + (EVEN + len(variances) / len(arms)) * variances.mean())
    return np.asarray(axes.T / np.where(scales > 0, scales, 1), np.float32)


def _to_labelled(points: Floats, labelled: Floats) -> Floats:
    """Squared distances (n,) to the nearest labelled point; infinite without one."""
    if not len(labelled):
        return np.full(len(points), np.inf)
    return nearest_of(points, labelled)[1]


def _group(
    points: Floats, weights: Floats, taken: Floats, n_groups: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Centres (k, p) and the weighted sum of squares: Lloyd's steps after k-means++.

    taken: (n,) squared distances to the nearest labelled point. Those nearer to one than to a centre are in no group.
    """
    centres, squares = points[:0], taken
    for _ in range(n_groups):
        mass = weights * squares if np.isfinite(squares).all() else weights
        mass = mass if mass.sum() > 0 else np.ones(len(points))
        centres = np.vstack([centres, points[rng.choice(len(points), p=mass / mass.sum())]])
        squares = np.minimum(squares, nearest_of(points, centres[-1:])[1])
    cost = np.inf
    for _ in range(STEPS):
        owner, squares = nearest_of(points, centres)
        before, cost = cost, float(weights @ np.minimum(squares, taken))
        if not cost < before * (1 - 1e-6):
            break
        owner[taken <= squares] = n_groups
        total = np.bincount(owner, weights, n_groups + 1)
        for group in np.flatnonzero(total[:n_groups] > 0):  # an empty group stays where it is
            mine = owner == group
            centres[group] = weights[mine] @ points[mine] / total[group]
    return centres, cost


def _middles(points: Floats, weights: Floats, taken: Floats, centres: Floats) -> Rows:
    """Rows in the order they are asked: the nearest to each centre, the heaviest group first; then the next nearest.

    Those that an earlier answer speaks for come last.
    """
    owner, squares = nearest_of(points, centres)
    is_taken = taken <= squares
    squares, owner = np.minimum(squares, taken), np.where(is_taken, len(centres), owner)
    heavy = np.bincount(owner, weights, len(centres) + 1)
    order = np.lexsort((squares, owner))
    place = np.empty(len(points), np.int64)  # of a row among those of its group
    starts = np.searchsorted(owner[order], np.arange(len(centres) + 1))
    place[order] = np.arange(len(points)) - starts[owner[order]]
    return np.lexsort((squares, -heavy[owner], place, is_taken))
