"""The default estimator: the pool's mean label, predicted from few labels that resemble their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import map_coordinates
from scipy.special import expit
from scipy.stats import rankdata

from soel.assess.share import COVERAGE, ContaminationEstimator, widen
from soel.numeric import pairs
from soel.types import ANOMALY, Estimate, Evidence, Floats

SMOOTH_PART = 0.8  # share of the labels' variance that neighbours in the embedding have in common
MODEL_ERROR = 0.001  # the model itself may be wrong: labels are never worth more than 1000 uniform draws
NONE_LEFT = 0.5  # fewer effective anomalies than this among the rest: the interval starts at 'all were found'
STAND_INS = 512  # rows that stand for the pool where pairs are needed
GRID = (np.arange(2000) + 0.5) / 2000


class Kriging(ContaminationEstimator):
    """Block kriging of the labels around their trend, then a Beta posterior for the unlabelled rest.

    Labels vary around P(anomaly | score, distance from the middle of the pool), since strategies ask by both, and
    resemble one another the more, the nearer their rows are. The best linear unbiased predictor of the pool's mean
    label has weights w and an error variance v: the labels are worth 1 / v uniform draws. The odds of the draws do not
    enter: given features, scores and past labels, how a row was picked says nothing about its own label. All labels
    are used with the newest scores and embeddings. Time O(K N D), memory O(N).
    """

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The median of the posterior; its 10 and 90 % quantiles, widened by what tables differ in."""
        rows = np.concatenate([r.rows for r in rounds])
        is_anomaly = np.concatenate([r.labels for r in rounds]) == ANOMALY
        newest = rounds[-1]
        n_rows, n_found = len(newest.scores), int(is_anomaly.sum())
        if len(rows) == n_rows:
            share = float(is_anomaly.mean())
            return Estimate(share, share, share, "kriging", {"effective_labels": float(n_rows)})
        pool = _Pool(newest.scores, newest.embeddings, rows, is_anomaly)
        weights, variance = pool.predictor()
        mean_label = float(weights @ is_anomaly)
        middle, low, high, effective = _posterior(mean_label, variance, n_rows, len(rows), n_found)
        low, high = widen(middle, low, high, n_found / n_rows, 1 - (len(rows) - n_found) / n_rows)
        details = {"effective_labels": effective, "mean_label": mean_label}
        return Estimate(middle, low, high, "kriging", details)


@dataclass(frozen=True)
class _Pool:
    scores: Floats
    embeddings: Floats
    rows: np.ndarray
    is_anomaly: np.ndarray

    def predictor(self) -> tuple[Floats, float]:
        """Weights (K,) on the labels and the error variance, in units of share * (1 - share)."""
        x = np.asarray(self.embeddings, np.float64)
        x = x - x.mean(axis=0)
        chances = trend(np.asarray(self.scores, np.float64), np.linalg.norm(x, axis=1), self.rows, self.is_anomaly)
        mean = chances.mean()
        rise, size = chances / mean, np.sqrt(chances * (1 - chances) / (mean * (1 - mean)))
        sample = self._stand_ins()
        between = pairs(x[sample], x[sample])
        length = _typical(between)
        known, known_size = x[self.rows], size[self.rows]
        covariance = np.outer(known_size, known_size) * _kernel(pairs(known, known), length)
        np.fill_diagonal(covariance, known_size**2 * (1 + 1e-9))
        own = (1 - SMOOTH_PART) * known_size**2 / len(x)  # a labelled row is itself one of the pool
        to_pool = known_size * _mean_kernel(known, x, size, length) + own
        weights = _predictor_weights(covariance, to_pool, rise[self.rows])
        # In the variance the stand-ins play the pool in both terms, so that their sampling noise cancels.
        to_sample = known_size * _mean_kernel(known, x[sample], size[sample], length) + own
        apart = ~np.eye(len(sample), dtype=bool)
        shared = (
            (np.outer(size[sample], size[sample]) * _kernel(between, length))[apart].mean() if len(sample) > 1 else 0
        )
        spread = shared * (1 - 1 / len(x)) + np.mean(size**2) / len(x)
        variance = weights @ covariance @ weights - 2 * weights @ to_sample + spread
        return weights, max(float(variance), 1e-6)

    def _stand_ins(self) -> np.ndarray:
        """At most STAND_INS rows, evenly spaced in score order."""
        n_rows = len(self.scores)
        size = min(n_rows, STAND_INS)
        positions = ((np.arange(size) + 0.5) * n_rows / size).astype(int)
        return np.asarray(np.argsort(self.scores, kind="stable")[positions])


def _predictor_weights(covariance: Floats, to_pool: Floats, rise: Floats) -> Floats:
    """Weights of the best linear predictor that gets the trend's own mean right."""
    plain, along = np.linalg.solve(covariance, np.stack([to_pool, rise], axis=1)).T
    return np.asarray(plain + along * (1 - rise @ plain) / (rise @ along))


def _posterior(
    mean_label: float, variance: float, n_rows: int, n_labels: int, n_found: int
) -> tuple[float, float, float, float]:
    """Median and interval of the share, and the number of uniform draws that the labels are worth."""
    rest = n_rows - n_labels
    share = float(np.clip((n_rows * mean_label - n_found) / rest, 0, 1))
    worth = 1 / (variance * (n_rows / rest) ** 2 + MODEL_ERROR)
    top = min((0.5 * n_rows - n_found) / rest, 1.0)  # below one half, unless more than that were found
    grid = (top if top > 0 else 1.0) * GRID
    density = (PRIOR_ANOMALY - 1 + worth * share) * np.log(grid)
    density += (PRIOR_NORMAL - 1 + worth * (1 - share)) * np.log1p(-grid)
    mass = np.cumsum(np.exp(density - density.max()))
    tail = (1 - COVERAGE) / 2
    quantiles = np.interp([0.5, tail, 1 - tail], mass / mass[-1], grid)
    if worth * share < NONE_LEFT:
        quantiles[1] = 0.0
    middle, low, high = ((n_found + rest * quantiles) / n_rows).tolist()
    return middle, low, high, worth


def _typical(distances: Floats) -> float:
    """The median distance of a pair; the mean where more than half of the pool are copies of one row."""
    apart = distances[~np.eye(len(distances), dtype=bool)]
    median = float(np.median(apart)) if len(apart) else 0.0
    return median or float(distances.mean()) or 1.0


def _mean_kernel(known: Floats, x: Floats, size: Floats, length: float) -> Floats:
    """Mean covariance (K,) of each labelled row with the pool, one row at a time: O(N) memory."""
    return np.array([_kernel(pairs(row[None], x)[0], length) @ size for row in known]) / len(x)


def _kernel(distances: Floats, length: float) -> Floats:
    return np.asarray(SMOOTH_PART * np.exp(-distances / length))


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
