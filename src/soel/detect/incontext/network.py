"""The network: it reads a pool of N rows with a few labels, and gives n rows the log odds of being an anomaly.

B pools at once; d columns; c and w are the widths of cells and of rows. LN is layer norm without parameters, W with an
index a linear layer with its bias, MLP(x) = W GELU(W LN x) where nothing else is said.

1. Cell embeddings need no label. From features f of a cell and h of its column (`features`)

       E_ij = W GELU(W f_ij + W h_j),  then the columns of a row attend to one another:
       E <- E + Attention_columns(LN E),  E <- E + MLP(E),  E <- LN E;
       r_i = sum_j softmax_j(W_k E_ij) * W_v E_ij.

2. Column gates and scales are read off the labels. With m_a, m_0 and m the mean E_j of labelled anomalies, of labelled
   normal rows and of all, t = self-attention over columns of MLP([m_a - m, m_0 - m, m, h_j, pool features]);
   G_j = W LN t_j are gates, and s_hj, from exp(W LN t_j), the scale of column j in head h: two rows of the pool are one
   apart on average. Where experts named columns with labels (`named_columns`), W [how often column j was named, mean
   E_j of the cells named - m] is added before the GELU; likewise in 3 a row's likeness to anomalies in their columns.

3. Rows enter as x_i = W GELU(W [r_i, sum_j G_j E_ij / sqrt(d), label-free scores, label features, pool features]), with
   an embedding of the label added where a row of the pool has one, and of the cells that were named with it.

4. In each of L layers all rows attend to the pool's N rows, never to one another:

       a_ik = softmax_k(q_i K_k / sqrt(e) - n_i |u_i - u_k|² + b_i [k labelled] + c_i [k anomaly]),
       x_i <- x_i + W sum_k a_ik V_k,  x_i <- x_i + MLP(x_i),

   u = s_h z in half of the heads (z: standardised values) and s_h g in the others (g: Gaussian ranks); log n_i, b_i and
   c_i are linear in LN x_i ("look" among the parameters).

5. (logit, log odds)_i = MLP(x_i); the pool's share of anomalies is MLP([mean_k LN x_k, pool features]) over bins.

Neither the order of the columns nor that of the rows plays a part. The same code runs with numpy (inference) and torch
(training, where `pretraining.module` holds the parameters).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from soel.detect.incontext import named_columns
from soel.detect.incontext.label_features import LabelTables, label_features, pool_features
from soel.detect.incontext.ops import Array, ops_of
from soel.detect.incontext.row_features import PoolStats, RowFeatures

N_SHARE_BINS = 24
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
class CellEmbeddings:
    """Embeddings E of cells (B, n, d, c), and r of rows (B, n, c)."""

    cells: Array
    rows: Array

    def part(self, rows: slice) -> CellEmbeddings:
        return CellEmbeddings(self.cells[:, rows], self.rows[:, rows])

    @classmethod
    def joined(cls, parts: Sequence[CellEmbeddings]) -> CellEmbeddings:
        """Of rows that were embedded in parts."""
        if len(parts) == 1:
            return parts[0]
        concat = ops_of(parts[0].rows).concat
        return cls(concat([part.cells for part in parts], 1), concat([part.rows for part in parts], 1))


@dataclass(frozen=True)
class KeyValueCache:
    """A pool that has been read with its labels: all that is needed to score other rows."""

    gates: Array  # (B, d, gates, c)
    scales: Array  # (B, h, d)
    about: Array  # (B, N_POOL_FEATURES)
    layers: list[tuple[Array, Array]]  # keys and values of each
    tables: LabelTables
    why: Array | None = None  # (B, N, d) the columns named for anomalies, if any


@dataclass(frozen=True)
class Outputs:
    """What the network says of n rows, and of each pool."""

    logits: Array  # (B, n) for ranking: the two kinds of row weighed nearly alike
    chances: Array  # (B, n) log odds of being an anomaly
    shares: Array | None = None  # (B, N_SHARE_BINS) logits of the pool's share of anomalies, where a pool was read

    def rank_by(self, any_label: bool) -> Array:
        """What rows (B, n) are ranked by.

        With labels the first head ranks all rows well and the second those on top, so both count. Without any the
        second is the better one on every collection of tables, for all rows and for the top (benchmarks/choices.md).
        """
        return 0.5 * (self.logits + self.chances) if any_label else self.chances

    @classmethod
    def joined(cls, parts: Sequence[Outputs]) -> Outputs:
        """Of rows that were scored in parts."""
        if len(parts) == 1:
            return parts[0]
        concat = ops_of(parts[0].logits).concat
        return cls(*(concat([getattr(part, name) for part in parts], 1) for name in ("logits", "chances")))


@dataclass(frozen=True)
class Parameters:
    """Parameters by name, those of one part of the network; called, it is a linear layer."""

    weights: Mapping[str, Array]
    name: str = ""

    def __getitem__(self, name: str) -> Parameters:
        return Parameters(self.weights, f"{self.name}{name}.")

    def __call__(self, x: Array) -> Array:
        """X W' + b."""
        return ops_of(x).linear(x, self.weights[self.name + "weight"], self.weights.get(self.name + "bias"))


