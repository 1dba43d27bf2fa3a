"""Made-up tasks: tables with a few anomalies, drawn in batches on the device that trains.

A batch shares its size, its base and its kind of anomaly; within it every task has weights, shares and strengths of
its own. Nothing here waits for the device: choices for the whole batch come from a generator on the CPU.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pretraining import anomalies, columns

LOWEST_SHARE, HIGHEST_SHARE = 0.005, 0.45
THINNED, TIMES_AS_MANY = 0.3, 3  # how often a class is a common one made rare, and of how many times the rows
N_CAUSES = (1, 2, 2, 3, 3, 4, 5, 6, 8, 12)  # few: the columns of real tables go together
NETWORK_KINDS = ("class",) * 6 + ("push",) * 2 + ("fault",) * 2 + ("shift", "break", "crowd")
MIXTURE_KINDS = (
    *("decided",) * 4,
    *("push",) * 3,
    *("fault",) * 2,
    *("class", "one class", "other", "local", "global", "break", "crowd"),
)


@dataclass(frozen=True)
class Tasks:
    """B tables of n rows: values (B, n, d) and which rows are anomalies (B, n)."""

    rows: Tensor
    is_anomaly: Tensor


def draw(n_tasks: int, n_rows: int, width: int, device: torch.device, chance: random.Random) -> Tasks:
    """A batch of tasks; the device's own generator gives the numbers, `chance` the choices for the batch."""
    share = draw_shares(n_tasks, device, chance)
    make = _network if chance.random() < 0.5 else _mixture
    late = chance.random() < 0.3  # decided by the columns as they are in the end
    thinned = late and chance.random() < THINNED
    n_drawn = n_rows * (TIMES_AS_MANY if thinned else 1)
    rows, is_anomaly = make(n_tasks, n_drawn, width, share, device, chance, "none" if late else None)
    if chance.random() < 0.35:  # outliers that nobody minds
        nuisance = torch.rand_like(is_anomaly, dtype=torch.float) < 0.06 * torch.rand(n_tasks, 1, device=device)
        rows = anomalies.fault(rows, nuisance & ~is_anomaly, chance)
    if chance.random() < 0.12:  # crowds of normal rows, at times equal ones: what is repeated is mostly usual
        among = torch.rand_like(is_anomaly, dtype=torch.float) < 0.6 * torch.rand(n_tasks, 1, device=device)
        rows = anomalies.crowd(rows, among & ~is_anomaly, chance)
    if not late and chance.random() < 0.12:  # faults beside the other kind
        extra = torch.rand_like(is_anomaly, dtype=torch.float) < 0.5 * share[:, None]
        rows, is_anomaly = anomalies.fault(rows, extra & ~is_anomaly, chance), is_anomaly | extra
    rows = columns.bend(rows, chance)
    if thinned:
        rows, is_anomaly = _thin_class(rows, rows, share, n_rows, chance)
    elif late:
        decide = anomalies.rare if chance.random() < 0.2 else anomalies.decided
        is_anomaly = decide(rows, share, chance)
    if chance.random() < 0.1:
        rows, is_anomaly = _with_copies(rows, is_anomaly, chance)
    elif chance.random() < 0.06 and width > 2:
        rows, is_anomaly = _with_other_days(*_with_copies(rows, is_anomaly, chance))
    return Tasks(rows, is_anomaly)


def draw_shares(n_tasks: int, device: torch.device, chance: random.Random) -> Tensor:
    """Shares of anomalies (B,): mostly 1 to 25 %, at times anything from 0.5 to 45 %."""
    usual = torch.exp(math.log(0.01) + math.log(25) * torch.rand(n_tasks, device=device))
    odd = torch.exp(
        math.log(LOWEST_SHARE) + math.log(HIGHEST_SHARE / LOWEST_SHARE) * torch.rand(n_tasks, device=device)
    )
    return torch.where(torch.rand(n_tasks, device=device) < 0.85, usual, odd)


