"""Ways of being an anomaly: decided by a rule on the columns, or made of rows that were normal."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from torch import Tensor

RULES = ("sum",) * 3 + ("severity",) * 3 + ("box",) * 3 + ("product", "layer") * 2 + ("ball", "chosen levels")
MOST_CLASSES = 8


def decided(nodes: Tensor, share: Tensor, chance: random.Random) -> Tensor:
    """Rows (B, n) for which a random rule on nodes (B, n, k) says so: a minority class with a blurred border."""
    n_tasks, n_rows, n_nodes = nodes.shape
    device = nodes.device
    rule = chance.choice(RULES)
    few, many = rule in ("product", "chosen levels"), rule == "severity"
    how_many = min(chance.choice((1, 2) if few else (4, 8, 16, 32) if many else (1, 1, 2, 2, 3, 4, 6)), n_nodes)
    which = torch.rand(n_tasks, n_nodes, device=device).argsort(1)[:, :how_many]
    x = nodes.gather(2, which[:, None].expand(-1, n_rows, -1))
    x = x + 1e-4 * torch.randn_like(x)
    if rule in ("box", "chosen levels"):
        x = (x.argsort(1).argsort(1) + 0.5) / n_rows * 3.46 - 1.73  # ranks with variance one
    else:
        x = (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-4)
    if rule == "sum":
        score = (x * torch.randn(n_tasks, 1, how_many, device=device)).sum(-1)
    elif rule == "severity":  # many columns that rise and fall with the first say the same
        with_first = (x * x[..., :1]).mean(1, keepdim=True)
        score = (x * with_first.sign() * torch.rand(n_tasks, 1, how_many, device=device)).sum(-1)
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
    elif rule == "layer":  # a region with a bent border
        wide = torch.tanh(
            x @ torch.randn(n_tasks, how_many, 8, device=device) + torch.randn(n_tasks, 1, 8, device=device)
        )
        score = (wide * torch.randn(n_tasks, 1, 8, device=device)).sum(-1)
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
    if where < 0.74:
        return rank > 1 - share
    if where < 0.8:
        middle = torch.rand(len(score), 1, device=score.device) * (1 - share) + share / 2
        return (rank - middle).abs() < share / 2
    return (rank < share / 2) | (rank > 1 - share / 2)


def rare(rows: Tensor, share: Tensor, chance: random.Random) -> Tensor:
    """Rows (B, n) whose values in some columns of rows (B, n, d) few others have: rare levels, where there are any."""
    n_tasks, n_rows, width = rows.shape
    x = rows.transpose(1, 2).contiguous()  # (B, d, n)
    ordered = x.sort(-1).values
    alike = torch.searchsorted(ordered, x, right=True) - torch.searchsorted(ordered, x)  # (B, d, n)
    matters = torch.rand(n_tasks, width, 1, device=rows.device) < chance.uniform(0.2, 1)
    levels = (ordered[..., 1:] != ordered[..., :-1]).sum(-1, keepdim=True) < n_rows // 4
    rarity = -(alike / n_rows).log() * (matters & levels)
    score = rarity.sum(1) + chance.uniform(0.05, 0.7) * torch.randn(n_tasks, n_rows, device=rows.device)
    return (score.argsort(1).argsort(1) + 0.5) / n_rows > 1 - share[:, None]


def one_class(nodes: Tensor, chance: random.Random) -> Tensor:
    """Rows (B, n) that are not of the one class taken for normal, or of the one taken for odd, by nodes (B, n, k).

    Classes as people sort things: each row belongs where its weighted sum is the highest.
    """
    n_tasks, _, n_nodes = nodes.shape
    device = nodes.device
    n_classes = chance.randint(2, MOST_CLASSES)
    x = (nodes - nodes.mean(1, keepdim=True)) / (nodes.std(1, keepdim=True) + 1e-4)
    dense = torch.rand(n_tasks, 1, 1, device=device).clamp_min(1.5 / n_nodes)
    weights = torch.randn(n_tasks, n_nodes, n_classes, device=device)
    weights = weights * (torch.rand(n_tasks, n_nodes, 1, device=device) < dense)
    sums = x.clamp(-4, 4) @ weights
    if chance.random() < 0.5:
        sums = (
            sums.sin()
            if chance.random() < 0.3
            else torch.tanh(sums) @ torch.randn(n_tasks, n_classes, n_classes, device=device)
        )
    sums = sums / (sums.std((1, 2), keepdim=True) + 1e-4)
    blur = torch.rand(n_tasks, 1, 1, device=device) ** 2 * 0.6
    sums = sums + blur * torch.randn_like(sums) + 0.7 * torch.randn(n_tasks, 1, n_classes, device=device)
    its_class = sums.argmax(-1)  # (B, n)
    size = torch.nn.functional.one_hot(its_class, n_classes).float().mean(1)  # (B, classes)
    if chance.random() < 0.5:
        return its_class != size.argmax(1, keepdim=True)
    rare = torch.where(size > 0.02, size, 2.0).argsort(1)  # one of the two smallest that are no mere handful
    return its_class == rare[:, chance.randint(0, min(1, n_classes - 2))][:, None]


def thin(rows: Tensor, is_odd: Tensor, share: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    """n_rows of rows (B, m, d), with about that share (B,) of those that are odd (B, m), and which these are.

    So a class that was common becomes rare: its rows are few where they lie, as in pools where little went wrong.
    """
    noise = torch.rand(is_odd.shape, device=rows.device)
    odd, usual = ((noise + (~kind).float()).argsort(1) for kind in (is_odd, ~is_odd))
    wanted = torch.rand(len(rows), n_rows, device=rows.device) < share[:, None]
    at_odd, at_usual = (kind.long().cumsum(1).sub(1).clamp_min(0) for kind in (wanted, ~wanted))
    source = torch.where(wanted, odd.gather(1, at_odd), usual.gather(1, at_usual))
    return rows.gather(1, source[..., None].expand(-1, -1, rows.shape[2])), is_odd.gather(1, source)


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


def push(rows: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows pushed to one side, each as far as it is grave: some columns rise or fall together.

    Most real anomalies are of this kind: too much or too little of something, more than a rare company of values.
    """
    n_tasks, n_rows, width = rows.shape
    device = rows.device
    hit = torch.rand(n_tasks, 1, width, device=device) < torch.rand(n_tasks, 1, 1, device=device).clamp_min(1.2 / width)
    size = torch.randn(n_tasks, 1, width, device=device) * hit * (rows.std(1, keepdim=True) + 1e-4)
    grave = torch.exp(chance.uniform(0.1, 0.8) * torch.randn(n_tasks, n_rows, 1, device=device))
    strength = torch.exp(2.6 * torch.rand(n_tasks, 1, 1, device=device) - 0.7)
    calm = chance.uniform(0.5, 1.0) if chance.random() < 0.3 else 1.0  # of what else tells such rows apart
    centre = rows.mean(1, keepdim=True)
    moved = centre + calm * (rows - centre) + strength * grave * size
    return torch.where(flags[..., None], moved, rows)


