"""How the chance of being an anomaly rises with the score, learnt from a few labels."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from soel.types import Floats

PRIOR_ANOMALY, PRIOR_NORMAL = 0.3, 1.0  # Beta prior of the share of anomalies
SLOPE, SLOPE_DEVIATION = 1.0, 1.5  # normal prior of the slope
FLAT_PART = 0.3  # share of the trend that ignores the score: a weak score must not be trusted blindly
RANKS = (np.arange(200) + 0.5) / 200
INTERCEPTS, SLOPES = np.linspace(-14, 6, 101)[:, None, None], np.linspace(0, 4, 13)[None, :, None]


def trend(scores: Floats, rows: np.ndarray, is_anomaly: np.ndarray) -> Floats:
    """P(anomaly) (N,) of every row from the rank of its score alone.

    A logistic curve in the log-odds of the rank; the posterior mean over a fixed grid of curves.
    """
    ranks = (rankdata(scores) - 0.5) / len(scores)
    curves = expit(INTERCEPTS + SLOPES * _log_odds(RANKS))  # (intercept, slope, rank)
    at_labels = INTERCEPTS + SLOPES * _log_odds(ranks[rows])
    signs = np.where(is_anomaly, 1.0, -1.0)
    fit = -np.logaddexp(0, -signs * at_labels).sum(axis=-1) + _log_prior(curves.mean(axis=-1))
    weights = np.exp(fit - fit.max())
    curve = np.tensordot(weights / weights.sum(), curves, 2)
    chances = np.interp(ranks, RANKS, curve)
    return np.asarray((1 - FLAT_PART) * chances + FLAT_PART * chances.mean())


def _log_prior(shares: Floats) -> Floats:
    """Of each curve, by its share of anomalies and its slope; shares of one half and more are ruled out."""
    slope = -0.5 * ((SLOPES[..., 0] - SLOPE) / SLOPE_DEVIATION) ** 2
    beta = (PRIOR_ANOMALY - 1) * np.log(shares) + (PRIOR_NORMAL - 1) * np.log1p(-shares)
    spacing = np.log(np.gradient(shares, axis=0))  # the grid is even in the intercept, the prior in the share
    return np.asarray(slope + beta + spacing + np.where(shares < 0.5, 0.0, -50.0))


def _log_odds(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1 - p)))
