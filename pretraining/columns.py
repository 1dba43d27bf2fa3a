"""Columns as real tables have them: bent, cut into levels, counted, mostly zero, repeated, or of no use."""

from __future__ import annotations

import random

import torch
from torch import Tensor

KINDS = (0, 1, 1, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9)  # of the forms below: what is measured is mostly skewed to the right
FLIPPED = 0.15  # of the columns


def bend(rows: Tensor, chance: random.Random) -> Tensor:
    """Every column of rows (B, n, d) in a dress of its own."""
    n_tasks, n_rows, width = rows.shape
    device = rows.device
    x = (rows - rows.mean(1, keepdim=True)) / (rows.std(1, keepdim=True) + 1e-4)
    bent = 0.2 + 0.8 * torch.rand(n_tasks, 1, width, device=device)
    skewed = torch.rand(n_tasks, 1, width, device=device) < 0.8 * torch.rand(n_tasks, 1, 1, device=device)
    x = torch.where(skewed, torch.expm1((bent * x).clamp(-6, 6)) / bent, x)
    dressed = torch.rand(n_tasks, 1, width, device=device) < torch.rand(n_tasks, 1, 1, device=device)
    kind = torch.tensor(KINDS, device=device)[torch.randint(0, len(KINDS), (n_tasks, 1, width), device=device)]
    one = torch.rand(n_tasks, 1, width, device=device)
    levels = (2 + 40 * one**2).floor()
    rank = (x.argsort(1).argsort(1) + 0.5) / n_rows
    forms = (
        x.sign() * (x.abs() + 1e-6) ** (0.4 + 2 * one),
        torch.exp((x * (0.3 + 1.2 * one)).clamp(-6, 6)),
        (x * (0.5 + 3 * one)).round(),
        (x > 3 * one - 1.5).float(),
        torch.exp(x.clamp(-4, 4)).mul(0.3 + 5 * one).floor(),  # counts
        torch.relu(x - 1.5 * one + 0.5),  # mostly zero
        (rank * levels).floor(),  # equally full levels
        _codes(rank, levels),
        torch.tanh(x * (0.5 + 2 * one)),
        (rank * 3 * levels).floor(),
    )
    out = x
    for which, form in enumerate(forms):
        out = torch.where(dressed & (kind == which), form, out)
    if chance.random() < 0.2:  # of no use
        shuffled = out.gather(1, torch.rand(n_tasks, n_rows, 1, device=device).argsort(1).expand(-1, -1, width))
        useless = torch.rand(n_tasks, 1, width, device=device) < 0.5 * torch.rand(n_tasks, 1, 1, device=device)
        out = torch.where(useless, torch.where(one < 0.5, shuffled, torch.randn_like(out)), out)
    if chance.random() < 0.5 and width > 2:  # nearly the same as another
        source = torch.randint(0, width, (n_tasks, width), device=device)[:, None].expand(-1, n_rows, -1)
        again = out.gather(2, source)
        again = again + 0.2 * one * again.std(1, keepdim=True) * torch.randn_like(out)
        often = 0.7 * torch.rand(n_tasks, 1, 1, device=device)
        out = torch.where(torch.rand(n_tasks, 1, width, device=device) < often, again, out)
    if chance.random() < 0.15:  # missing, and filled in
        missing = torch.rand_like(out) < 0.3 * one * torch.rand(n_tasks, 1, 1, device=device)
        out = torch.where(missing, out.mean(1, keepdim=True), out)
    if chance.random() < 0.3:  # measured coarsely
        fine = torch.exp(0.7 + 2.5 * torch.rand(n_tasks, 1, width, device=device))
        out = (out / (out.std(1, keepdim=True) + 1e-4) * fine).round()
    return torch.where(torch.rand(n_tasks, 1, width, device=device) < FLIPPED, -out, out)


def _codes(rank: Tensor, levels: Tensor) -> Tensor:
    """Levels (B, n, d) of unequal size under numbers that say nothing of their order."""
    level = (rank**1.7 * levels).floor().long().clamp(0, 63)
    numbers = torch.rand(rank.shape[0], 64, rank.shape[2], device=rank.device).argsort(1)
    return numbers.gather(1, level).float() % levels.clamp_min(2)