def crowd(rows: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows crowd around a few places, alike in most columns: what is repeated, not what is alone."""
    n_tasks, n_rows, width = rows.shape
    device = rows.device
    n_places = chance.randint(1, 3)
    which = torch.randint(0, n_places, (n_tasks, n_rows, 1), device=device).expand(-1, -1, width)
    places = rows[:, :n_places] + chance.uniform(0, 1.5) * rows.std(1, keepdim=True) * torch.randn(
        n_tasks, n_places, width, device=device
    )
    near = chance.choice((0.0, 0.05, 0.2, 0.4)) * rows.std(1, keepdim=True) * torch.randn_like(rows)
    alike = torch.rand(n_tasks, 1, width, device=device) < chance.uniform(0.4, 1)
    return torch.where(flags[..., None] & alike, places.gather(1, which) + near, rows)


def break_dependence(rows: Tensor, flags: Tensor, chance: random.Random) -> Tensor:
    """Flagged rows with some columns taken from other rows: each value is usual, their company is not."""
    other = rows.gather(1, torch.rand_like(rows).argsort(1))
    other = other + 0.03 * rows.std(1, keepdim=True) * torch.randn_like(rows)  # or equal values would give them away
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


CHANGES: dict[str, Callable[[Tensor, Tensor, random.Random], Tensor]] = {
    "push": push,
    "crowd": crowd,
    "break": break_dependence,
    "global": scatter,
    "fault": fault,
}
