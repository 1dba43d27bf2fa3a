"""Rows explained by replacement: what their score would be with the values of similar ordinary rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soel.explanations.explanation import MOST_REASONS, Explanation, Part, first_parts, join
from soel.explanations.groups import choose_group, find_families, may_be_named
from soel.explanations.ordinary import Ordinary
from soel.types import Floats, Rows

Score = Callable[[Floats], Floats]
ScoreChanged = Callable[[Floats, Floats], Floats]
MOST_TRIED = 40  # columns of a row that are replaced alone; of more, a rough score picks them
MOST_STEPS = 8  # parts that are then replaced one after the other; the others go together
TRIFLE = 0.02  # of what the first of them matters: less is not worth a step
ROWS_AT_ONCE = 64
SAME = 1e-6  # between the scores of one row, by whatever stands beside it when it is scored


@dataclass(frozen=True)
class Tried:
    """What was seen of n rows where one of p parts was changed alone: every column, then groups.

    lenders: (n, p) ordinary rows whose values were taken, -1 for none. alone: (n, p) scores with them. rises: (n, p) by
    how much the row's own values raise the row of the baseline. NaN where it was not tried.
    """

    parts: tuple[Part, ...]
    lenders: Rows
    alone: Floats
    rises: Floats

    def widen(self, groups: Sequence[Part]) -> Tried:
        """The same with groups that nothing is known of."""
        beside = ((0, 0), (0, len(groups)))
        alone, rises = (np.pad(each, beside, constant_values=np.nan) for each in (self.alone, self.rises))
        return Tried((*self.parts, *groups), np.pad(self.lenders, beside, constant_values=-1), alone, rises)


@dataclass(frozen=True)
class Explainer:
    """Explains rows by a scoring function and ordinary rows of the pool.

    score: encoded rows (n, d) to scores (n,). score_changed: the same of rows that were put together from others
    (n, s, d), which the model may know; both are called with many rows at once. rough: one that is quicker and much
    like them, by which columns are picked where there are many. columns: names (c,). pool_scores: (N,).
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
        starts = range(0, max(len(x), 1), ROWS_AT_ONCE)
        return join([self._explain(x[start : start + ROWS_AT_ONCE]) for start in starts])

    def _explain(self, x: Floats) -> Explanation:
        lenders, nearest = self.ordinary.compare(x)
        scores, baseline = _in_one_call(self.score, np.stack([x, self.ordinary.rows[nearest]]))
        start, alone, raised = self._change_columns(x, lenders, nearest)
        columns = tuple((column,) for column in range(self.ordinary.n_columns))
        tried = Tried(columns, lenders, alone, raised - baseline[:, None])
        tried, named = self._add_groups(x, start, start - baseline, tried)
        matters = np.where(named, start[:, None] - tried.alone + tried.rises, -np.inf)
        way = _Way(self, x, nearest, self._features(tried.parts))
        contributions = way.walk(start, matters)
        remainder = scores - contributions.sum(axis=1) - baseline
        first = [first_parts(*each) for each in zip(contributions, remainder, strict=True)]
        together = way.reach(first)
        for row, parts in enumerate(first):
            together[row, 0] = tried.alone[row, parts[0]] if parts else np.nan
        alone, together = (_as_own(each, scores, start, baseline) for each in (tried.alone, together))
        positions = np.append(self.ordinary.positions, -1)
        return Explanation(
            self.columns,
            tried.parts,
            scores,
            baseline,
            contributions,
            remainder,
            alone,
            self._rank(scores),
            self._rank_changed(alone, scores),
            self._rank_changed(together, scores),
            positions[tried.lenders],
            positions[nearest],
        )

    def _change_columns(self, x: Floats, lenders: Rows, nearest: Rows) -> tuple[Floats, Floats, Floats]:
        """Scores of the rows as they are (n,), with each column replaced (n, c), and of the row of the baseline with
        each of their values in it (n, c): NaN where a rough score has left a column out.

        Of a row with several wrong values none may lower the score by itself; each raises that of an ordinary row.
        """
        reference, every = self.ordinary.lent[nearest][:, None], np.arange(len(x))[:, None]
        columns = self._pick(x, lenders)  # (n, q)
        has, n_tried = self._features([(column,) for column in range(lenders.shape[1])])[columns], columns.shape[1]
        replaced = np.where(has, self.ordinary.lent[lenders[every, columns]], x[:, None])
        inserted = np.where(has, x[:, None], reference)
        by_both = np.stack([x, self.ordinary.rows[nearest]], axis=1)  # (n, 2, d)
        by_own = np.repeat(x[:, None], 2, axis=1)
        sources = np.concatenate(
            [np.repeat(by_own[:, None], 1 + n_tried, 1), np.repeat(by_both[:, None], n_tried, 1)], 1
        )
        found = self._score_changed(np.concatenate([x[:, None], replaced, inserted], axis=1), sources)
        alone, raised = np.full((2, *lenders.shape), np.nan)
        alone[every, columns], raised[every, columns] = found[:, 1 : 1 + n_tried], found[:, 1 + n_tried :]
        return found[:, 0], alone, raised

    def _pick(self, x: Floats, lenders: Rows) -> Rows:
        """The columns (n, q) of each row that are tried: all, or those that lower a rough score most."""
        n_columns = lenders.shape[1]
        every = np.broadcast_to(np.arange(n_columns), lenders.shape)
        if n_columns <= MOST_TRIED:
            return every
        has = self._features([(column,) for column in range(n_columns)])
        rough = _in_one_call(self.rough, np.where(has, self.ordinary.lent[lenders], x[:, None]))
        return np.argpartition(rough, MOST_TRIED - 1, axis=1)[:, :MOST_TRIED]

    def _add_groups(self, x: Floats, start: Floats, heights: Floats, tried: Tried) -> tuple[Tried, np.ndarray]:
        """The same with groups of columns that are to be named together, and which parts (n, p) are to be named."""
        drops, named = start[:, None] - tried.alone, np.isfinite(tried.alone)
        families = [
            [family for family in find_families(matters, self.ordinary.hang_together) if may_be_named(family, *each)]
            for matters, *each in zip(drops + tried.rises, drops, heights, strict=True)
        ]
        flat = [(row, group) for row, own in enumerate(families) for family in own for group in family]
        if not flat:
            return tried, named
        rows, groups = np.array([row for row, _ in flat]), [group for _, group in flat]
        lenders = self.ordinary.lenders_together(x[rows], groups)
        replaced = np.where(self._features(groups), self.ordinary.lent[lenders], x[rows])
        scores = np.asarray(self.score_changed(replaced, x[rows, None]), np.float64)
        seen = [{tried.parts[at]: float(drop) for at, drop in enumerate(each)} for each in drops]
        for (row, group), score in zip(flat, scores, strict=True):
            seen[row][group] = float(start[row] - score)
        chosen = {(row, choose_group(family, seen[row])) for row, own in enumerate(families) for family in own}
        kept = [at for at, each in enumerate(flat) if each in chosen]
        tried = tried.widen(sorted({groups[at] for at in kept}))
        named = np.pad(named, ((0, 0), (0, len(tried.parts) - named.shape[1])))
        for at in kept:
            row, group = flat[at]
            part = tried.parts.index(group)
            tried.lenders[row, part], tried.alone[row, part] = lenders[at], scores[at]
            tried.rises[row, part] = tried.rises[row, group].max()
            named[row, group], named[row, part] = False, True
        return tried, named

    def _features(self, parts: Sequence[Part]) -> np.ndarray:
        """Which features (p, d) each part has."""
        has = np.zeros((len(parts), self.ordinary.n_columns), bool)
        for at, part in enumerate(parts):
            has[at, list(part)] = True
        return has[:, self.ordinary.column_of]

    def _score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n, q) of rows (n, q, d) that were put together from others (n, q, s, d)."""
        flat = sources.reshape(-1, *sources.shape[2:])
        return _in_one_call(lambda rows: self.score_changed(rows, flat), x)

    def _rank(self, scores: Floats) -> Rows:
        """The ranks that scores have among the pool's."""
        return np.asarray(len(self._sorted) - np.searchsorted(self._sorted, scores, side="right") + 1)

    def _rank_changed(self, changed: Floats, scores: Floats) -> Rows:
        """The ranks of rows (n,) with other scores (n, q); 0 for NaN. A row of the pool does not stand above itself."""
        near = np.searchsorted(self._sorted, scores - SAME * (1 + np.abs(scores)))
        own = np.abs(self._sorted[np.minimum(near, len(self._sorted) - 1)] - scores) <= SAME * (1 + np.abs(scores))
        ranks = self._rank(changed) - (own[:, None] & (changed < scores[:, None]))
        return np.where(np.isnan(changed), 0, ranks)

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(self.pool_scores)