@dataclass(frozen=True)
class InContextNetwork:
    """The equations above, with parameters of numpy or of torch."""

    shape: Shape
    weights: Mapping[str, Array]

    @property
    def layers(self) -> list[Parameters]:
        """Those in which rows attend to the pool, in order."""
        return [self._part[f"blocks.{layer}"] for layer in range(self.shape.n_layers)]

    @property
    def _part(self) -> Parameters:
        return Parameters(self.weights)

    def embed_cells(self, rows: RowFeatures, columns: Array) -> CellEmbeddings:
        """Equation 1, of rows and the features (B, d, N_COLUMN) of their columns."""
        ops, n_columns = ops_of(rows.cells), rows.cells.shape[2]

        def embed_block(block: slice) -> CellEmbeddings:
            cells = rows.cells[:, block]
            parts = ops.in_parts(lambda few: self._embed(cells[:, few], columns), cells.shape[1], n_columns)
            return CellEmbeddings.joined(parts)

        return CellEmbeddings.joined(ops.in_blocks(embed_block, rows.cells.shape[1]))

    def encode_pool(
        self, pool: PoolStats, rows: RowFeatures, embedded: CellEmbeddings, labels: Array, named: Array | None = None
    ) -> tuple[KeyValueCache, Outputs]:
        """Equations 2 to 5 with labels (B, N) of 1, 0 and -1: the first N rows are the pool, others only attend.

        named: (B, N, d) from 0 to 1, the columns that were named with a label, if any.
        """
        ops = ops_of(rows.z)
        n_pool, n_rows = labels.shape[1], rows.z.shape[1]
        own, about = rows.first(n_pool), pool_features(pool, labels)
        why, fine = (None, None) if named is None else named_columns.split(named, labels)
        cells = embedded.part(slice(0, n_pool))
        gates, log_scales = self.gates_and_scales(cells, pool.columns, labels, about, why, fine)
        scales = column_scales(log_scales, pool.z, pool.g)
        u = self.coordinates(rows.z, rows.g, scales)
        of_keys = key_coordinates(u[:, :, :n_pool], labels)
        known = ops.concat([labels, ops.whole(ops.zeros(labels, len(labels), n_rows - n_pool)) - 1], 1)
        tables = LabelTables.count(own, labels)
        by_labels = label_features(pool, own, rows, labels, tables)
        by_names = None if why is None else named_columns.row_features(own, rows, why, tables)

        def enter(block: slice) -> Array:
            names = None if by_names is None else by_names[:, block]
            return self.enter(
                embedded.part(block), gates, rows.scores[:, block], by_labels[:, block], about, known[:, block], names
            )

        x = ops.concat(ops.in_blocks(enter, n_rows), 1)
        if why is not None:
            x = ops.concat([x[:, :n_pool] + self.of_named_cells(cells, why, fine), x[:, n_pool:]], 1)
        layers = []
        for layer in self.layers:
            layers.append(_keys_and_values(layer, x[:, :n_pool], of_keys))
            x = _attend(layer, x, u, layers[-1])
        logits, chances = self.heads(x)
        outputs = Outputs(logits, chances, self.share_of(x[:, :n_pool], about))
        return KeyValueCache(gates, scales, about, layers, tables, why), outputs

    def score_rows(
        self,
        pool: PoolStats,
        own: RowFeatures,
        labels: Array,
        cache: KeyValueCache,
        rows: RowFeatures,
        embedded: CellEmbeddings,
        masked: Array | None = None,
    ) -> Outputs:
        """Equations 3 to 5 of other rows beside a pool that has been read.

        own: the pool's rows. masked: (n, N) which of these each row does not attend to.
        """
        u = self.coordinates(rows.z, rows.g, cache.scales)
        by_labels = label_features(pool, own, rows, labels, cache.tables)
        names = None if cache.why is None else named_columns.row_features(own, rows, cache.why, cache.tables)
        x = self.enter(embedded, cache.gates, rows.scores, by_labels, cache.about, None, names)
        for layer, keys_and_values in zip(self.layers, cache.layers, strict=True):
            x = attend(layer, x, u, keys_and_values, masked)
        logits, chances = self.heads(x)
        return Outputs(logits, chances)

    def _embed(self, cells: Array, columns: Array) -> CellEmbeddings:
        """Equation 1, from features of cells (B, n, d, N_CELL) and of columns (B, d, N_COLUMN)."""
        ops, part = ops_of(cells), self._part["cells"]
        kind = self.weights["cells.mix.weight"]
        of_cells = part["of_cell"](ops.as_precise(cells, kind))
        of_columns = part["of_column"](ops.as_precise(columns, kind))[:, None]
        x = part["mix"](ops.gelu(of_cells + of_columns))  # (B, n, d, c)
        shape = x.shape
        x = x.reshape(-1, *shape[2:])
        for layer in range(self.shape.n_cell_layers):
            x = attend_to_columns(part[f"blocks.{layer}"], x)
        x = ops.normalise(x)
        both, width = part["gather"](x), shape[-1]
        rows = (both[..., :width] * ops.softmax(both[..., width:], 1)).sum(1)
        return CellEmbeddings(x.reshape(shape), rows.reshape(*shape[:2], -1))

    def gates_and_scales(
        self,
        embedded: CellEmbeddings,
        columns: Array,
        labels: Array,
        about: Array,
        why: Array | None = None,
        fine: Array | None = None,
    ) -> tuple[Array, Array]:
        """Equation 2: gates (B, d, gates, c) and log scales (B, h, d), by labels (B, N) and named columns (B, N, d)."""
        ops, part = ops_of(columns), self._part["columns"]
        groups = ops.stack([ops.floats(labels == 1), ops.floats(labels == 0), ops.floats(labels > -2)], 1)
        share = ops.as_precise(groups / groups.sum(-1, keepdims=True).clip(min=1), embedded.cells)  # (B, 3, N)
        n_tasks, n_pool, n_columns, width = embedded.cells.shape
        means = (share @ embedded.cells.reshape(n_tasks, n_pool, -1)).reshape(n_tasks, 3, n_columns, width)
        known = ops.concat([columns, ops.zeros(columns, n_tasks, n_columns, 1) + about[:, None]], -1)
        given = [means[:, 0] - means[:, 2], means[:, 1] - means[:, 2], means[:, 2], ops.as_precise(known, means)]
        x = part["enter"](ops.concat(given, -1))
        if why is not None:
            facts = ops.as_precise(named_columns.column_features(why, fine), means)
            means = named_columns.named_means(embedded.cells, ops.as_precise(why, means))
            x = x + self._part["named"]["columns"](ops.concat([facts, means], -1))
        x = attend_to_columns(part["block"], part["mix"](ops.gelu(x)))
        x = ops.normalise(x)
        gates = part["gates"](x).reshape(n_tasks, n_columns, self.shape.n_gates, -1)
        return gates, part["weights"](x).swapaxes(1, 2)

    def enter(
        self,
        embedded: CellEmbeddings,
        gates: Array,
        scores: Array,
        by_labels: Array,
        about: Array,
        labels: Array | None,
        by_names: Array | None = None,
    ) -> Array:
        """Equation 3: rows (B, n, w); labels (B, n) only for the pool's own."""
        ops, part = ops_of(embedded.rows), self._part
        n_tasks, n_rows, n_columns, _ = embedded.cells.shape
        gated = ops.gate(embedded.cells, ops.as_precise(gates, embedded.cells) / math.sqrt(n_columns))
        said = ops.concat([scores, by_labels, ops.zeros(scores, n_tasks, n_rows, 1) + about[:, None]], -1)
        given = [ops.as_precise(embedded.rows, gated), gated.reshape(n_tasks, n_rows, -1), ops.as_precise(said, gated)]
        x = part["enter"](ops.concat(given, -1))
        if by_names is not None:
            x = x + part["named"]["rows"](ops.as_precise(by_names, gated))
        x = part["mix"](ops.gelu(x))
        if labels is not None:
            x = x + part["label"](ops.as_precise(ops.stack([ops.floats(labels == 0), ops.floats(labels == 1)], -1), x))
        return x

    def of_named_cells(self, cells: CellEmbeddings, why: Array, fine: Array | None) -> Array:
        """What is added in equation 3 to the pool's rows (B, N, w) for their named cells."""
        parts = [named_columns.named_cells(cells.cells, part) for part in (why, fine)]
        return self._part["named"]["cells"](ops_of(why).concat(parts, -1))

    def coordinates(self, z: Array, g: Array, scales: Array) -> Array:
        """U of rows: (B, h, n, d); half of the heads go by value, half by rank."""
        ops, half = ops_of(z), self.shape.n_heads // 2
        scales = ops.floats(scales)
        u = ops.concat([scales[:, :half, None] * z[:, None], scales[:, half:, None] * g[:, None]], 1)
        return ops.widen(u)

    def heads(self, states: Array) -> tuple[Array, Array]:
        """Equation 5: logits and log odds (B, n) from the last states."""
        ops, part = ops_of(states), self._part
        out = ops.floats(part["narrow"](ops.gelu(part["wide"](ops.normalise(states)))))
        return out[..., 0], out[..., 1]

    def share_of(self, states: Array, about: Array) -> Array:
        """Equation 5: logits (B, N_SHARE_BINS) from the pool's last states (B, N, w)."""
        ops, part = ops_of(states), self._part["share"]
        middle = ops.normalise(states).mean(1)
        return ops.floats(part["2"](ops.gelu(part["0"](ops.concat([middle, ops.as_precise(about, middle)], -1)))))


