"""Which rows an expert was asked about, and what was answered, for tasks of every kind."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from soel.detect.incontext.label_features import LabelTables
from soel.detect.incontext.row_features import FAR, TINY, RowFeatures

TAIL = 6  # of the features of a cell: how far out it lies
NAMELESS = 0.4  # share of label sets with which no column is named
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


def name_columns(pool: RowFeatures, truth: Tensor, labels: Tensor, chance: random.Random) -> Tensor | None:
    """Columns (B, N, d) of 0 and 1 that a simulated expert names with some labels (B, N); None where with none.

    For an anomaly one or two columns whose values are common among all anomalies (B, N) and rare among normal rows, or
    differ from those of the nearest normal row; for a normal row the value furthest out, which is fine. Some names are
    wrong.
    """
    if chance.random() < NAMELESS or pool.z.shape[2] < 2:
        return None
    per_row = torch.rand_like(pool.z[..., 0])
    n_tasks, device = len(truth), truth.device
    among_all = LabelTables.count(pool, truth.long()).of_cells(pool)
    nearest = pool.distances[0].masked_fill(truth[:, None], FAR).argmin(-1)
    from_nearest = (pool.z - pool.z.gather(1, nearest[..., None].expand_as(pool.z))).abs()
    weight = chance.choice((0.2, 0.7, 1.0))
    evidence = sum(
        part * x / (x.std((1, 2), keepdim=True) + TINY) for part, x in ((weight, among_all), (1 - weight, from_nearest))
    )
    evidence = evidence + 0.3 * torch.randn_like(evidence)
    evidence = torch.where((labels == 1)[..., None], evidence, pool.cells[..., TAIL])
    n_wrong = 0.3 * torch.rand(n_tasks, 1, device=device) * (torch.rand(n_tasks, 1, device=device) < 0.3)
    is_wrong = torch.rand_like(per_row) < n_wrong
    evidence = torch.where(is_wrong[..., None], torch.rand_like(evidence), evidence)
    best = evidence.topk(2).indices
    some = torch.rand(n_tasks, 1, device=device)
    reasons = (some > 0.25) * some.clamp_min(0.5)  # share of anomalies with a reason
    some = torch.rand(n_tasks, 1, device=device)
    fine = (some > 0.7) * some  # of normal rows with a value that is fine
    has_name = ((labels == 1) & (per_row < reasons)) | ((labels == 0) & (per_row < fine))
    two = has_name & (torch.rand_like(per_row) < 0.3)
    return torch.zeros_like(pool.z).scatter(2, best, torch.stack([has_name, two], -1).float())
