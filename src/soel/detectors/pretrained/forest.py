"""Random trees that cut a pool apart: how soon a row stands alone, and which rows stay together for long."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

N_TREES, DEPTH, SAMPLE_ROWS = 48, 8, 256
EULER = 0.5772156649


@dataclass(frozen=True)
class Forest:
    """Complete binary trees; node i has the children 2i+1 and 2i+2.

    columns, borders: (B, R, 2^DEPTH - 1) of the inner nodes. depths: (B, R, 2^(DEPTH + 1) - 1) expected depth at which
    a row that reaches a node stands alone; where a node holds one row or none, its own depth.
    """

    columns: Tensor
    borders: Tensor
    depths: Tensor

    @classmethod
    def grow(cls, pool: Tensor, random: torch.Generator) -> Forest:
        """From rows (B, N, d): each tree cuts a sample, at a random place of a random column in each node."""
        n_tasks, n_rows, width = pool.shape
        size = min(SAMPLE_ROWS, n_rows)
        device = pool.device
        shape = (n_tasks, N_TREES)
        chosen = torch.rand(*shape, n_rows, generator=random, device=device).argsort(-1)[..., :size]  # (B, R, M)
        at = torch.arange(n_tasks, device=device)[:, None, None]
        node = torch.zeros(*shape, size, dtype=torch.long, device=device)
        n_inner = 2**DEPTH - 1
        columns = torch.randint(0, width, (*shape, n_inner), generator=random, device=device)
        places = torch.rand(*shape, n_inner, generator=random, device=device)
        borders = torch.zeros(*shape, n_inner, device=device)
        for level in range(DEPTH):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            values = pool[at, chosen, columns.gather(2, node)]  # (B, R, M)
            local = node - nodes.start
            low = torch.full((*shape, 2**level), torch.inf, device=device).scatter_reduce(2, local, values, "amin")
            high = torch.full((*shape, 2**level), -torch.inf, device=device).scatter_reduce(2, local, values, "amax")
            filled = high >= low
            low, high = torch.where(filled, low, 0.0), torch.where(filled, high, 0.0)
            borders[..., nodes] = low + (high - low) * places[..., nodes]
            node = 2 * node + 1 + (values > borders.gather(2, node)).long()
        return cls(columns, borders, _depths(node, n_inner))

    def nodes(self, x: Tensor) -> Tensor:
        """Which node (B, R, n, DEPTH + 1) rows (B, n, d) reach at each depth."""
        n_tasks, n_rows, _ = x.shape
        at = torch.arange(n_tasks, device=x.device)[:, None, None]
        row = torch.arange(n_rows, device=x.device)
        node = torch.zeros(n_tasks, self.columns.shape[1], n_rows, dtype=torch.long, device=x.device)
        path = [node]
        for _ in range(DEPTH):
            values = x[at, row, self.columns.gather(2, node)]
            node = 2 * node + 1 + (values > self.borders.gather(2, node)).long()
            path.append(node)
        return torch.stack(path, -1)

    def isolation(self, nodes: Tensor) -> Tensor:
        """Mean depth (B, n) at which rows stand alone, from their nodes: less is more isolated."""
        return self.depths.gather(2, nodes[..., -1]).mean(1)


def _depths(leaves: Tensor, n_inner: int) -> Tensor:
    """Expected depths (B, R, nodes) of lone rows, from the leaf (B, R, M) of each row that the trees were grown on."""
    n_nodes = 2 * n_inner + 1
    counts = torch.zeros(*leaves.shape[:2], n_nodes, device=leaves.device)
    counts.scatter_add_(2, leaves, torch.ones_like(leaves, dtype=counts.dtype))
    for level in range(DEPTH - 1, -1, -1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        counts[..., first:last] = (
            counts[..., 2 * first + 1 : 2 * last + 1 : 2] + counts[..., 2 * first + 2 : 2 * last + 2 : 2]
        )
    depth = torch.arange(n_nodes, device=leaves.device).add(1).log2().floor()
    further = 2 * (counts.clamp_min(2) - 1).log() + 2 * EULER - 2 * (counts - 1) / counts.clamp_min(1)
    further = torch.where(counts > 2, further, (counts - 1).clamp_min(0))
    # a node of at most one row: the row stood alone where its parent still had company
    own = torch.where(counts > 1, depth + further, depth)
    for level in range(1, DEPTH + 1):
        nodes = torch.arange(2**level - 1, 2 ** (level + 1) - 1, device=leaves.device)
        parent = (nodes - 1) // 2
        lone = counts[..., parent] <= 1
        own[..., nodes] = torch.where(lone, own[..., parent], own[..., nodes])
    return own
