"""A network that reads a pool with a few labels and says of rows how likely they are anomalies.

Stage one needs no label: cells become vectors that know their column, and the columns of a row attend to one another.
Stage two is done anew after every answer: from the labels each column gets a weight in the space where rows are
compared, and a gate on its cells; then rows attend to the pool's rows, near ones and labelled ones more.
Neither the order of the columns nor that of the rows plays a part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from soel.detectors.pretrained.evidence import N_EVIDENCE, N_META
from soel.detectors.pretrained.reference import N_CELL, N_COLUMN, N_SCORES

N_SHARE_BINS = 24
PLACE_WIDTHS = (12, 28, 60)  # on a GPU: attention is planned anew for every width, and wants multiples of eight
MOST_AT_ONCE = 60_000  # rows whose cells attend to one another in one call: a GPU takes 65,535
LOWEST_SHARE, HIGHEST_SHARE = 0.002, 0.5  # of the bins, equally wide in log odds


@dataclass(frozen=True)
class Shape:
    """The sizes of a network."""

    width: int = 256
    n_heads: int = 8
    n_layers: int = 6
    cell_width: int = 64
    n_cell_layers: int = 1
    n_gates: int = 4


@dataclass(frozen=True)
class Seen:
    """What stage one made of rows: vectors of cells (B, n, d, c) and of rows (B, n, c)."""

    cells: Tensor
    rows: Tensor


@dataclass(frozen=True)
class Outputs:
    """What the network says of n rows, and of each pool."""

    logits: Tensor  # (B, n) for ranking: the two kinds of row weighed nearly alike
    chances: Tensor  # (B, n) log odds of being an anomaly
    states: Tensor  # (B, n, w)
    shares: Tensor | None = None  # (B, N_SHARE_BINS) logits of the pool's share of anomalies, where a pool was read


class CellBlock(nn.Module):
    """The columns of one row attend to one another."""

    def __init__(self, width: int, n_heads: int = 4) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(R, d, c) to the same."""
        n_rows, n_columns, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(n_rows, n_columns, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n_rows, n_columns, width)
        x = x + self.out(mixed)
        out: Tensor = x + self.narrow(F.gelu(self.wide(self.norm(x))))
        return out


