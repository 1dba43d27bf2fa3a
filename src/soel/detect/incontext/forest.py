"""Random trees that cut a pool apart: how soon a row stands alone, and which rows stay together for long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.detect.incontext.kit import Array, kit_of

N_TREES, DEPTH, SAMPLE_ROWS = 48, 8, 256
EULER = 0.5772156649


@dataclass(frozen=True)
class Forest:
    """Complete binary trees; node i has the children 2i+1 and 2i+2.

    columns, borders: (B, R, 2^DEPTH - 1) of the inner nodes. depths: (B, R, 2^(DEPTH + 1) - 1) expected depth at which
    a row that reaches a node stands alone; where a node holds one row or none, its own depth.
    """

    columns: Array
    borders: Array
    depths: Array

    @classmethod
    def grow(cls, pool: Array, random: Array) -> Forest:
        """From rows (B, N, d): each tree cuts a sample, at a random place of a random column in each node.

        random: `arrays.Chance` for numpy's rows, a generator of torch for tensors.
        """
        kit = kit_of(pool)
        n_tasks, n_rows, width = pool.shape
        size = min(SAMPLE_ROWS, n_rows)
        shape = (n_tasks, N_TREES)
        chosen = kit.uniform(random, pool, *shape, n_rows).argsort(-1)[..., :size]  # (B, R, M)
        n_inner = 2**DEPTH - 1
        columns = kit.integers(random, pool, width, *shape, n_inner)
        places = kit.uniform(random, pool, *shape, n_inner)
        borders = kit.zeros(pool, *shape, n_inner)
        node = kit.whole(kit.zeros(pool, *shape, size))
        for level in range(DEPTH):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            values = kit.look_up(pool, chosen, kit.gather(columns, node))  # (B, R, M)
            low, high = kit.extremes(node - nodes.start, values, 2**level)
            filled = high >= low
            low, high = kit.where(filled, low, 0.0), kit.where(filled, high, 0.0)
            borders[..., nodes] = low + (high - low) * places[..., nodes]
            node = 2 * node + 1 + kit.whole(values > kit.gather(borders, node))
        return cls(columns, borders, _depths(node, n_inner))

    def nodes(self, x: Array) -> Array:
        """Which node (B, R, n, DEPTH + 1) rows (B, n, d) reach at each depth."""
        kit = kit_of(x)
        rows = kit.arange(x.shape[1], x)
        node = kit.whole(kit.zeros(x, len(x), self.columns.shape[1], x.shape[1]))
        path = [node]
        for _ in range(DEPTH):
            values = kit.look_up(x, rows, kit.gather(self.columns, node))
            node = 2 * node + 1 + kit.whole(values > kit.gather(self.borders, node))
            path.append(node)
        return kit.stack(path, -1)

    def isolation(self, nodes: Array) -> Array:
        """Mean depth (B, n) at which rows stand alone, from their nodes: less is more isolated."""
        return kit_of(nodes).gather(self.depths, nodes[..., -1]).mean(1)


def _depths(leaves: Array, n_inner: int) -> Array:
    """Expected depths (B, R, nodes) of lone rows, from the leaf (B, R, M) of each row that the trees were grown on."""
    kit = kit_of(leaves)
    n_nodes = 2 * n_inner + 1
    counts = kit.tally(leaves, kit.floats(leaves >= 0), n_nodes)
    for level in range(DEPTH - 1, -1, -1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        counts[..., first:last] = (
            counts[..., 2 * first + 1 : 2 * last + 1 : 2] + counts[..., 2 * first + 2 : 2 * last + 2 : 2]
        )
    depth = kit.array(np.floor(np.log2(np.arange(1, n_nodes + 1))).astype(np.float32), leaves)
    further = 2 * kit.log(counts.clip(min=2) - 1) + 2 * EULER - 2 * (counts - 1) / counts.clip(min=1)
    further = kit.where(counts > 2, further, (counts - 1).clip(min=0))
    # a node of at most one row: the row stood alone where its parent still had company
    own = kit.where(counts > 1, depth + further, depth)
    for level in range(1, DEPTH + 1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        nodes = kit.arange(last, leaves)[first:]
        parent = (nodes - 1) // 2
        own[..., first:last] = kit.where(counts[..., parent] <= 1, own[..., parent], own[..., first:last])
    return own