class _Way:
    """Rows (n, d) on their way to the row of the baseline: parts, each with features (p, d), take its values."""

    def __init__(self, explainer: Explainer, x: Floats, nearest: Rows, features: np.ndarray) -> None:
        self._x, self._features, self._score = x, features, explainer.score_changed
        self._lent, self._rows = explainer.ordinary.lent[nearest], explainer.ordinary.rows[nearest]
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def walk(self, start: Floats, matters: Floats) -> Floats:
        """Contributions (n, p) of the parts that say most: what is lost where one takes the baseline's values.

        Each is the mean of two ways there, the most telling part first and last: a score that grows like a logarithm
        would give too little to what is replaced first. start: (n,). matters: (n, p).
        """
        ways = [(row, way) for row, order in enumerate(map(_worth_a_step, matters)) for way in (order, order[::-1])]
        self._look([(row, frozenset(way[:n])) for row, way in ways for n in range(1, len(way) + 1)])
        contributions = np.zeros_like(matters)
        for row, way in ways:
            score = start[row]
            for n, part in enumerate(way, 1):
                reached = self._known[row, frozenset(way[:n])]
                contributions[row, part] += (score - reached) / 2
                score = reached
        return contributions

    def reach(self, parts: Sequence[Sequence[int]]) -> Floats:
        """Scores (n, MOST_REASONS) with one, two and three of each row's parts replaced; NaN where it has fewer."""
        places = [(row, n, frozenset(own[:n])) for row, own in enumerate(parts) for n in range(2, len(own) + 1)]
        self._look([(row, some) for row, _, some in places])
        reached = np.full((len(parts), MOST_REASONS), np.nan)
        for row, n, some in places:
            reached[row, n - 1] = self._known[row, some]
        return reached

    def _look(self, wanted: Sequence[tuple[int, frozenset[int]]]) -> None:
        """Score what is not known yet, in one call."""
        new = [each for each in dict.fromkeys(wanted) if each not in self._known]
        if not new:
            return
        rows = np.array([row for row, _ in new])
        has = np.stack([self._features[list(some)].any(axis=0) for _, some in new])
        states = np.where(has, self._lent[rows], self._x[rows])
        scores = self._score(states, np.stack([self._x[rows], self._rows[rows]], axis=1))
        self._known.update(zip(new, np.asarray(scores, np.float64).tolist(), strict=True))


def _worth_a_step(matters: Floats) -> list[int]:
    """The parts of a row that say most, in order, by how much each matters (p,)."""
    order = np.argsort(-matters, kind="stable")[:MOST_STEPS]
    least = TRIFLE * max(float(matters[order[0]]), 0.0)
    some = matters[order] > least if least > 0 else np.isfinite(matters[order])
    return [int(part) for part in order[some]]


def _in_one_call(score: Score, x: Floats) -> Floats:
    """Scores (...) of rows (..., d)."""
    return np.asarray(score(x.reshape(-1, x.shape[-1])), np.float64).reshape(x.shape[:-1])


def _as_own(changed: Floats, scores: Floats, start: Floats, baseline: Floats) -> Floats:
    """Scores of changed rows (n, q) as those of the rows themselves (n,), which score otherwise than as new ones (n,).

    A row may be known to the model, with a label of its own. What that adds is lost as the row loses what raises it: a
    changed row that is as low as the baseline has nothing of it, one that is as it was has all.
    """
    height = np.where(start > baseline, start - baseline, 1.0)[:, None]
    kept = np.where((start > baseline)[:, None], np.clip((changed - baseline[:, None]) / height, 0, 1), 1.0)
    return np.asarray(changed + kept * (scores - start)[:, None])
