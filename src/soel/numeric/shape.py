"""The direction of rows, and the shape of a cloud of them."""

from __future__ import annotations

import numpy as np

from soel.numeric.arrays import Floats

RIDGE, SMALLEST_RIDGE = 0.1, 1e-6  # added to a covariance: as a share of its mean variance, and at least


def unit(x: Floats) -> Floats:
    """Rows (n, d) at length 1; a row of zeros stays as it is."""
    x = np.asarray(x, np.float32)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(length > 0, length, 1))


def gaussian(x: Floats) -> tuple[Floats, Floats]:
    """Centre (d,) of rows (n, d), and a matrix (d, d) that makes their covariance one."""
    covariance = np.atleast_2d(np.cov(x.T.astype(np.float64)))
    width = len(covariance)
    ridge = RIDGE * np.trace(covariance) / width + SMALLEST_RIDGE
    return x.mean(axis=0), np.linalg.cholesky(np.linalg.inv(covariance + ridge * np.eye(width)))


def mahalanobis(x: Floats, centre: Floats, whitening: Floats) -> Floats:
    """Distances (n,) of rows from the centre, in units of the spread in their direction."""
    white = (x - centre) @ whitening
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", white, white)))
