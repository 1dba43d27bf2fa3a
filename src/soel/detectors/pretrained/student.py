"""A small network that has learnt a detector's scores of one pool by heart: for the many rows that nobody suspects."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import nn

from soel.types import Floats

WIDTH, STEPS, BATCH_ROWS, RATE = 128, 400, 512, 3e-3
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
    def taught(cls, x: Floats, distances: Floats, scores: Floats, seed: int) -> Student:
        """From rows (n, d), their scores by distances (n,) and by the teacher (n,)."""
        inputs = np.column_stack([x, distances]).astype(np.float32)
        mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
        deviation = np.where(deviation > 1e-6, deviation, 1).astype(np.float32)
        z = torch.from_numpy(np.clip((inputs - mean) / deviation, -CLIP, CLIP))
        layers = _trained(z, torch.from_numpy(np.asarray(scores, np.float32)), seed)
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


def _trained(z: torch.Tensor, scores: torch.Tensor, seed: int) -> dict[str, Floats]:
    """Weights and biases of the three layers; the error counts by how high a row scores."""
    middle, spread = scores.mean(), scores.std(correction=0).clamp_min(1e-6)
    scores = (scores - middle) / spread
    random = torch.Generator().manual_seed(seed % 2**31)
    sizes = ((z.shape[1], WIDTH), (WIDTH, WIDTH), (WIDTH, 1))
    weights = [nn.Parameter(torch.randn(*size, generator=random) * (2 / size[0]) ** 0.5) for size in sizes]
    biases = [nn.Parameter(torch.zeros(size[1])) for size in sizes]
    optimiser = torch.optim.AdamW([*weights, *biases], lr=RATE, weight_decay=1e-3)
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / STEPS)
        rows = torch.randint(0, len(z), (min(BATCH_ROWS, len(z)),), generator=random)
        h = z[rows]
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            h = torch.relu(h @ weight + bias)
        error = (h @ weights[-1] + biases[-1])[:, 0] - scores[rows]
        optimiser.zero_grad()
        (error.square() * (1 + torch.relu(scores[rows]))).mean().backward()
        optimiser.step()
    (first, second, last), (first_bias, second_bias, last_bias) = (
        [part.detach().numpy() for part in parts] for parts in (weights, biases)
    )
    return {
        "first": first,
        "first_bias": first_bias,
        "second": second,
        "second_bias": second_bias,
        "last": last[:, 0] * spread.numpy(),
        "last_bias": last_bias * spread.numpy() + middle.numpy(),
    }
