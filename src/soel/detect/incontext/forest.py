"""Random trees that cut a pool apart: how soon a row stands alone, and which rows stay together for long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.detect.incontext.ops import Array, ops_of

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

        random: a `RandomState` for numpy's rows, a generator of torch for tensors.
        """
        ops = ops_of(pool)
        n_tasks, n_rows, width = pool.shape
        size = min(SAMPLE_ROWS, n_rows)
        shape = (n_tasks, N_TREES)
        chosen = ops.uniform(random, pool, *shape, n_rows).argsort(-1)[..., :size]  # (B, R, M)
        n_inner = 2**DEPTH - 1
        columns = ops.integers(random, pool, width, *shape, n_inner)
        places = ops.uniform(random, pool, *shape, n_inner)
        borders = ops.zeros(pool, *shape, n_inner)
        node = ops.whole(ops.zeros(pool, *shape, size))
        for level in range(DEPTH):
            nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
            values = ops.take_cells(pool, chosen, ops.gather(columns, node))  # (B, R, M)
            low, high = ops.extremes(node - nodes.start, values, 2**level)
            filled = high >= low
            low, high = ops.where(filled, low, 0.0), ops.where(filled, high, 0.0)
            borders[..., nodes] = low + (high - low) * places[..., nodes]
            node = 2 * node + 1 + ops.whole(values > ops.gather(borders, node))
        return cls(columns, borders, _depths(node, n_inner))

    def nodes(self, x: Array) -> Array:
        """Which node (B, R, n, DEPTH + 1) rows (B, n, d) reach at each depth."""
        ops = ops_of(x)
        rows = ops.arange(x.shape[1], x)
        node = ops.whole(ops.zeros(x, len(x), self.columns.shape[1], x.shape[1]))
        path = [node]
        for _ in range(DEPTH):
            values = ops.take_cells(x, rows, ops.gather(self.columns, node))
            node = 2 * node + 1 + ops.whole(values > ops.gather(self.borders, node))
            path.append(node)
        return ops.stack(path, -1)

    def isolation(self, nodes: Array) -> Array:
        """Mean depth (B, n) at which rows stand alone, from their nodes: less is more isolated."""
        return ops_of(nodes).gather(self.depths, nodes[..., -1]).mean(1)


def _depths(leaves: Array, n_inner: int) -> Array:
    """Expected depths (B, R, nodes) of lone rows, from the leaf (B, R, M) of each row that the trees were grown on."""
    ops = ops_of(leaves)
    n_nodes = 2 * n_inner + 1
    counts = ops.tally(leaves, ops.floats(leaves >= 0), n_nodes)
    for level in range(DEPTH - 1, -1, -1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        counts[..., first:last] = (
            counts[..., 2 * first + 1 : 2 * last + 1 : 2] + counts[..., 2 * first + 2 : 2 * last + 2 : 2]
        )
    depth = ops.array(np.floor(np.log2(np.arange(1, n_nodes + 1))).astype(np.float32), leaves)
    further = 2 * ops.log(counts.clip(min=2) - 1) + 2 * EULER - 2 * (counts - 1) / counts.clip(min=1)
    further = ops.where(counts > 2, further, (counts - 1).clip(min=0))
    # a node of at most one row: the row stood alone where its parent still held others
    own = ops.where(counts > 1, depth + further, depth)
    for level in range(1, DEPTH + 1):
        first, last = 2**level - 1, 2 ** (level + 1) - 1
        nodes = ops.arange(last, leaves)[first:]
        parent = (nodes - 1) // 2
        own[..., first:last] = ops.where(counts[..., parent] <= 1, own[..., parent], own[..., first:last])
    return own
