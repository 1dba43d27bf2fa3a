"""Ordinary rows of a pool, which lend plausible values to rows that are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soel.types import ANOMALY, Floats, Labels, Rows

MOST_ROWS = 2000  # of a pool; more would only be slower
CALM_SHARE = 0.8  # of the pool, by score: the others are no example of what is ordinary
FARTHEST = 4.0  # squared, in units of a column's spread: a wild value must not decide which rows are similar
N_SIMILAR = 7  # rows, of which the one in the middle lends its value
CLIP = 3.0  # in units of the spread, where correlations are measured
CORRELATED = 0.7  # columns from here on are looked at together, too
HAIR = 1e-4  # of the spread of a column's values
MOST_AT_ONCE = 2**22  # distances by column


def find_ordinary(scores: Floats, labels: Labels) -> Rows:
    """Positions of the pool's rows that can lend values, in order, by scores (N,) and labels (N,)."""
    calm = (scores <= np.quantile(scores, CALM_SHARE)) & (labels != ANOMALY)
    positions = np.flatnonzero(calm) if calm.any() else np.arange(len(scores))
    return positions[_spread_out(len(positions))]


@dataclass(frozen=True)
class Ordinary:
    """Rows (m, d) that look ordinary, their positions (m,) in the pool, in order, and how the columns hang together.

    column_of: (d,) the column of the user that each feature came from: a category or a time is several features, and
    one column. everyone: (k, d) rows of the pool, the others too: columns that are wrong together may hang together
    there alone.
    """

    rows: Floats
    positions: Rows
    column_of: Rows
    everyone: Floats

    @classmethod
    def of(cls, pool: Floats, positions: Rows, column_of: Rows) -> Ordinary:
        """From the encoded rows (N, d) of the pool, of which those at these positions (m,) are ordinary."""
        rows, everyone = (np.asarray(pool[some], np.float32) for some in (positions, _spread_out(len(pool))))
        return cls(rows, positions, column_of, everyone)

    @cached_property
    def n_columns(self) -> int:
        """c, the columns of the user that give features."""
        return int(self.column_of.max()) + 1

    @cached_property
    def likeness(self) -> Floats:
        """The largest correlation (c, c) between features of two columns in the pool, absolute."""
        return _likeness(self.everyone, self.column_of)

    @cached_property
    def hang_together(self) -> np.ndarray:
        """Which two columns (c, c) correlate closely; none with itself."""
        return np.asarray((self.likeness >= CORRELATED) & ~np.eye(self.n_columns, dtype=bool))

    @cached_property
    def lent(self) -> Floats:
        """The values (m, d) as they are lent: by a hair another one where only this row has it, so that no two rows
        come to share what nobody shares.
        """
        return _move_where_unique(self.rows)

    def compare(self, x: Floats) -> tuple[Rows, Rows]:
        """Which ordinary row (n, c) lends its value to each row (n, d) in each column, and which (n,) is most like it.

        A lender is like the row in the other columns, in those most that tell something about the column; of the few
        that are most alike, it is the one in their middle.
        """
        lenders, nearest = np.empty((len(x), self.n_columns), np.int64), np.empty(len(x), np.int64)
        for block, apart in self._measure_by_column(x):
            nearest[block] = apart.sum(axis=2).argmin(axis=1)
            near = self._nearest_few((apart @ self._weights_of_each.T).transpose(0, 2, 1))  # (b, c, k)
            places = np.empty(near.shape[:2], np.int64)
            lone, features = self._single_features
            values = self.rows[near[:, lone], features[:, None]]  # (b, l, k)
            places[:, lone] = np.argsort(values, axis=2, kind="stable")[..., near.shape[2] // 2]
            for column in np.setdiff1d(np.arange(self.n_columns), lone):
                places[:, column] = _middle(self.rows[:, self.column_of == column][near[:, column]])
            lenders[block] = np.take_along_axis(near, places[..., None], axis=2)[..., 0]
        return lenders, nearest

    def lenders_together(self, x: Floats, groups: Sequence[Sequence[int]]) -> Rows:
        """Which ordinary row (n,) lends its values to each row (n, d) in the columns of its own group."""
        chosen = np.empty(len(x), np.int64)
        if not len(x):
            return chosen
        weights = np.stack([self._weights(group) for group in groups])[:, :, None]
        for block, apart in self._measure_by_column(x):
            near = self._nearest_few((apart @ weights[block])[..., 0])  # (b, k)
            for row, few in zip(range(len(x))[block], near, strict=True):
                chosen[row] = few[_middle(self.rows[few][:, np.isin(self.column_of, groups[row])])]
        return chosen

    @cached_property
    def _single_features(self) -> tuple[Rows, Rows]:
        """Columns of one feature, and these features."""
        counts = np.bincount(self.column_of, minlength=self.n_columns)
        features = np.flatnonzero(counts[self.column_of] == 1)
        return self.column_of[features], features

    @cached_property
    def _weights_of_each(self) -> Floats:
        return np.stack([self._weights([column]) for column in range(self.n_columns)])

    def _weights(self, part: Sequence[int]) -> Floats:
        """How much each column (c,) counts where rows are compared to lend the part's values."""
        weights = 1 / self.n_columns + np.square(self.likeness[list(part)]).max(axis=0)
        weights[list(part)] = 0
        return np.asarray(weights, np.float32)

    def _nearest_few(self, far: Floats) -> Rows:
        """The ordinary rows (..., k) that are least far (..., m)."""
        n_similar = min(N_SIMILAR, len(self.rows))
        return np.argpartition(far, n_similar - 1, axis=-1)[..., :n_similar]

    @cached_property
    def _to_columns(self) -> Floats:
        """Turns squares of features into distances by column (d, c), in units of the variance of its features."""
        variance = np.bincount(self.column_of, self.rows.var(axis=0, dtype=np.float64), self.n_columns)
        return (np.eye(self.n_columns)[self.column_of] / np.where(variance > 0, variance, 1.0)).astype(np.float32)

    def _measure_by_column(self, x: Floats) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows, and how far (b, m, c) each lies from each ordinary row in each column: squared, bounded."""
        step = max(1, MOST_AT_ONCE // self.rows.size)
        x = np.asarray(x, np.float32)
        for start in range(0, len(x), step):
            block = slice(start, start + step)
            squares = np.square(x[block, None] - self.rows)
            yield block, np.minimum(squares @ self._to_columns, FARTHEST)


def _spread_out(n_rows: int) -> Rows:
    """At most MOST_ROWS positions among so many, in order."""
    return np.unique(np.linspace(0, n_rows - 1, MOST_ROWS).astype(np.int64))


def _middle(values: Floats) -> Rows:
    """Which of k rows (..., k, w) lies in their middle."""
    return np.asarray(np.abs(values - np.median(values, axis=-2, keepdims=True)).sum(axis=-1).argmin(axis=-1))


def _move_where_unique(rows: Floats) -> Floats:
    """Rows (m, d) with every value that occurs once in its column moved by a hair."""
    order = np.argsort(rows, axis=0, kind="stable")
    fresh = np.diff(np.take_along_axis(rows, order, axis=0), axis=0) != 0
    edge = np.ones((1, rows.shape[1]), bool)
    unique = np.empty(rows.shape, bool)
    np.put_along_axis(unique, order, np.vstack([edge, fresh]) & np.vstack([fresh, edge]), axis=0)
    return np.where(unique, rows + HAIR * rows.std(axis=0), rows).astype(np.float32)


def _likeness(rows: Floats, column_of: Rows) -> Floats:
    """The largest absolute correlation (c, c) between features of two columns."""
    spread = rows.std(axis=0)
    scaled = np.clip((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1), -CLIP, CLIP)
    scaled -= scaled.mean(axis=0)
    lengths = np.linalg.norm(scaled, axis=0)
    scaled /= np.where(lengths > 0, lengths, 1)
    between = np.abs(scaled.T @ scaled)
    starts = np.flatnonzero(np.diff(column_of, prepend=-1))
    return np.maximum.reduceat(np.maximum.reduceat(between, starts, axis=0), starts, axis=1)
