"""A pass of the network over a pool and other rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from soel.detectors.pretrained.evidence import evidence, meta
from soel.detectors.pretrained.network import Network, Outputs, Seen, metric, seen_places
from soel.detectors.pretrained.reference import Described, Reference


@dataclass(frozen=True)
class Memory:
    """A pool that has been read with its labels: all that is needed to score other rows."""

    gates: Tensor  # (B, d, gates, c)
    weights: Tensor  # (B, h, d)
    meta: Tensor  # (B, N_META)
    layers: list[tuple[Tensor, Tensor]]  # keys and values of each


def read_pool(
    network: Network, reference: Reference, rows: Described, seen: Seen, labels: Tensor
) -> tuple[Memory, Outputs]:
    """Read a pool with its labels (B, N) of 1, 0 and -1. The first N rows are the pool; what follows only looks on."""
    n_pool = labels.shape[1]
    pool, about = rows.first(n_pool), meta(reference, labels)
    own_cells = Seen(seen.cells[:, :n_pool], seen.rows[:, :n_pool])
    gates, log_weights = network.columns(own_cells, reference.columns, labels, about)
    weights = metric(log_weights, reference.z, reference.g)
    own = network.places(rows.z, rows.g, weights)
    places = seen_places(own[:, :, :n_pool], labels)
    padded = F.pad(labels, (0, rows.z.shape[1] - n_pool), value=-1)
    x = network.enter_rows(seen, gates, rows.scores, evidence(reference, pool, rows, labels), about, padded)
    layers = []
    for block in network.layers():
        layers.append(block.remember(x[:, :n_pool], places))
        x = block(x, own, layers[-1])
    logits, chances = network.read(x)
    return Memory(gates, weights, about, layers), Outputs(logits, chances, x, network.share_of(x[:, :n_pool], about))


def read_rows(
    network: Network,
    reference: Reference,
    pool: Described,
    labels: Tensor,
    memory: Memory,
    rows: Described,
    seen: Seen,
    hidden: Tensor | None = None,
) -> Outputs:
    """Score other rows beside a pool that has been read. hidden: (n, N) which rows of it each does not look at."""
    own = network.places(rows.z, rows.g, memory.weights)
    by_labels = evidence(reference, pool, rows, labels)
    x = network.enter_rows(seen, memory.gates, rows.scores, by_labels, memory.meta, None)
    for block, layer in zip(network.layers(), memory.layers, strict=True):
        x = block(x, own, layer, hidden)
    logits, chances = network.read(x)
    return Outputs(logits, chances, x)
