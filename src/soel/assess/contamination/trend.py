"""How the chance of being an anomaly rises with a row's score and with its distance from the middle of the pool."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import map_coordinates
from scipy.special import expit
from scipy.stats import rankdata

from soel.types import Floats

PRIOR_ANOMALY, PRIOR_NORMAL = 0.3, 1.0  # Beta prior of the share of anomalies
SLOPE, SLOPE_DEVIATION = 0.5, 0.75  # normal prior of either slope
FLAT_PART = 0.3  # share of the trend that ignores both: a weak score must not be trusted blindly
SHARE_ROWS = 200  # of the pool, over which a surface's share of anomalies is taken
INTERCEPTS, SLOPES = np.linspace(-14, 6, 61), np.linspace(0, 4, 9)
KNOTS = np.linspace(-9, 9, 37)  # log-odds of ranks between which the mean surface is interpolated
LABELS_AT_ONCE = 256


def trend(scores: Floats, distances: Floats, rows: np.ndarray, is_anomaly: np.ndarray) -> Floats:
    """P(anomaly) (N,) of every row from the ranks of its score and of its distance alone.

    Labels were asked for by both: a trend with the score alone takes the outer rows' labels for everyone's. A logistic
    surface in the log-odds of the two ranks; the posterior mean over a fixed grid of surfaces.
    """
    ranks = np.stack([_log_odds((rankdata(values) - 0.5) / len(scores)) for values in (scores, distances)])
    spaced = np.argsort(scores, kind="stable")[
        np.linspace(0, len(scores) - 1, min(len(scores), SHARE_ROWS)).astype(int)
    ]
    fit = _log_prior(expit(_surfaces(ranks[:, spaced])).mean(axis=-1))
    signs = np.where(is_anomaly, 1.0, -1.0)
    for start in range(0, len(rows), LABELS_AT_ONCE):
        part = slice(start, start + LABELS_AT_ONCE)
        fit -= np.logaddexp(0, -signs[part] * _surfaces(ranks[:, rows[part]])).sum(axis=-1)
    weights = np.exp(fit - fit.max())
    knots = np.stack([axis.ravel() for axis in np.meshgrid(KNOTS, KNOTS, indexing="ij")])
    mean = np.tensordot(weights / weights.sum(), expit(_surfaces(knots)), 3).reshape(len(KNOTS), -1)
    chances = map_coordinates(mean, (ranks - KNOTS[0]) / (KNOTS[1] - KNOTS[0]), order=1, mode="nearest")
    return np.asarray((1 - FLAT_PART) * chances + FLAT_PART * chances.mean())


def _surfaces(ranks: Floats) -> Floats:
    """Log-odds (intercept, slope, slope, n) of every surface of the grid at these places (2, n)."""
    by_score, by_distance = (np.multiply.outer(SLOPES, rank) for rank in ranks)
    return np.asarray(INTERCEPTS[:, None, None, None] + by_score[:, None] + by_distance)


def _log_prior(shares: Floats) -> Floats:
    """Of each surface, by its share of anomalies and its slopes; shares of one half and more are ruled out."""
    slope = -0.5 * ((SLOPES - SLOPE) / SLOPE_DEVIATION) ** 2
    beta = (PRIOR_ANOMALY - 1) * np.log(shares) + (PRIOR_NORMAL - 1) * np.log1p(-shares)
    spacing = np.log(np.gradient(shares, axis=0))  # the grid is even in the intercept, the prior in the share
    return np.asarray(slope[:, None] + slope + beta + spacing + np.where(shares < 0.5, 0.0, -50.0))


def _log_odds(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1 - p)))
