"""Ways of being an anomaly: decided by a rule on the columns, or made of rows that were normal."""

from __future__ import annotations

import random

import torch
from torch import Tensor


def decided(nodes: Tensor, share: Tensor, chance: random.Random) -> Tensor:
    """Rows (B, n) for which a random rule on nodes (B, n, k) says so: a minority class with a blurred border."""
    n_tasks, n_rows, n_nodes = nodes.shape
    device = nodes.device
    rule = chance.choice(("sum", "sum", "sum", "box", "box", "ball", "product", "chosen levels"))
    how_many = min(chance.choice((1, 2) if rule in ("product", "chosen levels") else (1, 1, 2, 2, 3, 4, 6)), n_nodes)
    which = torch.rand(n_tasks, n_nodes, device=device).argsort(1)[:, :how_many]
    x = nodes.gather(2, which[:, None].expand(-1, n_rows, -1))
    x = x + 1e-4 * torch.randn_like(x)
    if rule in ("box", "chosen levels"):
        x = (x.argsort(1).argsort(1) + 0.5) / n_rows * 3.46 - 1.73  # ranks with variance one
    else:
        x = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-4)
    if rule == "sum":
        score = (x * torch.randn(n_tasks, 1, how_many, device=device)).sum(-1)
    elif rule == "box":
        boxes = []
        for _ in range(chance.randint(1, 3)):
            side = torch.randn(n_tasks, 1, how_many, device=device).sign() * torch.exp(
                torch.rand(n_tasks, 1, how_many, device=device)
            )
            boxes.append((x * side + 0.5 * torch.randn(n_tasks, 1, how_many, device=device)).amin(-1))
        score = torch.stack(boxes).amax(0)
    elif rule == "ball":
        centre = x[:, :1] if chance.random() < 0.5 else torch.randn(n_tasks, 1, how_many, device=device)
        score = -(x - centre).square().sum(-1).sqrt()
    elif rule == "product":
        score = x.prod(-1).clamp(-4, 4) * torch.randn(n_tasks, 1, device=device).sign()
    else:  # some levels of a column, whatever their order
        n_levels = chance.randint(4, 20)
        level = ((x + 1.74) / 3.48 * n_levels).long().clamp(0, n_levels - 1)
        score = torch.randn(n_tasks, n_levels, how_many, device=device).gather(1, level).sum(-1)
    score = (score - score.mean(1, keepdim=True)) / (score.std(1, keepdim=True) + 1e-4)
    blur = torch.rand(n_tasks, 1, device=device) ** 3 * 0.7
    score = score + (blur + 1e-3) * torch.randn_like(score)
    return _band(score, share[:, None], chance)


def _band(score: Tensor, share: Tensor, chance: random.Random) -> Tensor:
    """The top of the scores, or a band of them, or both ends."""
    n_rows = score.shape[1]
    rank = (score.argsort(1).argsort(1) + 0.5) / n_rows
    where = chance.random()
    if where < 0.65:
        return rank > 1 - share
    if where < 0.78:
        middle = torch.rand(len(score), 1, device=score.device) * (1 - share) + share / 2
        return (rank - middle).abs() < share / 2
    return (rank < share / 2) | (rank > 1 - share / 2)


def shift(hidden: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows with some hidden variables moved, to a few places or all over."""
    n_tasks, _, width = hidden.shape
    device = hidden.device
    hit = torch.rand(n_tasks, 1, width, device=device) < torch.rand(n_tasks, 1, 1, device=device).clamp_min(1.5 / width)
    size = (0.5 + 5 * torch.rand(n_tasks, 1, 1, device=device)) * hidden.std(1, keepdim=True)
    if chance.random() < 0.5:
        moved = torch.randn_like(hidden) * size
    else:
        n_modes = chance.randint(1, 3)
        mode = torch.randint(0, n_modes, flags.shape, device=device)[..., None].expand(-1, -1, width)
        moved = torch.randn(n_tasks, n_modes, width, device=device).gather(1, mode) * size
        moved = moved + chance.uniform(0, 0.7) * torch.randn_like(hidden)
    return torch.where(flags[..., None] & hit, hidden + moved, hidden)


def break_dependence(rows: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows with some columns taken from other rows: each value is usual, their company is not."""
    other = rows.gather(1, torch.rand_like(rows).argsort(1))
    hit = torch.rand(len(rows), 1, rows.shape[2], device=rows.device) < chance.uniform(0.3, 1)
    return torch.where(flags[..., None] & hit, other, rows)


def scatter(rows: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows anywhere in the box that the others fill."""
    low, high = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    anywhere = (low + high) / 2 + (high - low) / 2 * chance.uniform(0.7, 1.3) * (2 * torch.rand_like(rows) - 1)
    return torch.where(flags[..., None], anywhere, rows)


def fault(rows: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows with a few columns extreme, stuck, exchanged or scaled."""
    n_tasks, n_rows, width = rows.shape
    device = rows.device
    most = max(1, round(width * chance.choice((0.1, 0.3, 0.6))))
    fixed = torch.rand(n_tasks, 1, width, device=device).argsort(-1) < most
    varying = torch.rand(n_tasks, n_rows, width, device=device) < most / width
    hit = (fixed if chance.random() < 0.6 else varying) & flags[..., None]
    spread = rows.std(1, keepdim=True) + 1e-4
    kind = chance.choice(("extreme", "extreme", "stuck", "exchanged", "scaled", "noisy"))
    if kind == "extreme":
        sign = torch.randn(n_tasks, 1, width, device=device).sign()
        sign = sign if chance.random() < 0.6 else torch.randn_like(rows).sign()
        wrong = rows.mean(1, keepdim=True) + sign * spread * (1.5 + 8 * torch.rand_like(rows) * chance.random())
    elif kind == "stuck":
        wrong = rows[:, :1].expand_as(rows) if chance.random() < 0.5 else torch.zeros_like(rows)
    elif kind == "exchanged":
        wrong = rows.roll(1, 2)
    elif kind == "scaled":
        wrong = rows * (1 + 3 * torch.rand(n_tasks, 1, 1, device=device))
    else:
        wrong = rows + spread * torch.randn_like(rows) * (0.5 + 3 * torch.rand(n_tasks, 1, 1, device=device))
    return torch.where(hit, wrong, rows)
