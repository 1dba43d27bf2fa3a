"""Which rows an expert was asked about, and what was answered, for tasks of every kind."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from soel.detect.incontext.row_features import FAR, TINY, RowFeatures

STRATEGIES = ("random", "top", "centre", "tilted", "tilted", "mixed")


def n_labels(chance: random.Random) -> int:
    """How many rows were asked: often none or about ten, at times a hundred."""
    kind = chance.random()
    if kind < 0.22:
        return 0
    if kind < 0.67:
        return chance.randint(1, 15)
    return chance.randint(16, 50) if kind < 0.95 else chance.randint(51, 100)


def ask(pool: RowFeatures, n_asked: int, strategy: str, chance: random.Random) -> Tensor:
    """Rows (B, n_asked) of the pool."""
    n_tasks, n_pool = pool.scores.shape[:2]
    device = pool.scores.device
    noise = torch.rand(n_tasks, n_pool, device=device)
    if strategy == "random":
        return noise.argsort(1)[:, :n_asked]
    weights = torch.rand(n_tasks, 1, pool.scores.shape[-1], device=device)
    suspicion: Tensor = (pool.scores * weights).mean(-1)
    suspicion = suspicion / (suspicion.std(1, keepdim=True) + TINY)
    if strategy == "top":
        return (suspicion + chance.uniform(0, 1.5) * noise).topk(n_asked).indices
    if strategy == "mixed":
        n_top = n_asked // 2
        taken = suspicion.topk(max(n_top, 1)).indices[:, :n_top]
        rest = noise.scatter(1, taken, 2.0).argsort(1)[:, : n_asked - n_top]
        return torch.cat([taken, rest], 1)
    tilt = chance.uniform(0.1, 1.5) if strategy == "tilted" else 0.0
    return apart(pool.distances[0], tilt * suspicion, n_asked)


def apart(distances: Tensor, worth: Tensor, n_asked: int, asked: Tensor | None = None) -> Tensor:
    """Rows (B, n_asked), each the best by log distance (B, N, N) to those asked before plus its worth (B, N)."""
    n_tasks, n_pool = worth.shape
    first, by_row = n_pool * torch.arange(n_tasks, device=worth.device), distances.reshape(-1, n_pool)
    worth = worth.clone() if asked is None else worth.masked_fill(asked, -torch.inf)
    near = torch.ones_like(worth)
    if asked is not None:
        near = torch.where(asked.any(1, keepdim=True), distances.masked_fill(~asked[:, None], FAR).amin(-1), near)
    rows: list[Tensor] = []
    for _ in range(n_asked):
        row = ((near + TINY).log() + worth).argmax(1)
        to_row = by_row.index_select(0, first + row)
        near = to_row if asked is None and not rows else torch.minimum(near, to_row)
        worth.scatter_(1, row[:, None], -torch.inf)
        rows.append(row)
    return torch.stack(rows, 1)


def balance(labels: Tensor) -> Tensor:
    """The tilt (B, 1) of the product's rule: it falls from 1 while more than a quarter of the answers are anomalies."""
    n_labels, n_found = (x.sum(1, keepdim=True).float() for x in (labels >= 0, labels == 1))
    found = (n_found + 0.5) / (n_labels + 1)
    return torch.where(n_labels > 0, (1.5 - 2 * found).clamp(max=1), 1.0)


def answer(is_anomaly: Tensor, rows: Tensor, labels: Tensor, wrong: float) -> Tensor:
    """Labels (B, N) with the answers for those rows; a share `wrong` of them is not true."""
    told = is_anomaly.gather(1, rows)
    if wrong > 0:
        told = told ^ (torch.rand_like(told, dtype=torch.float) < wrong)
    return labels.scatter(1, rows, told.to(labels.dtype))
