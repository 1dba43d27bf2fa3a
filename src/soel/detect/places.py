"""Gaussians side by side, one at each place of a picture. Patches are (n, P, D): D values at each of P places.

Blocks of places, or of pictures, are computed in parallel; callers keep the matrix library to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soel.numeric import parallel_map
from soel.types import Floats

RIDGE = 0.01  # added to every covariance, as a share of the mean variance
OWN_SHARES = (0.0, 0.2, 0.4, 0.55, 0.7, 0.85)  # of a place's own covariance beside that of all places
JUDGED_PLACES = 48  # by which the share is chosen
HIGHEST_LEVERAGE = 0.99  # that one picture can have on its own distance
TINY = 1e-12  # below which an arm has no direction
BLOCK = 64  # pictures, or places, at once
BORROWED = 20  # pictures that a place's own scale counts as if they had been seen at all places
TINY_DISTANCE = 1e-6  # of a distance, before its logarithm is taken


@dataclass(frozen=True)
class Gaussians:
    """means: (P, D). whitenings: (P, D, D). leverage: the weight of one picture in the covariance of a place."""

    means: Floats
    whitenings: Floats
    leverage: float


def fit_gaussians(x: Floats, own: float) -> Gaussians:
    """From patches. own: how far a place keeps its own covariance; the rest is that of all places."""
    means, covariances = _moments(x)
    whitenings = _whitenings(_factors(covariances, own)).astype(np.float32)
    return Gaussians(means.astype(np.float32), whitenings, _leverage(own, len(x), x.shape[1]))


def choose_own_share(x: Floats) -> float:
    """How far places should keep their own covariances: so that rows left out in turn are most likely.

    Pictures of one object in one position differ in other ways at other places; those of a texture do not, and
    covariances of all places are known much better.
    """
    n_places = x.shape[1]
    if n_places < 2:
        return 1.0
    places = np.unique(np.linspace(0, n_places - 1, min(JUDGED_PLACES, n_places)).round().astype(int))
    means, covariances = _moments(x[:, places])
    arms = x[:, places].astype(np.float32).transpose(1, 0, 2) - means[:, None].astype(np.float32)  # (P, n, D)
    likelihoods = [_likelihood(arms, _factors(covariances, own), _leverage(own, *x.shape[:2])) for own in OWN_SHARES]
    return OWN_SHARES[int(np.argmax(likelihoods))]


def distances(x: Floats, means: Floats, whitenings: Floats) -> Floats:
    """Mahalanobis' distance (n, P) of each patch from the mean at its place."""
    found = np.empty(x.shape[:2], np.float32)

    def measure(block: slice) -> None:
        found[block] = np.sqrt((whiten(x[block], means, whitenings) ** 2).sum(axis=2))

    for_each_block(len(x), measure)
    return found


def for_each_block(n: int, compute: Callable[[slice], None]) -> None:
    """Calls `compute` with slices of BLOCK of n pictures or places, in parallel."""
    parallel_map(compute, [slice(start, start + BLOCK) for start in range(0, n, BLOCK)])


def fit_scales(found: Floats) -> tuple[Floats, Floats]:
    """Factors and powers (P,) that bring the logarithms of distances (n, P) to one middle and spread at all places.

    Where pictures differ much anyway, at borders and edges of parts, a large distance means less.
    """
    logs = np.log(found.astype(np.float64) + TINY_DISTANCE)
    kept = len(logs) / (len(logs) + BORROWED)
    middle, spread = float(np.median(logs.mean(axis=0))), float(np.median(logs.std(axis=0)))
    if not spread > 0:
        return np.ones(found.shape[1], np.float32), np.ones(found.shape[1], np.float32)
    middles = kept * logs.mean(axis=0) + (1 - kept) * middle
    powers = spread / np.sqrt(kept * logs.var(axis=0) + (1 - kept) * spread**2)
    return np.exp(middle - powers * middles).astype(np.float32), powers.astype(np.float32)