def attend_to_columns(part: Parameters, x: Array) -> Array:
    """Self-attention among the columns of each row, then an MLP: (R, d, c) to the same."""
    ops = ops_of(x)
    n_rows, n_columns, width = x.shape
    three = part["qkv"](ops.normalise(x)).reshape(n_rows, n_columns, 3, CELL_HEADS, -1)
    q, k, v = (three[:, :, number].swapaxes(1, 2) for number in range(3))
    x = x + part["out"](ops.self_attend(q, k, v).swapaxes(1, 2).reshape(n_rows, n_columns, width))
    return x + part["narrow"](ops.gelu(part["wide"](ops.normalise(x))))


def keys_and_values(part: Parameters, pool: Array, of_keys: Array) -> tuple[Array, Array]:
    """Keys (B, h, N, e + p + 4) and values of pool rows (B, N, w) with coordinates (B, h, N, p + 4)."""
    ops = ops_of(pool)
    n_tasks, n_pool, _ = pool.shape
    both = part["key_value"](ops.normalise(pool)).reshape(n_tasks, n_pool, 2, of_keys.shape[1], -1)
    k, v = (both[:, :, number].swapaxes(1, 2) for number in range(2))
    keys = ops.concat([k, ops.as_precise(of_keys, k)], -1)
    return keys, ops.lay_out_values(keys, v)