def _network(
    n_tasks: int, n_rows: int, width: int, share: Tensor, device: torch.device, chance: random.Random, kind: str | None
) -> tuple[Tensor, Tensor]:
    """Columns are nodes of a random network; anomalies are a class that other nodes decide, or a shift inside."""
    kind = kind or chance.choice(NETWORK_KINDS)
    thinned, n_wanted = kind == "class" and chance.random() < THINNED, n_rows
    n_rows = n_rows * TIMES_AS_MANY if thinned else n_rows
    n_layers = chance.randint(1, 4)
    flags = torch.rand(n_tasks, n_rows, device=device) < share[:, None]
    hidden = _causes(n_tasks, n_rows, chance.choice(N_CAUSES), device, chance)
    shifted_at = chance.randint(0, n_layers - 1) if kind == "shift" else -1
    nodes = [hidden]
    size = chance.randint(max(6, width // 2), width + 12)
    for layer in range(n_layers):
        if layer == shifted_at:
            hidden = anomalies.shift(hidden, flags, chance)
        hidden = _layer(hidden, size, chance)
        nodes.append(hidden)
    every = torch.cat(nodes if chance.random() < 0.6 else nodes[-1:], -1)  # (B, n, nodes)
    if every.shape[-1] < width:
        more = torch.randn(n_tasks, n_rows, width - every.shape[-1], device=device)
        every = torch.cat([every, more], -1)
    every = _take(every, torch.rand(n_tasks, every.shape[-1], device=device).argsort(1))
    rows = every[..., :width]
    if kind == "class":
        by = rows if chance.random() < 0.85 else every  # decided by what is seen, or by what is not
        if thinned:
            return _thin_class(rows, by, share, n_wanted, chance)
        flags = anomalies.decided(by, share, chance)
    elif kind in anomalies.CHANGES:
        rows = anomalies.CHANGES[kind](rows, flags, chance)
    return rows, flags


def _causes(n_tasks: int, n_rows: int, width: int, device: torch.device, chance: random.Random) -> Tensor:
    """Independent causes (B, n, width), or causes in groups; at times heavy-tailed."""
    causes = torch.randn(n_tasks, n_rows, width, device=device)
    if chance.random() < 0.5:
        n_groups = chance.randint(2, 8)
        centres = torch.randn(n_tasks, n_groups, width, device=device) * chance.uniform(0.5, 3)
        weights = torch.rand(n_tasks, n_groups, device=device) ** chance.uniform(0.3, 3) + 0.02
        group = torch.multinomial(weights, n_rows, replacement=True)
        spread = 0.05 + chance.uniform(0.3, 1.2) * torch.rand(n_tasks, n_groups, width, device=device)
        at = group[..., None].expand(-1, -1, width)
        causes = centres.gather(1, at) + causes * spread.gather(1, at)
    elif chance.random() < 0.3:
        causes = torch.rand(n_tasks, n_rows, width, device=device) * 2 - 1
    if chance.random() < 0.25:
        heavy = torch.rand(n_tasks, n_rows, 1, device=device).clamp_min(0.03) ** -chance.uniform(0.1, 0.6)
        causes = causes * heavy
    return causes


def _layer(x: Tensor, size: int, chance: random.Random) -> Tensor:
    """One layer (B, n, size): weighted sums bent in several ways, or tables looked up by cuts of three inputs."""
    n_tasks, _, width = x.shape
    device = x.device
    x = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-4)
    if chance.random() < 0.25:
        out = _lookup(x, size)
    else:
        dense = torch.rand(n_tasks, 1, 1, device=device).clamp_min(1.5 / width)
        weights = torch.randn(n_tasks, width, size, device=device)
        weights = weights * (torch.rand_like(weights) < dense) / (width * dense).sqrt()
        strength = torch.exp(torch.rand(n_tasks, 1, 1, device=device) * 1.5 - 0.5)
        out = x @ weights * strength + torch.randn(n_tasks, 1, size, device=device) * chance.uniform(0, 1)
        out = torch.cat([bend(part) for part, bend in zip(out.chunk(3, -1), _bends(chance), strict=False)], -1)
    noise = torch.rand(n_tasks, 1, out.shape[-1], device=device) ** 3 * chance.uniform(0, 1)
    return out + noise * torch.randn_like(out)


def _bends(chance: random.Random) -> list[Callable[[Tensor], Tensor]]:
    return chance.choices(
        [
            torch.tanh,
            torch.relu,
            torch.sin,
            lambda x: x,
            lambda x: x,
            torch.abs,
            torch.nn.functional.silu,
            lambda x: x.sign() * (x.abs() + 1e-6).sqrt(),
            lambda x: (x > 0).float(),
            lambda x: torch.exp(-x.square()),
            lambda x: x.square().clamp_max(25),
            lambda x: (2 * x).round() / 2,
        ],
        k=3,
    )


def _lookup(x: Tensor, size: int) -> Tensor:
    n_tasks, _, width = x.shape
    device = x.device
    code = torch.zeros(*x.shape[:2], size, dtype=torch.long, device=device)
    for _ in range(3):
        inputs = torch.randint(0, width, (n_tasks, size), device=device)
        border = 0.8 * torch.randn(n_tasks, 1, size, device=device)
        code = 2 * code + (_take(x, inputs) > border).long()
    values = torch.randn(n_tasks, 8, size, device=device)
    return values.gather(1, code)


def _mixture(
    n_tasks: int, n_rows: int, width: int, share: Tensor, device: torch.device, chance: random.Random, kind: str | None
) -> tuple[Tensor, Tensor]:
    """Groups of rows; anomalies are rare groups of the same or another make, or rows that leave their group."""
    kind = kind or chance.choice(MIXTURE_KINDS)
    thinned, n_wanted = kind == "decided" and chance.random() < THINNED, n_rows
    n_rows = n_rows * TIMES_AS_MANY if thinned else n_rows
    n_normal = chance.randint(1, 2) if kind == "one class" else chance.randint(1, 10)
    n_odd = chance.randint(4, 12) if kind == "one class" else chance.randint(1, 4)
    flags = torch.rand(n_tasks, n_rows, device=device) < share[:, None]
    by_group = kind in ("class", "one class", "other")
    n_groups = n_normal + n_odd
    weights = torch.rand(n_tasks, n_groups, device=device) ** chance.uniform(0.3, 2) + 0.03
    normal, odd = weights.clone(), weights.clone()
    normal[:, n_normal:], odd[:, :n_normal] = 0, 0
    group = torch.multinomial(normal, n_rows, replacement=True)
    if by_group:
        group = torch.where(flags, torch.multinomial(odd, n_rows, replacement=True), group)
    centres = torch.randn(n_tasks, n_groups, width, device=device) * chance.uniform(0.3, 2.5)
    centres[:, n_normal:] *= chance.uniform(1.0, 1.8)  # odd groups lie further out than others, if anything
    matters = torch.rand(n_tasks, 1, width, device=device) < torch.rand(n_tasks, 1, 1, device=device).clamp_min(0.15)
    centres = torch.where(matters, centres, centres[:, :1])  # the others do not tell groups apart
    rank = max(1, round(width * chance.uniform(0.05, 0.7)))
    factors = torch.randn(n_tasks, n_rows, rank, device=device)
    noise = torch.randn(n_tasks, n_rows, width, device=device)
    if kind == "local":
        factor = 1.5 + 5 * torch.rand(n_tasks, 1, 1, device=device)
        factors = torch.where(flags[..., None], factors * factor, factors)
        noise = torch.where(flags[..., None], noise * factor ** chance.uniform(0, 1), noise)
    n_shapes = min(n_groups, chance.randint(1, 3))  # groups share a few covariances
    mixing = torch.randn(n_tasks, n_shapes, rank, width, device=device) / math.sqrt(rank) * chance.uniform(0.3, 1.2)
    shape_of = group % n_shapes
    spread = torch.zeros(n_tasks, n_rows, width, device=device)
    for shape in range(n_shapes):
        spread = spread + (shape_of == shape)[..., None] * (factors @ mixing[:, shape])
    sizes = torch.exp(0.7 * torch.randn(n_tasks, n_groups, 1, device=device))
    if kind == "other":
        sizes[:, n_normal:] *= chance.uniform(0.1, 3)
    at = group[..., None]
    rows = centres.gather(1, at.expand(-1, -1, width)) + sizes.gather(1, at) * (
        spread + chance.uniform(0.03, 0.5) * noise
    )
    if kind in anomalies.CHANGES:
        rows = anomalies.CHANGES[kind](rows, flags, chance)
    elif thinned:
        return _thin_class(rows, rows, share, n_wanted, chance)
    elif kind == "decided":
        flags = anomalies.decided(rows, share, chance)
    return rows, flags


def _thin_class(rows: Tensor, by: Tensor, share: Tensor, n_rows: int, chance: random.Random) -> tuple[Tensor, Tensor]:
    """A class that is common among rows (B, m, d), decided by other columns or the same, of which few are left."""
    if chance.random() < 0.5:
        is_odd = anomalies.one_class(by, chance)
    else:
        natural = share + (0.5 - share).clamp_min(0) * torch.rand_like(share)
        is_odd = anomalies.decided(by, natural, chance)
    return anomalies.thin(rows, is_odd, share, n_rows)


def _with_copies(rows: Tensor, is_anomaly: Tensor, chance: random.Random) -> tuple[Tensor, Tensor]:
    n_tasks, n_rows, width = rows.shape
    source = torch.randint(0, n_rows, (n_tasks, n_rows), device=rows.device)
    copied = torch.rand(n_tasks, n_rows, device=rows.device) < chance.uniform(0, 0.6)
    source = torch.where(copied, source, torch.arange(n_rows, device=rows.device))
    return rows.gather(1, source[..., None].expand(-1, -1, width)), is_anomaly.gather(1, source)


def _with_other_days(rows: Tensor, is_anomaly: Tensor) -> tuple[Tensor, Tensor]:
    """One column goes with no other: copies of a row differ in it, and are as usual as they were."""
    n_tasks, n_rows, width = rows.shape
    which = torch.randint(0, width, (n_tasks, 1, 1), device=rows.device).expand(-1, n_rows, 1)
    n_levels = (2 + 30 * torch.rand(n_tasks, 1, 1, device=rows.device)).floor()
    return rows.scatter(2, which, (n_levels * torch.rand_like(rows[..., :1])).floor()), is_anomaly


def _take(x: Tensor, which: Tensor) -> Tensor:
    """Columns `which` (B, k) of x (B, n, d)."""
    return x.gather(2, which[:, None].expand(-1, x.shape[1], -1))