def bring_to_scale(found: Floats, factors: Floats, powers: Floats) -> Floats:
    """Distances (n, P) on the scale of all places."""
    return np.asarray(factors * (found + TINY_DISTANCE) ** powers, np.float32)


def whiten(x: Floats, means: Floats, whitenings: Floats) -> Floats:
    """Patches (n, P, D) as arms from the mean at their places, with the same spread in every direction."""
    arms = x.astype(np.float32).transpose(1, 0, 2) - means[:, None]
    return np.asarray((arms @ whitenings.transpose(0, 2, 1)).transpose(1, 0, 2))


def likeness(arms: Floats, examples: Floats) -> Floats:
    """The largest cosine (...) between whitened arms (..., D) and unit vectors (m, D), and 0 at least."""
    if not len(examples):
        return np.zeros(arms.shape[:-1], np.float32)
    lengths = np.maximum(np.linalg.norm(arms, axis=-1), TINY)
    return np.asarray(np.maximum((arms @ examples.T).max(axis=-1), 0) / lengths)


def without_itself(found: Floats, n_rows: int, leverage: float) -> Floats:
    """Distances of fitted rows as they would be if each row had been left out of the fit."""
    shift = n_rows / max(n_rows - 1, 1)
    squares = found.astype(np.float64) ** 2
    return np.asarray(np.sqrt(shift * squares / (1 - np.minimum(leverage * squares, HIGHEST_LEVERAGE))), np.float32)


def _moments(x: Floats) -> tuple[Floats, Floats]:
    """The means (P, D) and covariances (P, D, D) of patches."""
    n_rows, n_places, width = x.shape
    means, covariances = np.empty((n_places, width)), np.empty((n_places, width, width))

    def compute(at: slice) -> None:
        values = np.ascontiguousarray(x[:, at].transpose(1, 0, 2), np.float32)
        means[at] = values.mean(axis=1, dtype=np.float64)
        arms = values - means[at, None].astype(np.float32)
        covariances[at] = arms.transpose(0, 2, 1) @ arms / n_rows

    for_each_block(n_places, compute)
    return means, covariances


def _factors(covariances: Floats, own: float) -> Floats:
    """Lower Cholesky factors (P, D, D) of the mixed covariances."""
    shared = covariances.mean(axis=0)
    width = len(shared)
    ridge = RIDGE * np.trace(shared) / width + 1e-12
    lower = np.empty_like(covariances)

    def compute(at: slice) -> None:
        lower[at] = np.linalg.cholesky(own * covariances[at] + (1 - own) * shared + ridge * np.eye(width))

    for_each_block(len(covariances), compute)
    return lower


def _whitenings(lower: Floats) -> Floats:
    """The inverses (P, D, D) of Cholesky factors."""
    inverses = np.empty_like(lower)

    def compute(at: slice) -> None:
        inverses[at] = np.linalg.inv(lower[at])

    for_each_block(len(lower), compute)
    return inverses


def _leverage(own: float, n_rows: int, n_places: int) -> float:
    return (own + (1 - own) / n_places) / max(n_rows - 1, 1)


def _likelihood(arms: Floats, lower: Floats, leverage: float) -> float:
    """The mean log-likelihood of arms (P, n, D) from the means, each left out in turn, up to a constant."""
    found, inverses = np.empty(arms.shape[:2], np.float32), _whitenings(lower)

    def measure(at: slice) -> None:
        whitened = arms[at] @ inverses[at].transpose(0, 2, 1).astype(np.float32)
        found[at] = np.sqrt((whitened**2).sum(axis=2))

    for_each_block(len(arms), measure)
    volumes = 2 * np.log(np.einsum("pii->pi", lower)).sum(axis=1)[:, None]
    volumes = volumes + np.log1p(-np.minimum(leverage * found.astype(np.float64) ** 2, HIGHEST_LEVERAGE))
    return float(-0.5 * (volumes + without_itself(found, arms.shape[1], leverage).astype(np.float64) ** 2).mean())
