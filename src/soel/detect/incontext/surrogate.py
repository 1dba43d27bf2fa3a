"""A small network that has learnt a detector's scores of one pool by heart: for the many rows that nobody suspects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from soel.detect.incontext.arrays import Chance
from soel.threads import single_threaded_blas
from soel.types import Floats

WIDTH, STEPS, BATCH_ROWS, RATE = 128, 400, 512, 3e-3
DECAY, REMEMBER, REMEMBER_SQUARES, TINY = 1e-3, 0.9, 0.999, 1e-8  # of AdamW
CLIP = 4.0  # in deviations, as the network that is imitated has it
BLOCK_ROWS = 65_536
CLOSER_SHARE = 0.07  # of the pool: rows that score as high are worth the teacher's own look


@dataclass(frozen=True)
class Student:
    """Two hidden layers. Inputs are standardised rows and what the distances say of them.

    border: (1,) the score above which the teacher is asked.
    """

    mean: Floats
    deviation: Floats
    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats
    last: Floats
    last_bias: Floats
    border: Floats

    @classmethod
    def teach(cls, x: Floats, distances: Floats, scores: Floats, seed: int) -> Student:
        """From rows (n, d), their scores by distances (n,) and by the teacher (n,)."""
        inputs = np.column_stack([x, distances]).astype(np.float32)
        mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
        deviation = np.where(deviation > 1e-6, deviation, 1).astype(np.float32)
        z = np.clip((inputs - mean) / deviation, -CLIP, CLIP)
        layers = _train(z, np.asarray(scores, np.float32), seed)
        student = cls(mean, deviation, **layers, border=np.array([np.inf], np.float32))
        border = np.quantile(student.score(x, distances), 1 - CLOSER_SHARE)
        return replace(student, border=np.array([border], np.float32))

    def score(self, x: Floats, distances: Floats) -> Floats:
        """Scores (n,) of rows (n, d)."""
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
        """Everything it has learnt, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _train(z: Floats, scores: Floats, seed: int) -> dict[str, Floats]:
    """Weights and biases of the three layers; the error counts by how high a row scores."""
    middle, spread = scores.mean(), max(scores.std(), np.float32(1e-6))
    scores = (scores - middle) / spread
    chance = Chance(seed % 2**31)
    sizes = ((z.shape[1], WIDTH), (WIDTH, WIDTH), (WIDTH, 1))
    weights = [chance.normal(*size) * np.float32((2 / size[0]) ** 0.5) for size in sizes]
    values = np.concatenate([*(weight.reshape(-1) for weight in weights), *(np.zeros(n, np.float32) for _, n in sizes)])
    (first, second, last), (first_bias, second_bias, last_bias) = _layers(values, sizes)
    descent = _Descent(len(values))
    with single_threaded_blas():
        for step in range(STEPS):
            rows = chance.integers(len(z), min(BATCH_ROWS, len(z)))
            x, wanted = z[rows], scores[rows]
            one = np.maximum(x @ first + first_bias, 0)
            two = np.maximum(one @ second + second_bias, 0)
            error = (two @ last + last_bias)[:, 0] - wanted
            weight = (1 + np.maximum(wanted, 0)) * np.float32(2 / len(rows))
            of_last = (error * weight)[:, None]
            of_two = (of_last @ last.T) * (two > 0)
            of_one = (of_two @ second.T) * (one > 0)
            slopes = [
                x.T @ of_one,
                one.T @ of_two,
                two.T @ of_last,
                *(of.sum(axis=0) for of in (of_one, of_two, of_last)),
            ]
            descent.step(values, np.concatenate([slope.reshape(-1) for slope in slopes]), RATE * (1 - step / STEPS))
    return {
        "first": first.copy(),
        "first_bias": first_bias.copy(),
        "second": second.copy(),
        "second_bias": second_bias.copy(),
        "last": last[:, 0] * spread,
        "last_bias": last_bias * spread + middle,
    }


def _layers(values: Floats, sizes: Sequence[tuple[int, int]]) -> tuple[list[Floats], list[Floats]]:
    """Views of all parameters in one array: weights, then biases."""
    n_each = [*(n_in * n_out for n_in, n_out in sizes), *(n_out for _, n_out in sizes)]
    parts = np.split(values, np.cumsum(n_each)[:-1])
    return [part.reshape(size) for part, size in zip(parts, sizes, strict=False)], parts[len(sizes) :]


class _Descent:
    """AdamW's steps."""

    def __init__(self, n_values: int) -> None:
        self.mean, self.square, self.n_steps = np.zeros(n_values, np.float32), np.zeros(n_values, np.float32), 0

    def step(self, values: Floats, slope: Floats, rate: float) -> None:
        """Change the values."""
        self.n_steps += 1
        values *= 1 - rate * DECAY
        self.mean += (1 - REMEMBER) * (slope - self.mean)
        self.square *= REMEMBER_SQUARES
        self.square += (1 - REMEMBER_SQUARES) * slope * slope
        size = np.sqrt(self.square) / (1 - REMEMBER_SQUARES**self.n_steps) ** 0.5 + TINY
        values -= (rate / (1 - REMEMBER**self.n_steps)) * self.mean / size
