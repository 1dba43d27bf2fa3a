"""A small network that imitates a detector's scores of one pool, for the many rows that are clearly normal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from soel.numeric import single_threaded_blas
from soel.types import Floats

WIDTH, STEPS, BATCH_ROWS, RATE = 128, 400, 512, 3e-3
DECAY, BETA_1, BETA_2, TINY = 1e-3, 0.9, 0.999, 1e-8  # of AdamW
CLIP = 4.0  # in deviations, as the network that is imitated has it
BLOCK_ROWS = 65_536
EXACT_SHARE = 0.07  # of the pool: rows that score as high are worth the detector's own score


@dataclass(frozen=True)
class Surrogate:
    """Two hidden layers with ReLU, fitted by weighted least squares to the scores of a detector.

    Inputs are standardised rows, clipped, and their scores by distances. border: the score above which the detector
    itself is asked.
    """

    mean: Floats
    deviation: Floats
    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats
    last: Floats
    last_bias: float
    border: float = np.inf

    @classmethod
    def fit(cls, x: Floats, distances: Floats, scores: Floats, seed: int) -> Surrogate:
        """From rows (n, d), their scores by distances (n,) and by the detector (n,)."""
        inputs = np.column_stack([x, distances]).astype(np.float32)
        mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
        deviation = np.where(deviation > 1e-6, deviation, 1).astype(np.float32)
        z = np.clip((inputs - mean) / deviation, -CLIP, CLIP)
        surrogate = cls(mean, deviation, **_train(z, np.asarray(scores, np.float32), seed))
        border = float(np.float32(np.quantile(surrogate.score(x, distances), 1 - EXACT_SHARE)))
        return replace(surrogate, border=border)

    def score(self, x: Floats, distances: Floats) -> Floats:
        scores = np.empty(len(x))
        for start in range(0, len(x), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            inputs = np.column_stack([x[rows], distances[rows]]).astype(np.float32)
            h = np.clip((inputs - self.mean) / self.deviation, -CLIP, CLIP)
            for weights, bias in ((self.first, self.first_bias), (self.second, self.second_bias)):
                h = np.maximum(h @ weights + bias, 0)
            scores[rows] = h @ self.last + self.last_bias
        return scores

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value, np.float32) for name, value in asdict(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Surrogate:
        values: dict[str, Any] = {name: value if value.ndim else float(value) for name, value in arrays.items()}
        return cls(**values)


def _train(z: Floats, scores: Floats, seed: int) -> dict[str, Any]:
    """Weights and biases of the three layers, by AdamW; the squared error counts by how high a row scores."""
    middle, spread = scores.mean(), max(scores.std(), np.float32(1e-6))
    scores, rng = (scores - middle) / spread, np.random.default_rng(seed)
    shapes = ((z.shape[1], WIDTH), (WIDTH, WIDTH), (WIDTH, 1), (WIDTH,), (WIDTH,), (1,))
    starts = [rng.normal(0, (2 / shape[0]) ** 0.5, shape) if len(shape) > 1 else np.zeros(shape) for shape in shapes]
    values = np.concatenate([start.reshape(-1) for start in starts]).astype(np.float32)
    parts = np.split(values, np.cumsum([start.size for start in starts])[:-1])  # views of all parameters
    first, second, last, *biases = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
    mean, square = np.zeros_like(values), np.zeros_like(values)
    with single_threaded_blas():
        for step in range(STEPS):
            rows = rng.integers(len(z), size=min(BATCH_ROWS, len(z)))
            x, wanted = z[rows], scores[rows]
            one = np.maximum(x @ first + biases[0], 0)
            two = np.maximum(one @ second + biases[1], 0)
            error = (two @ last + biases[2])[:, 0] - wanted
            of_last = (error * (1 + np.maximum(wanted, 0)) * np.float32(2 / len(rows)))[:, None]
            of_two = (of_last @ last.T) * (two > 0)
            of_one = (of_two @ second.T) * (one > 0)
            deltas = (of_one, of_two, of_last)
            slopes = [a.T @ b for a, b in zip((x, one, two), deltas, strict=True)] + [b.sum(axis=0) for b in deltas]
            slope, rate = np.concatenate([part.reshape(-1) for part in slopes]), RATE * (1 - step / STEPS)
            mean += (1 - BETA_1) * (slope - mean)
            square += (1 - BETA_2) * (slope * slope - square)
            values *= 1 - rate * DECAY
            size = np.sqrt(square) / (1 - BETA_2 ** (step + 1)) ** 0.5 + TINY
            values -= (rate / (1 - BETA_1 ** (step + 1))) * mean / size
    return {
        "first": first.copy(),
        "first_bias": biases[0].copy(),
        "second": second.copy(),
        "second_bias": biases[1].copy(),
        "last": last[:, 0] * spread,
        "last_bias": float(biases[2][0] * spread + middle),
    }
