"""Rows explained by replacement: what their score would be with the values of similar ordinary rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from soel.explanations.ordinary import Ordinary
from soel.explanations.reasons import Reason
from soel.types import Floats, Rows

Score = Callable[[Floats], Floats]
ScoreChanged = Callable[[Floats, Floats], Floats]
MOST_TRIED = 40  # parts of a row that are replaced alone; of more, a rough score picks them
MOST_STEPS = 8  # parts that are then replaced one after the other; the others go together
ENOUGH = 0.8  # of what a group of columns explains: what says so much alone is not named together
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class Explanation:
    """What raises the scores of n rows, by p parts: every column alone, then groups of correlated columns.

    A row's score is `baseline + contributions.sum() + remainder`, always: the baseline is the score of the ordinary row
    that it resembles most, the remainder what all parts without a contribution of their own do together. Where
    columns explain a score only together, their group has the contribution, else each column its own.

    columns: names (c,). parts: positions of columns. scores, baseline, remainder: (n,). contributions: (n, p).
    alone: (n, p) the score with this part alone replaced, NaN where it was not tried. ranks: (n,) among the pool's
    rows, 1 for the most anomalous; ranks_alone: (n, p) the same with one part replaced, 0 where it was not tried.
    lenders: (n, p) the pool's row whose values were taken. reference: (n,) the row of the baseline.
    reasons: the few that matter most of each row, with values.
    """

    columns: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    scores: Floats
    baseline: Floats
    contributions: Floats
    remainder: Floats
    alone: Floats
    ranks: Rows
    ranks_alone: Rows
    lenders: Rows
    reference: Rows
    reasons: tuple[tuple[Reason, ...], ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: Rows) -> Explanation:
        """Some of the rows."""
        arrays: dict[str, Any] = {name: each[rows] for name, each in vars(self).items() if isinstance(each, np.ndarray)}
        return replace(self, reasons=tuple(self.reasons[row] for row in rows) if self.reasons else (), **arrays)

    def names(self, part: int) -> tuple[str, ...]:
        """The columns of a part."""
        return tuple(self.columns[column] for column in self.parts[part])

    def first(self, row: int, most: int = 3) -> list[int]:
        """The parts that raise a row's score most, in order; only such as raise it."""
        order = np.argsort(-self.contributions[row], kind="stable")[:most]
        return [int(part) for part in order if self.contributions[row, part] > 0]


