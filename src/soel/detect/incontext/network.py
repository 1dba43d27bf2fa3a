"""A network that reads a pool with a few labels and says of rows how likely they are anomalies.

Stage one needs no label: cells become vectors that know their column, and the columns of a row attend to one another.
Stage two is done anew after every answer: from the labels each column gets a weight in the space where rows are
compared, and a gate on its cells; then rows attend to the pool's rows, near ones and labelled ones more.
Neither the order of the columns nor that of the rows plays a part.

It is written over arrays of either kind (`kit`); what holds the parameters in training is `pretraining.module`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soel.detect.incontext.kit import Array, kit_of

N_SHARE_BINS = 24
PLACE_WIDTHS = (12, 28, 60)  # on a GPU: attention is planned anew for every width, and wants multiples of eight
LOWEST_SHARE, HIGHEST_SHARE = 0.002, 0.5  # of the bins, equally wide in log odds
CELL_HEADS = 4


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

    cells: Array
    rows: Array

    def part(self, rows: slice) -> Seen:
        """Some of the rows."""
        return Seen(self.cells[:, rows], self.rows[:, rows])

    @classmethod
    def joined(cls, parts: Sequence[Seen]) -> Seen:
        """Of rows that were looked at in parts."""
        if len(parts) == 1:
            return parts[0]
        concat = kit_of(parts[0].rows).concat
        return cls(concat([part.cells for part in parts], 1), concat([part.rows for part in parts], 1))


@dataclass(frozen=True)
class Outputs:
    """What the network says of n rows, and of each pool."""

    logits: Array  # (B, n) for ranking: the two kinds of row weighed nearly alike
    chances: Array  # (B, n) log odds of being an anomaly
    states: Array  # (B, n, w)
    shares: Array | None = None  # (B, N_SHARE_BINS) logits of the pool's share of anomalies, where a pool was read

    def rank_by(self, any_label: bool) -> Array:
        """What rows (B, n) are ranked by.

        With labels the first head ranks all rows well and the second those on top, so both count. Without any the
        second is the better one on every collection of tables, for all rows and for the top (benchmarks/choices.md).
        """
        return 0.5 * (self.logits + self.chances) if any_label else self.chances

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        """Of rows that were looked at in parts."""
        if len(parts) == 1:
            return parts[0]
        concat = kit_of(parts[0].logits).concat
        return cls(*(concat([getattr(part, name) for part in parts], 1) for name in ("logits", "chances", "states")))


@dataclass(frozen=True)
class Part:
    """Parameters by name, those of one part of the network."""

    weights: Mapping[str, Array]
    name: str = ""

    def __getitem__(self, name: str) -> Part:
        return Part(self.weights, f"{self.name}{name}.")

    def __call__(self, x: Array) -> Array:
        """A linear layer."""
        bias = self.weights.get(self.name + "bias")
        return kit_of(x).linear(x, self.weights[self.name + "weight"], bias)


def mix_columns(part: Part, x: Array) -> Array:
    """The columns of each row attend to one another: (R, d, c) to the same."""
    kit = kit_of(x)
    n_rows, n_columns, width = x.shape
    three = part["qkv"](kit.normalise(x)).reshape(n_rows, n_columns, 3, CELL_HEADS, -1)
    q, k, v = (three[:, :, number].swapaxes(1, 2) for number in range(3))
    x = x + part["out"](kit.mix_cells(q, k, v).swapaxes(1, 2).reshape(n_rows, n_columns, width))
    return x + part["narrow"](kit.gelu(part["wide"](kit.normalise(x))))


def remember(part: Part, pool: Array, places: Array) -> tuple[Array, Array]:
    """Keys (B, h, N, e) and values of pool rows (B, N, w), seen at places (B, h, N, p + 4)."""
    kit = kit_of(pool)
    n_tasks, n_pool, _ = pool.shape
    both = part["key_value"](kit.normalise(pool)).reshape(n_tasks, n_pool, 2, places.shape[1], -1)
    k, v = (both[:, :, number].swapaxes(1, 2) for number in range(2))
    keys = kit.concat([k, kit.as_precise(places, k)], -1)
    return keys, kit.ready(keys, v)


def attend(part: Part, x: Array, own: Array, memory: tuple[Array, Array], hidden: Array | None = None) -> Array:
    """Rows (B, n, w) at their places (B, h, n, p) attend to the pool's. hidden: (n, N) what they do not see."""
    kit = kit_of(x)
    n_tasks, n_rows, width = x.shape
    n_heads = own.shape[1]
    y = kit.normalise(x)
    q = part["query"](y).reshape(n_tasks, n_rows, n_heads, -1).swapaxes(1, 2) / math.sqrt(width // n_heads)
    look = part["look"](y).reshape(n_tasks, n_rows, 3, n_heads).swapaxes(1, 3)[..., None]  # (B, h, 3, n, 1)
    narrow = kit.exp(look[:, :, 0].clip(-6, 6))  # how narrowly; then how much for labels, how much for anomalies
    q = kit.concat([q, narrow * kit.as_precise(own, q), narrow, narrow, look[:, :, 1], look[:, :, 2]], -1)
    mixed = kit.attend(q, *memory, width // n_heads, hidden).reshape(n_tasks, n_rows, width)
    x = x + part["out"](mixed)
    return x + part["narrow"](kit.gelu(part["wide"](kit.normalise(x))))


@dataclass(frozen=True)
class Network:
    """Both stages, and what comes out."""

    shape: Shape
    weights: Mapping[str, Array]

    @property
    def layers(self) -> list[Part]:
        """Those in which rows attend to the pool, in order."""
        return [self._part[f"blocks.{layer}"] for layer in range(self.shape.n_layers)]

    @property
    def _part(self) -> Part:
        return Part(self.weights)

    def cells(self, cells: Array, columns: Array) -> Seen:
        """Stage one, from what is said of cells (B, n, d, N_CELL) and columns (B, d, N_COLUMN)."""
        parts = kit_of(cells).in_parts(lambda rows: self._see(cells[:, rows], columns), *cells.shape[1:3])
        return Seen.joined(parts)

    def _see(self, cells: Array, columns: Array) -> Seen:
        kit, part = kit_of(cells), self._part["cells"]
        kind = self.weights["cells.mix.weight"]
        entered = (
            part["of_cell"](kit.as_precise(cells, kind)) + part["of_column"](kit.as_precise(columns, kind))[:, None]
        )
        x = part["mix"](kit.gelu(entered))  # (B, n, d, c)
        shape = x.shape
        x = x.reshape(-1, *shape[2:])
        for layer in range(self.shape.n_cell_layers):
            x = mix_columns(part[f"blocks.{layer}"], x)
        x = kit.normalise(x)
        both, width = part["gather"](x), shape[-1]
        rows = (both[..., :width] * kit.softmax(both[..., width:], 1)).sum(1)  # each channel looks where it wants to
        return Seen(x.reshape(shape), rows.reshape(*shape[:2], -1))

    def columns(self, seen: Seen, columns: Array, labels: Array, meta: Array) -> tuple[Array, Array]:
        """What the labels (B, N) say of each column: gates (B, d, gates, c) on its cells, log weights (B, heads, d)."""
        kit, part = kit_of(columns), self._part["columns"]
        groups = kit.stack([kit.floats(labels == 1), kit.floats(labels == 0), kit.floats(labels > -2)], 1)
        share = kit.as_precise(groups / groups.sum(-1, keepdims=True).clip(min=1), seen.cells)  # (B, 3, N)
        n_tasks, n_pool, n_columns, width = seen.cells.shape
        means = (share @ seen.cells.reshape(n_tasks, n_pool, -1)).reshape(n_tasks, 3, n_columns, width)
        about = kit.concat([columns, kit.zeros(columns, n_tasks, n_columns, 1) + meta[:, None]], -1)
        heard = [means[:, 0] - means[:, 2], means[:, 1] - means[:, 2], means[:, 2], kit.as_precise(about, means)]
        x = mix_columns(part["block"], part["mix"](kit.gelu(part["enter"](kit.concat(heard, -1)))))
        x = kit.normalise(x)
        gates = part["gates"](x).reshape(n_tasks, n_columns, self.shape.n_gates, -1)
        return gates, part["weights"](x).swapaxes(1, 2)

    def enter_rows(
        self, seen: Seen, gates: Array, scores: Array, evidence: Array, meta: Array, labels: Array | None
    ) -> Array:
        """Rows (B, n, w) as the layers take them; labels (B, n) only for the pool's own."""
        kit, part = kit_of(seen.rows), self._part
        n_tasks, n_rows, n_columns, _ = seen.cells.shape
        gated = kit.gate(seen.cells, kit.as_precise(gates, seen.cells) / math.sqrt(n_columns))
        about = kit.concat([scores, evidence, kit.zeros(scores, n_tasks, n_rows, 1) + meta[:, None]], -1)
        entered = [kit.as_precise(seen.rows, gated), gated.reshape(n_tasks, n_rows, -1), kit.as_precise(about, gated)]
        x = part["mix"](kit.gelu(part["enter"](kit.concat(entered, -1))))
        if labels is not None:
            x = x + part["label"](kit.as_precise(kit.stack([kit.floats(labels == 0), kit.floats(labels == 1)], -1), x))
        return x

    def places(self, z: Array, g: Array, weights: Array) -> Array:
        """Coordinates (B, h, n, p) of rows: half of the heads go by value, half by rank."""
        kit, half = kit_of(z), self.shape.n_heads // 2
        weights = kit.floats(weights)
        own = kit.concat([weights[:, :half, None] * z[:, None], weights[:, half:, None] * g[:, None]], 1)
        return kit.widen(own, PLACE_WIDTHS)

    def read(self, states: Array) -> tuple[Array, Array]:
        """Logits and chances (B, n) from the last states."""
        kit, part = kit_of(states), self._part
        out = kit.floats(part["narrow"](kit.gelu(part["wide"](kit.normalise(states)))))
        return out[..., 0], out[..., 1]

    def share_of(self, states: Array, meta: Array) -> Array:
        """Logits (B, N_SHARE_BINS) from the pool's last states (B, N, w)."""
        kit, part = kit_of(states), self._part["share"]
        middle = kit.normalise(states).mean(1)
        return kit.floats(part["2"](kit.gelu(part["0"](kit.concat([middle, kit.as_precise(meta, middle)], -1)))))


def metric(log_weights: Array, z: Array, g: Array) -> Array:
    """Weights (B, h, d) of the columns such that two rows of the pool are one apart on average, in squares."""
    kit = kit_of(z)
    weights = kit.exp(kit.floats(log_weights).clip(-6, 6))
    half = weights.shape[1] // 2
    by_value, by_rank = (kit.std(x, 1) ** 2 for x in (z, g))
    variance = kit.concat([by_value] * half + [by_rank] * half, 1)  # (B, h, d)
    return weights / ((2 * weights**2 * variance).sum(-1, keepdims=True) + 1e-6) ** 0.5


def seen_places(own: Array, labels: Array) -> Array:
    """What the pool's rows at places (B, h, N, p) bring along for those that look: (B, h, N, p + 4).

    -|a - b|² is 2ab - b² but for a part that all rows looked at share. b² comes in two parts, so that it stays exact
    in half precision. The last two: whether the row is labelled, and whether as an anomaly.
    """
    kit = kit_of(own)
    squares = (own**2).sum(-1, keepdims=True)
    rough = kit.halve_precision(squares)
    known = kit.stack([kit.floats(labels >= 0), kit.floats(labels == 1)], -1)[:, None]  # (B, 1, N, 2)
    known = kit.zeros(own, *own.shape[:2], 1, 1) + kit.as_precise(known, own)
    return kit.concat([2 * own, -rough, rough - squares, known], -1)
