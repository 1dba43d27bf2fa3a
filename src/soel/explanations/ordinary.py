"""Ordinary rows of a pool, which lend plausible values to rows that are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from soel.types import ANOMALY, Floats, Labels, Rows

MOST_ROWS = 2000  # of a pool; more would only be slower
CALM_SHARE = 0.8  # of the pool, by score: the others are no example of what is ordinary
FARTHEST = 4.0  # squared, in units of a column's spread: a wild value must not decide which rows are similar
N_SIMILAR = 7  # rows, of which the one in the middle lends its value
CLIP = 3.0  # in units of the spread, where correlations are measured
CORRELATED = 0.7  # columns from here on are looked at together, too
MOST_TOGETHER = 3
HAIR = 1e-4  # of the spread of a column's values
MOST_AT_ONCE = 2**22  # distances by column


def find_ordinary(scores: Floats, labels: Labels) -> Rows:
    """Positions of the pool's rows that can lend values, in order, by scores (N,) and labels (N,)."""
    calm = (scores <= np.quantile(scores, CALM_SHARE)) & (labels != ANOMALY)
    positions = np.flatnonzero(calm) if calm.any() else np.arange(len(scores))
    return positions[np.unique(np.linspace(0, len(positions) - 1, MOST_ROWS).astype(np.int64))]


@dataclass(frozen=True)
class Ordinary:
    """Rows (m, d) that look ordinary, their positions (m,) in the pool, in order, and how the columns hang together.

    column_of: (d,) the column of the user that each feature came from: a category or a time is several features, and
    one column. spread: (c,) the variance of each column's features, summed. likeness: (c, c) the largest correlation
    between features of two columns, absolute. lent: (m, d) the values as they are lent: by a hair another one
    where only this row has it, so that no two rows come to share what nobody shares.
    """

    rows: Floats
    positions: Rows
    column_of: Rows
    spread: Floats
    likeness: Floats
    lent: Floats

    @classmethod
    def of(cls, rows: Floats, positions: Rows, column_of: Rows) -> Ordinary:
        """From the encoded rows (m, d) at these positions (m,) of the pool."""
        rows = np.asarray(rows, np.float32)
        n_columns = int(column_of.max()) + 1
        variance = np.bincount(column_of, rows.var(axis=0, dtype=np.float64), n_columns)
        spread = np.where(variance > 0, variance, 1.0)
        return cls(rows, positions, column_of, spread, _likeness(rows, column_of), _moved_where_unique(rows))

    @property
    def n_columns(self) -> int:
        """c, the columns of the user that give features."""
        return len(self.spread)

    def correlated(self) -> tuple[tuple[int, ...], ...]:
        """Columns that hang together closely, in groups of two or three; every pair of a group does."""
        close = np.triu(self.likeness, 1)
        first, second = np.nonzero(close >= CORRELATED)
        groups: list[tuple[int, ...]] = [(column,) for column in range(self.n_columns)]
        for at in np.argsort(-close[first, second], kind="stable"):
            one, other = (next(each for each in groups if column in each) for column in (first[at], second[at]))
            joined = tuple(sorted({*one, *other}))
            if one == other or len(joined) > MOST_TOGETHER:
                continue
            if self.likeness[np.ix_(one, other)].min() >= CORRELATED:
                groups = [each for each in groups if each not in (one, other)] + [joined]
        return tuple(sorted(group for group in groups if len(group) > 1))

    def lenders(self, x: Floats, parts: Sequence[Sequence[int]]) -> Rows:
        """Which ordinary row (n, p) lends its values to each row (n, d) in the columns of each part.

        It is like the row in the other columns, in those most that tell something about the part; of the few that are
        most alike, it is the one in their middle.
        """
        weights = np.stack([self._weights(part) for part in parts])
        chosen = np.empty((len(x), len(parts)), np.int64)
        n_similar = min(N_SIMILAR, len(self.rows))
        for block, apart in self._apart(x):
            far = (apart @ weights.T).transpose(0, 2, 1)  # (b, p, m)
            near = np.argpartition(far, n_similar - 1, axis=2)[:, :, :n_similar]
            for number, part in enumerate(parts):
                values = self.rows[:, np.isin(self.column_of, part)][near[:, number]]  # (b, k, w)
                middle = np.abs(values - np.median(values, axis=1, keepdims=True)).sum(axis=2).argmin(axis=1)
                chosen[block, number] = np.take_along_axis(near[:, number], middle[:, None], axis=1)[:, 0]
        return chosen

    def nearest(self, x: Floats) -> Rows:
        """The ordinary row (n,) that is most like each row (n, d) in all columns."""
        found = np.empty(len(x), np.int64)
        for block, apart in self._apart(x):
            found[block] = apart.sum(axis=2).argmin(axis=1)
        return found

    def _weights(self, part: Sequence[int]) -> Floats:
        """How much each column (c,) counts where rows are compared to lend the part's values."""
        weights = 1 / self.n_columns + np.square(self.likeness[list(part)]).max(axis=0)
        weights[list(part)] = 0
        return np.asarray(weights, np.float32)

    def _apart(self, x: Floats) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows, and how far (b, m, c) each lies from each ordinary row in each column: squared, bounded."""
        step = max(1, MOST_AT_ONCE // self.rows.size)
        x, to_columns = np.asarray(x, np.float32), np.eye(self.n_columns, dtype=np.float32)[self.column_of]  # (d, c)
        to_columns /= self.spread.astype(np.float32)
        for start in range(0, len(x), step):
            block = slice(start, start + step)
            squares = np.square(x[block, None] - self.rows)
            yield block, np.minimum(squares @ to_columns, FARTHEST)


def _moved_where_unique(rows: Floats) -> Floats:
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
