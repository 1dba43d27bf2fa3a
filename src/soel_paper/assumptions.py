"""The two assumptions behind the paper's estimate of contamination, looked at on a pool."""

from __future__ import annotations

import numpy as np

from soel.ask.base import Strategy
from soel.types import Floats, PoolView

REPEATS = 200


def assumption_measures(
    strategy: Strategy, view: PoolView, is_anomaly: np.ndarray, n_queries: int, seed: int
) -> dict[str, float]:
    """Correlations between the scores of one query set (fig:corr-mat), and equal scores with unequal labels.

    The queries are drawn REPEATS times from the same view.
    """
    rngs = [np.random.default_rng([seed, repeat]) for repeat in range(REPEATS)]
    scores = np.stack([view.scores[strategy.select(view, n_queries, rng).rows] for rng in rngs])  # (R, K)
    n_equal, n_violations = equal_scores(view.scores, is_anomaly)
    return {**off_diagonal(scores), "equal_scores": float(n_equal), "violations": float(n_violations)}


def off_diagonal(scores: Floats) -> dict[str, float]:
    """Mean, largest and smallest correlation of two places of the query set; places without spread are left out."""
    moving = scores[:, np.ptp(scores, axis=0) > 0]
    if moving.shape[1] < 2:
        return {"correlation_mean": 0.0, "correlation_max": 0.0, "correlation_min": 0.0}
    matrix = np.asarray(np.corrcoef(moving.T))
    values = matrix[np.eye(len(matrix)) == 0]
    return {
        "correlation_mean": float(values.mean()),
        "correlation_max": float(values.max()),
        "correlation_min": float(values.min()),
    }


def equal_scores(scores: Floats, is_anomaly: np.ndarray) -> tuple[int, int]:
    """Pairs of rows with the same score, and how many of them have opposite labels."""
    _, at = np.unique(np.asarray(scores, np.float32), return_inverse=True)
    sizes, anomalies = np.bincount(at), np.bincount(at, weights=is_anomaly)
    n_equal = int((sizes * (sizes - 1) // 2).sum())
    return n_equal, int((anomalies * (sizes - anomalies)).sum())
