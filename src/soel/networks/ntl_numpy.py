"""The network for tables, on a few rows, without torch: loading torch takes longer than the rows do.

The same products in another order: losses agree with those of `TableNTL` to about 1e-5 of their size (float32).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from soel.types import Floats, within

TEMPERATURE, SMALLEST_SQUARE = 0.1, 1e-24  # as in `soel.networks.ntl`; a test compares the two
NORM_EPSILON = 1e-5  # torch's own

Weights = Mapping[str, np.ndarray]


def looks_normal(weights: Weights, x: Floats) -> Floats:
    """L0 (S, n) of rows (n, d) by the S members of a `TableNTL`, in eval mode. weights: its state, by name."""
    rows = np.ascontiguousarray(x, np.float32).T[None, None]  # (1, 1, d, n)
    views = _perceptron(within(weights, "views."), rows) + rows  # (S, T, d, n)
    own = np.broadcast_to(rows, (len(views), *rows.shape[1:]))
    codes = _perceptron(within(weights, "encoder."), np.concatenate([own, views], axis=1))  # (S, T+1, z, n)
    return _contrast(codes.transpose(0, 3, 1, 2))


def _perceptron(weights: Weights, x: np.ndarray) -> np.ndarray:
    """(S, G, in, n) -> (S, G, out, n): linear layers with ReLU, and running statistics where there is a norm."""
    n_layers = sum(name.startswith("linears.") for name in weights)
    for layer in range(n_layers):
        x = weights[f"linears.{layer}.weight"] @ x
        if layer == n_layers - 1:
            break
        if f"norms.{layer}.mean" in weights:
            shape = (*x.shape[:-1], 1)
            mean, variance = (weights[f"norms.{layer}.{name}"].reshape(shape) for name in ("mean", "variance"))
            x = (x - mean) / np.sqrt(variance + np.float32(NORM_EPSILON))
        x = np.maximum(x, 0)
    return x


def _contrast(z: np.ndarray) -> Floats:
    """L0 (S, n) from the codes (S, n, T+1, z), of which number 0 is the row itself."""
    products = z @ z.swapaxes(-1, -2)
    squares = np.maximum(np.diagonal(products, axis1=-2, axis2=-1), np.float32(SMALLEST_SQUARE))
    norm = 1 / np.sqrt(squares)
    similarity = products * norm[..., None, :] * (norm / np.float32(TEMPERATURE))[..., None]  # (S, n, T+1, T+1)
    between = similarity[..., 1:, 1:].copy()
    n_views = between.shape[-1]
    between[..., np.arange(n_views), np.arange(n_views)] = -np.inf
    others = np.logaddexp.reduce(between, axis=-1)
    return np.asarray(np.logaddexp(0, others - similarity[..., 1:, 0]).mean(-1) / math.log(n_views))
