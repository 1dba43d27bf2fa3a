"""A pass of the network over a pool and other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from soel.detect.incontext.features import FAR, Described, Reference, pairwise_distances
from soel.detect.incontext.kit import Array, kit_of
from soel.detect.incontext.label_features import LabelTables, evidence, meta
from soel.detect.incontext.network import Network, Outputs, Part, Seen, attend, metric, remember, seen_places


@dataclass(frozen=True)
class Memory:
    """A pool that has been read with its labels: all that is needed to score other rows."""

    gates: Array  # (B, d, gates, c)
    weights: Array  # (B, h, d)
    meta: Array  # (B, N_META)
    layers: list[tuple[Array, Array]]  # keys and values of each
    tables: LabelTables


def see(network: Network, reference: Reference, rows: Described) -> Seen:
    """Stage one, of described rows."""
    kit = kit_of(rows.cells)
    parts = kit.in_blocks(lambda block: network.cells(rows.cells[:, block], reference.columns), rows.cells.shape[1])
    return Seen.joined(parts)


def add_rows(
    network: Network, reference: Reference, pool: Described, seen: Seen, rows: Array
) -> tuple[Described, Seen]:
    """A pool, described and seen, with further rows (B, n, d) after it. Those that were there stay as they are."""
    described = reference.describe(rows)
    more = network.cells(described.cells, reference.columns)
    longer = pool.followed_by(described)
    return measure_beyond(reference, longer, longer), Seen.joined([seen, more])


def measure_beyond(reference: Reference, pool: Described, rows: Described, hidden: Array | None = None) -> Described:
    """Described rows with their distances to those of the pool that the reference does not have, if there are any.

    hidden: (n, N) which rows of the pool each does not look at.
    """
    n_known = reference.z.shape[1]
    if pool.z.shape[1] == n_known:
        return rows
    kit = kit_of(rows.z)
    beyond = kit.stack(
        [pairwise_distances(rows.z, pool.z[:, n_known:]), pairwise_distances(rows.g, pool.g[:, n_known:])]
    )
    if hidden is not None:
        beyond = kit.where(hidden[:, n_known:], FAR, beyond)
    return replace(rows, distances=kit.concat([rows.distances, beyond], -1))


def read_pool(
    network: Network, reference: Reference, rows: Described, seen: Seen, labels: Array
) -> tuple[Memory, Outputs]:
    """Read a pool with its labels (B, N) of 1, 0 and -1. The first N rows are the pool; what follows only looks on."""
    kit = kit_of(rows.z)
    n_pool, n_rows = labels.shape[1], rows.z.shape[1]
    pool, about = rows.first(n_pool), meta(reference, labels)
    gates, log_weights = network.columns(seen.part(slice(0, n_pool)), reference.columns, labels, about)
    weights = metric(log_weights, reference.z, reference.g)
    own = network.places(rows.z, rows.g, weights)
    places = seen_places(own[:, :, :n_pool], labels)
    known = kit.concat([labels, kit.whole(kit.zeros(labels, len(labels), n_rows - n_pool)) - 1], 1)
    tables = LabelTables.count(pool, labels)
    by_labels = evidence(reference, pool, rows, labels, tables)

    def enter(block: slice) -> Array:
        said = (rows.scores[:, block], by_labels[:, block], about, known[:, block])
        return network.enter_rows(seen.part(block), gates, *said)

    x = kit.concat(kit.in_blocks(enter, n_rows), 1)
    layers = []
    for layer in network.layers:
        memory = _remember(layer, x[:, :n_pool], places)
        x = _hear(layer, x, own, memory)
        layers.append(memory)
    logits, chances = network.read(x)
    outputs = Outputs(logits, chances, x, network.share_of(x[:, :n_pool], about))
    return Memory(gates, weights, about, layers, tables), outputs


def _remember(layer: Part, pool: Array, places: Array) -> tuple[Array, Array]:
    kit = kit_of(pool)
    parts = kit.in_blocks(lambda block: remember(layer, pool[:, block], places[:, :, block]), pool.shape[1])
    keys = kit.lay_out_keys(kit.concat([keys for keys, _ in parts], 2))
    return keys, kit.concat([values for _, values in parts], 2)


def _hear(layer: Part, x: Array, own: Array, memory: tuple[Array, Array]) -> Array:
    kit = kit_of(x)
    parts = kit.in_blocks(lambda block: attend(layer, x[:, block], own[:, :, block], memory), x.shape[1])
    return kit.concat(parts, 1)


def read_rows(
    network: Network,
    reference: Reference,
    pool: Described,
    labels: Array,
    memory: Memory,
    rows: Described,
    seen: Seen,
    hidden: Array | None = None,
) -> Outputs:
    """Score other rows beside a pool that has been read. hidden: (n, N) which rows of it each does not look at."""
    own = network.places(rows.z, rows.g, memory.weights)
    by_labels = evidence(reference, pool, rows, labels, memory.tables)
    x = network.enter_rows(seen, memory.gates, rows.scores, by_labels, memory.meta, None)
    for part, layer in zip(network.layers, memory.layers, strict=True):
        x = attend(part, x, own, layer, hidden)
    logits, chances = network.read(x)
    return Outputs(logits, chances, x)