def _keys_and_values(part: Parameters, pool: Array, of_keys: Array) -> tuple[Array, Array]:
    """The same, block by block."""
    ops = ops_of(pool)
    parts = ops.in_blocks(lambda block: keys_and_values(part, pool[:, block], of_keys[:, :, block]), pool.shape[1])
    return ops.lay_out_keys(ops.concat([keys for keys, _ in parts], 2)), ops.concat([v for _, v in parts], 2)


def attend(part: Parameters, x: Array, u: Array, cache: tuple[Array, Array], masked: Array | None = None) -> Array:
    """Equation 4: rows (B, n, w) at coordinates (B, h, n, p) to the keys and values of the pool. masked: (n, N)."""
    ops = ops_of(x)
    n_tasks, n_rows, width = x.shape
    n_heads = u.shape[1]
    y = ops.normalise(x)
    q = part["query"](y).reshape(n_tasks, n_rows, n_heads, -1).swapaxes(1, 2) / math.sqrt(width // n_heads)
    look = part["look"](y).reshape(n_tasks, n_rows, 3, n_heads).swapaxes(1, 3)[..., None]  # (B, h, 3, n, 1)
    narrow = ops.exp(look[:, :, 0].clip(-6, 6))
    q = ops.concat([q, narrow * ops.as_precise(u, q), narrow, narrow, look[:, :, 1], look[:, :, 2]], -1)
    mixed = ops.cross_attend(q, *cache, width // n_heads, masked).reshape(n_tasks, n_rows, width)
    x = x + part["out"](mixed)
    return x + part["narrow"](ops.gelu(part["wide"](ops.normalise(x))))


def _attend(part: Parameters, x: Array, u: Array, cache: tuple[Array, Array]) -> Array:
    """The same, block by block."""
    ops = ops_of(x)
    return ops.concat(ops.in_blocks(lambda block: attend(part, x[:, block], u[:, :, block], cache), x.shape[1]), 1)


def column_scales(log_scales: Array, z: Array, g: Array) -> Array:
    """Scales (B, h, d) of the columns such that two rows of the pool are one apart on average, in squares."""
    ops = ops_of(z)
    scales = ops.exp(ops.floats(log_scales).clip(-6, 6))
    half = scales.shape[1] // 2
    by_value, by_rank = (ops.std(x, 1) ** 2 for x in (z, g))
    variance = ops.concat([by_value] * half + [by_rank] * half, 1)  # (B, h, d)
    return scales / ((2 * scales**2 * variance).sum(-1, keepdims=True) + 1e-6) ** 0.5


def key_coordinates(u: Array, labels: Array) -> Array:
    """What the coordinates (B, h, N, p) and labels of the pool's rows add to their keys: (B, h, N, p + 4).

    -|a - b|² is 2ab - b² but for a part that all keys share. b² comes in two parts, so that it stays exact in half
    precision. The last two: whether the row is labelled, and whether as an anomaly.
    """
    ops = ops_of(u)
    squares = (u**2).sum(-1, keepdims=True)
    rough = ops.halve_precision(squares)
    known = ops.stack([ops.floats(labels >= 0), ops.floats(labels == 1)], -1)[:, None]  # (B, 1, N, 2)
    known = ops.zeros(u, *u.shape[:2], 1, 1) + ops.as_precise(known, u)
    return ops.concat([2 * u, -rough, rough - squares, known], -1)