class Cells(nn.Module):
    """Stage one."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.cell_width
        self.of_cell, self.of_column = nn.Linear(N_CELL, width), nn.Linear(N_COLUMN, width)
        self.mix = nn.Linear(width, width)
        self.blocks = nn.ModuleList(CellBlock(width) for _ in range(shape.n_cell_layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.gather = nn.Linear(width, 2 * width)

    def forward(self, cells: Tensor, columns: Tensor) -> Seen:
        """From what is said of cells (B, n, d, N_CELL) and columns (B, d, N_COLUMN)."""
        kind = self.mix.weight.dtype
        x = self.mix(F.gelu(self.of_cell(cells.to(kind)) + self.of_column(columns.to(kind))[:, None]))  # (B, n, d, c)
        shape = x.shape
        x = x.flatten(0, 1)
        for block in self.blocks:
            x = torch.cat([block(part) for part in x.split(MOST_AT_ONCE)]) if len(x) > MOST_AT_ONCE else block(x)
        x = self.norm(x)
        value, weight = self.gather(x).chunk(2, -1)
        rows = (value * weight.softmax(1)).sum(1)  # each channel looks where it wants to
        return Seen(x.view(shape), rows.view(*shape[:2], -1))


class Columns(nn.Module):
    """What the labels say of each column: gates on its cells, and its weight where rows are compared."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.cell_width
        self.shape = shape
        self.enter = nn.Linear(3 * width + N_COLUMN + N_META, 2 * width)
        self.mix = nn.Linear(2 * width, width)
        self.block = CellBlock(width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.gates = nn.Linear(width, shape.n_gates * width)
        self.weights = nn.Linear(width, shape.n_heads)
        nn.init.normal_(self.weights.weight, std=0.02)
        nn.init.zeros_(self.weights.bias)

    def forward(self, seen: Seen, columns: Tensor, labels: Tensor, meta: Tensor) -> tuple[Tensor, Tensor]:
        """Gates (B, d, gates, c) and log weights (B, heads, d) from the pool's cells and labels (B, N)."""
        groups = torch.stack([labels == 1, labels == 0, torch.ones_like(labels, dtype=torch.bool)], 1)
        share = (groups / groups.sum(-1, keepdim=True).clamp_min(1)).to(seen.cells.dtype)  # (B, 3, N)
        n_tasks, _, n_columns, _ = seen.cells.shape
        means = (share @ seen.cells.flatten(2)).view(n_tasks, 3, n_columns, -1)  # (B, 3, d, c)
        differences = torch.cat([means[:, 0] - means[:, 2], means[:, 1] - means[:, 2], means[:, 2]], -1)
        about = torch.cat([columns, meta[:, None].expand(-1, n_columns, -1)], -1).to(differences.dtype)
        x = self.norm(self.block(self.mix(F.gelu(self.enter(torch.cat([differences, about], -1))))))
        gates = self.gates(x).view(n_tasks, n_columns, self.shape.n_gates, -1)
        return gates, self.weights(x).transpose(1, 2)


class Block(nn.Module):
    """Rows attend to the pool's rows."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.n_heads = shape.width, shape.n_heads
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.query, self.key_value, self.out = (
            nn.Linear(width, width),
            nn.Linear(width, 2 * width),
            nn.Linear(width, width),
        )
        self.look = nn.Linear(width, 3 * shape.n_heads)  # how narrowly, how much for labels, how much for anomalies
        self.wide, self.narrow = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        with torch.no_grad():
            self.look.weight.mul_(0.1)
            half = self.n_heads // 2
            self.look.bias.copy_(torch.cat([
                torch.linspace(-1.0, 3.0, half).repeat(2),
                torch.tensor([0.0, 4.0]).repeat_interleave(half),
                torch.zeros(self.n_heads),
            ]))  # fmt: skip

    def remember(self, pool: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (B, h, N, e) and values (B, h, N, w / h) of pool rows (B, N, w), seen at places (B, h, N, p + 4)."""
        n_tasks, n_pool, _ = pool.shape
        k, v = self.key_value(self.norm(pool)).view(n_tasks, n_pool, 2, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        return torch.cat([k, places.to(k.dtype)], -1), v

    def forward(self, x: Tensor, own: Tensor, memory: tuple[Tensor, Tensor], hidden: Tensor | None = None) -> Tensor:
        """Rows (B, n, w) at their places (B, h, n, p). hidden: (n, N) which rows of the pool they do not attend to."""
        n_tasks, n_rows, width = x.shape
        y = self.norm(x)
        q = self.query(y).view(n_tasks, n_rows, self.n_heads, -1).transpose(1, 2)  # (B, h, n, w/h)
        look = self.look(y).view(n_tasks, n_rows, 3, self.n_heads).permute(2, 0, 3, 1)[..., None]  # (3, B, h, n, 1)
        narrow = look[0].clamp(-6, 6).exp()
        q = torch.cat([q / math.sqrt(q.shape[-1]), narrow * own.to(q.dtype), narrow, narrow, look[1], look[2]], -1)
        keys, values = memory
        padded = F.pad(values, (0, keys.shape[-1] - values.shape[-1]))  # fused attention wants them as wide as keys
        shown = None if hidden is None else ~hidden
        mixed = F.scaled_dot_product_attention(q.to(keys.dtype), keys, padded, attn_mask=shown, scale=1.0)
        mixed = mixed[..., : values.shape[-1]].transpose(1, 2).reshape(n_tasks, n_rows, width)
        x = x + self.out(mixed)
        out: Tensor = x + self.narrow(F.gelu(self.wide(self.norm(x))))
        return out


class Network(nn.Module):
    """Both stages, and what comes out."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, width, cell = shape, shape.width, shape.cell_width
        self.cells, self.columns = Cells(shape), Columns(shape)
        self.enter = nn.Linear(cell + shape.n_gates * cell + N_SCORES + N_EVIDENCE + N_META, 2 * width)
        self.mix = nn.Linear(2 * width, width)
        self.label = nn.Linear(2, width, bias=False)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.n_layers))
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.wide, self.narrow = nn.Linear(width, width), nn.Linear(width, 2)
        self.share = nn.Sequential(nn.Linear(width + N_META, width), nn.GELU(), nn.Linear(width, N_SHARE_BINS))

    def layers(self) -> list[Block]:
        """The blocks, in order."""
        return [block for block in self.blocks if isinstance(block, Block)]

    def enter_rows(
        self, seen: Seen, gates: Tensor, scores: Tensor, evidence: Tensor, meta: Tensor, labels: Tensor | None
    ) -> Tensor:
        """Rows (B, n, w) as the blocks take them; labels (B, n) only for the pool's own."""
        _, n_rows, n_columns, _ = seen.cells.shape
        gates = gates.to(seen.cells.dtype) / math.sqrt(n_columns)
        gated = torch.einsum("bndc,bdgc->bngc", seen.cells, gates).flatten(2)
        about = torch.cat([scores, evidence, meta[:, None].expand(-1, n_rows, -1)], -1).to(gated.dtype)
        x: Tensor = self.mix(F.gelu(self.enter(torch.cat([seen.rows.to(gated.dtype), gated, about], -1))))
        if labels is not None:
            x = x + self.label(torch.stack([labels == 0, labels == 1], -1).to(x.dtype))
        return x

    def places(self, z: Tensor, g: Tensor, weights: Tensor) -> Tensor:
        """Coordinates (B, h, n, p) of rows: half of the heads go by value, half by rank."""
        half = self.shape.n_heads // 2
        weights = weights.float()
        own = torch.cat([weights[:, :half, None] * z[:, None], weights[:, half:, None] * g[:, None]], 1)
        if not own.is_cuda:
            return own
        fits = next((size for size in PLACE_WIDTHS if own.shape[-1] <= size), own.shape[-1] + (4 - own.shape[-1]) % 8)
        return F.pad(own, (0, fits - own.shape[-1]))

    def read(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and chances (B, n) from the last states."""
        out = self.narrow(F.gelu(self.wide(self.norm(states)))).float()
        return out[..., 0], out[..., 1]

    def share_of(self, states: Tensor, meta: Tensor) -> Tensor:
        """Logits (B, N_SHARE_BINS) from the pool's last states (B, N, w)."""
        middle = self.norm(states).mean(1)
        shares: Tensor = self.share(torch.cat([middle, meta.to(middle.dtype)], -1)).float()
        return shares


def metric(log_weights: Tensor, z: Tensor, g: Tensor) -> Tensor:
    """Weights (B, h, d) of the columns such that two rows of the pool are one apart on average, in squares."""
    weights = log_weights.float().clamp(-6, 6).exp()
    half = weights.shape[1] // 2
    variance = torch.stack([z.var(1), g.var(1)], 1).repeat_interleave(half, 1)  # (B, h, d)
    return weights / (2 * weights.square() * variance).sum(-1, keepdim=True).add(1e-6).sqrt()


def seen_places(own: Tensor, labels: Tensor) -> Tensor:
    """What the pool's rows at places (B, h, N, p) bring along for those that look: (B, h, N, p + 4).

    -|a - b|² is 2ab - b² but for a part that all rows looked at share. b² comes in two parts, so that it stays exact
    in half precision. The last two: whether the row is labelled, and whether as an anomaly.
    """
    squares = own.square().sum(-1, keepdim=True)
    rough = squares.to(torch.bfloat16).to(squares.dtype)
    known = torch.stack([labels >= 0, labels == 1], -1).to(own.dtype)[:, None].expand(-1, own.shape[1], -1, -1)
    return torch.cat([2 * own, -rough, rough - squares, known], -1)