@dataclass(frozen=True)
class Explainer:
    """Explains rows by a scoring function and ordinary rows of the pool.

    score: encoded rows (n, d) to scores (n,). score_changed: the same of rows that were put together from others
    (n, s, d), which the model may know; both are called with many rows at once. rough: one that is quicker and much
    like them, by which parts are picked where there are many. columns: names (c,). pool_scores: (N,).
    """

    score: Score
    score_changed: ScoreChanged
    rough: Score
    ordinary: Ordinary
    columns: tuple[str, ...]
    pool_scores: Floats

    def explain(self, x: Floats) -> Explanation:
        """Encoded rows (n, d) explained; the cost of a row is bounded, whatever the number of columns."""
        x = np.asarray(x, np.float32)
        blocks = [self._explain(x[start : start + ROWS_AT_ONCE]) for start in range(0, len(x), ROWS_AT_ONCE)]
        if len(blocks) == 1:
            return blocks[0]
        whole: dict[str, Any] = {
            each.name: np.concatenate([getattr(block, each.name) for block in blocks])
            for each in fields(Explanation)
            if each.name not in ("columns", "parts", "reasons")
        }
        return replace(blocks[0], **whole)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Every column alone, then the groups of correlated ones."""
        return (*((column,) for column in range(self.ordinary.n_columns)), *self.ordinary.correlated())

    @cached_property
    def _features(self) -> np.ndarray:
        """Which features (p, d) each part has."""
        return np.stack([np.isin(self.ordinary.column_of, part) for part in self.parts])

    def _explain(self, x: Floats) -> Explanation:
        lenders, nearest = self.ordinary.lenders(x, self.parts), self.ordinary.nearest(x)
        scores, baseline = _in_one_call(self.score, np.stack([x, self.ordinary.rows[nearest]]))
        reference = self.ordinary.rows[nearest]
        start = self._score_changed(x[:, None], x[:, None])[:, 0]
        alone = self._replace_alone(x, lenders) + (scores - start)[:, None]
        rises = self._insert_alone(x, nearest, np.isfinite(alone)) - baseline[:, None]
        named = self._choose(scores[:, None] - alone)
        matters = np.where(named, scores[:, None] - alone + rises, -np.inf)
        contributions = self._replace_in_turn(x, nearest, reference, start, matters)
        return Explanation(
            self.columns,
            self.parts,
            scores,
            baseline,
            contributions,
            scores - contributions.sum(axis=1) - baseline,
            alone,
            self._rank(scores),
            self._rank(alone),
            self.ordinary.positions[lenders],
            self.ordinary.positions[nearest],
        )

    def _replace_alone(self, x: Floats, lenders: Rows) -> Floats:
        """Scores (n, p) with one part replaced; NaN for those that a rough score has left out."""
        n_rows, n_parts = lenders.shape
        every = np.arange(n_rows)[:, None]
        tried = np.broadcast_to(np.arange(n_parts), lenders.shape)
        if n_parts > MOST_TRIED:
            rough = _in_one_call(self.rough, self._replaced(x[:, None], tried, lenders))
            tried = np.argpartition(rough, MOST_TRIED - 1, axis=1)[:, :MOST_TRIED]
        alone = np.full(lenders.shape, np.nan)
        alone[every, tried] = self._score_changed(self._replaced(x[:, None], tried, lenders), x[:, None])
        return alone

    def _insert_alone(self, x: Floats, nearest: Rows, tried: np.ndarray) -> Floats:
        """Scores (n, p) of the row of the baseline with one part of the row in it; NaN where it is not tried.

        Of a row with several wrong values none may lower the score by itself; each raises that of an ordinary row.
        """
        rows, parts = np.nonzero(tried)
        mixed = np.where(self._features[parts], x[rows], self.ordinary.lent[nearest[rows]])
        sources = np.stack([x[rows], self.ordinary.rows[nearest[rows]]], axis=1)
        scores = np.full(tried.shape, np.nan)
        scores[rows, parts] = self.score_changed(mixed, sources)
        return scores

    def _choose(self, drops: Floats) -> np.ndarray:
        """Which parts (n, p) are to be named, by how much each lowers the score; NaN where it was not tried.

        A group is named instead of its columns where none of them says enough alone, or where several do, so that
        nobody can tell which of them is wrong.
        """
        drops = np.where(np.isnan(drops), -np.inf, drops)
        for group in range(self.ordinary.n_columns, len(self.parts)):
            members, whole = list(self.parts[group]), drops[:, group]
            n_enough = (drops[:, members] >= ENOUGH * whole[:, None]).sum(axis=1)
            together = (whole > 0) & (n_enough != 1)
            drops[np.ix_(together, members)] = -np.inf
            drops[~together, group] = -np.inf
        return np.isfinite(drops)

    def _replace_in_turn(self, x: Floats, nearest: Rows, reference: Floats, start: Floats, matters: Floats) -> Floats:
        """Contributions (n, p) of the parts that say most, replaced by the values of the row of the baseline.

        Each is the mean of two ways there, the most telling part first and last: a score that grows like a logarithm
        would give too little to what is replaced first.
        """
        order = np.argsort(-matters, axis=1, kind="stable")[:, :MOST_STEPS]
        counts = np.isfinite(np.take_along_axis(matters, order, axis=1))
        n_steps, contributions = order.shape[1], np.zeros_like(matters)
        ways = (order, counts), (order[:, ::-1], counts[:, ::-1])
        lenders = np.broadcast_to(nearest[:, None], matters.shape)
        states = [self._states(x, lenders, *way) for way in ways]  # (n, steps, d) each; both end the same
        sources = np.stack([x, reference], axis=1)
        reached = self._score_changed(np.concatenate([states[0], states[1][:, :-1]], axis=1), sources)
        forth, back = reached[:, :n_steps], np.concatenate([reached[:, n_steps:], reached[:, [n_steps - 1]]], axis=1)
        for (parts, _), scores in zip(ways, (forth, back), strict=True):
            drop = np.concatenate([start[:, None], scores[:, :-1]], axis=1) - scores
            contributions[np.arange(len(x))[:, None], parts] += drop / 2
        return contributions

    def _states(self, x: Floats, lenders: Rows, order: Rows, counts: np.ndarray) -> Floats:
        """Rows (n, steps, d) with one part after the other replaced, in this order (n, steps); where it counts."""
        states, state = [], x
        for step in range(order.shape[1]):
            new = self._replaced(state, order[:, step], lenders)
            state = np.where(counts[:, step, None], new, state)
            states.append(state)
        return np.stack(states, axis=1)

    def _replaced(self, x: Floats, parts: Rows, lenders: Rows) -> Floats:
        """Rows (n, d) or (n, 1, d) with the values of one part each, (n,) or (n, q), taken from its lender."""
        every = np.arange(len(parts)) if parts.ndim == 1 else np.arange(len(parts))[:, None]
        return np.where(self._features[parts], self.ordinary.lent[lenders[every, parts]], x)

    def _score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n, q) of rows (n, q, d) that were put together from others (n, s, d)."""
        return _in_one_call(lambda rows: self.score_changed(rows, np.repeat(sources, x.shape[1], axis=0)), x)

    def _rank(self, scores: Floats) -> Rows:
        """The ranks that scores have among the pool's; 0 for NaN."""
        above = len(self._sorted) - np.searchsorted(self._sorted, scores, side="right")
        return np.where(np.isnan(scores), 0, above + 1)

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(self.pool_scores)


def _in_one_call(score: Score, x: Floats) -> Floats:
    """Scores (...) of rows (..., d)."""
    return np.asarray(score(x.reshape(-1, x.shape[-1])), np.float64).reshape(x.shape[:-1])
