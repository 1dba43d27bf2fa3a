"""Rows explained by replacement: what their score would be with the values of similar ordinary rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from soel.explain.explanation import MOST_REASONS, Explanation, Part, first_parts, join
from soel.explain.groups import choose_group, find_families, may_be_named
from soel.explain.ordinary import Ordinary
from soel.threads import single_threaded_blas
from soel.types import Floats, Rows

Score = Callable[[Floats], Floats]
ScoreChanged = Callable[[Floats, Floats], Floats]
ScoreBoth = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
Seen = list[dict[Part, tuple[int, float]]]  # a row's families: who lends to each group, and the score with it
MOST_TRIED = 20  # columns of a row that are replaced alone; of more, a rough score picks them
MOST_STEPS = 6  # parts that are then replaced one after the other; the others go together
TRIFLE = 0.02  # of what the first of them matters: less is not worth a step
ROWS_AT_ONCE = 64
MOST_VALUES = 2**23  # of rows with each column replaced
SAME = 1e-6  # between the scores of one row, by whatever stands beside it when it is scored


@dataclass(frozen=True)
class Trials:
    """What was seen of n rows where one of p parts was changed alone: every column, then groups.

    lenders: (n, p) ordinary rows whose values were taken, -1 for none. alone: (n, p) scores with them. rises: (n, p) by
    how much the row's own values raise the row of the baseline. NaN where it was not tried.
    """

    parts: tuple[Part, ...]
    lenders: Rows
    alone: Floats
    rises: Floats

    def widen(self, groups: Sequence[Part]) -> Trials:
        """The same with groups that nothing is known of."""
        beside = ((0, 0), (0, len(groups)))
        alone, rises = (np.pad(each, beside, constant_values=np.nan) for each in (self.alone, self.rises))
        return Trials((*self.parts, *groups), np.pad(self.lenders, beside, constant_values=-1), alone, rises)


@dataclass(frozen=True)
class Explainer:
    """Explains rows by a scoring function and ordinary rows of the pool.

    score_changed: encoded rows (n, d) that were put together from others (n, s, d), which the model may know, to
    scores (n,). score_both: rows (m, d) as they are, and then such rows with their sources, to the scores of both: one
    look at all of them is quicker than two. rough: scores that are quicker and much like them, by which columns are
    picked where there are many. columns: names (c,). pool_scores: (N,).
    """

    score_both: ScoreBoth
    score_changed: ScoreChanged
    rough: Score
    ordinary: Ordinary
    columns: tuple[str, ...]
    pool_scores: Floats

    def explain(self, x: Floats) -> Explanation:
        """Encoded rows (n, d) explained; the cost of a row is bounded, whatever the number of columns."""
        x = np.asarray(x, np.float32)
        step = max(1, min(ROWS_AT_ONCE, MOST_VALUES // (self.ordinary.n_columns * max(x.shape[1], 1))))
        with single_threaded_blas():  # or threads of the matrix library would wait for small products
            return join([self._explain(x[start : start + step]) for start in range(0, max(len(x), 1), step)])

    def _explain(self, x: Floats) -> Explanation:
        lenders, nearest = self.ordinary.compare(x)
        (scores, baseline), start, trials, seen = self._change_alone(x, lenders, nearest)
        trials = replace(trials, rises=trials.rises - baseline[:, None])
        trials, named = _name_groups(start, trials, seen)
        matters = np.where(named, start[:, None] - trials.alone + trials.rises, -np.inf)
        way = _Way(self, x, nearest, self._features(trials.parts))
        contributions = way.walk(start, matters)
        remainder = scores - contributions.sum(axis=1) - baseline
        first = [first_parts(*each) for each in zip(contributions, remainder, strict=True)]
        together = way.reach(first)
        for row, parts in enumerate(first):
            together[row, 0] = trials.alone[row, parts[0]] if parts else np.nan
        alone, together = (_as_own(each, scores, start, baseline) for each in (trials.alone, together))
        positions = np.append(self.ordinary.positions, -1)
        return Explanation(
            self.columns,
            trials.parts,
            scores,
            baseline,
            contributions,
            remainder,
            alone,
            self._rank_changed(scores[:, None], scores)[:, 0],
            self._rank_changed(alone, scores),
            self._rank_changed(together, scores),
            positions[trials.lenders],
            positions[nearest],
        )

    def _change_alone(self, x: Floats, lenders: Rows, nearest: Rows) -> tuple[Floats, Floats, Trials, list[Seen]]:
        """Scores (2, n) of the rows and their baselines as they are, of the rows as if they were put together (n,),
        what is seen where one column is changed, and where groups are.

        Of a row with several wrong values none may lower the score by itself; each raises that of an ordinary row,
        whose score is still in `rises`. A rough score says what is worth trying; then all is scored in one call.
        """
        every = np.arange(len(x))
        lone = self._features([(column,) for column in range(self.ordinary.n_columns)])  # (c, d)
        replaced = np.where(lone, self.ordinary.lent[lenders], x[:, None])  # (n, c, d)
        inserted = np.where(lone, x[:, None], self.ordinary.lent[nearest][:, None])
        columns, families = self._pick(x, nearest, replaced, inserted)  # (n, q)
        flat = [(row, group) for row, own in enumerate(families) for family in own for group in family]
        in_group, groups = np.array([row for row, _ in flat], np.int64), [group for _, group in flat]
        group_lenders = self.ordinary.lenders_together(x[in_group], groups)
        together = np.where(self._features(groups), self.ordinary.lent[group_lenders], x[in_group])
        n_rows, n_tried = columns.shape
        of_column, column = np.repeat(every, n_tried), columns.ravel()
        changed = np.concatenate([x, replaced[of_column, column], together, inserted[of_column, column]])
        rows = np.concatenate([every, of_column, in_group, of_column])
        other = np.where(
            (np.arange(len(rows)) < len(rows) - n_rows * n_tried)[:, None], x[rows], self.ordinary.rows[nearest[rows]]
        )
        known = np.concatenate([x, self.ordinary.rows[nearest]])
        as_they_are, scores = (
            np.asarray(each, np.float64) for each in self.score_both(known, changed, np.stack([x[rows], other], axis=1))
        )
        start, replaced_scores, group_scores, inserted_scores = np.split(
            scores, np.cumsum([n_rows, n_rows * n_tried, len(flat)])
        )
        alone, raised = np.full((2, *lenders.shape), np.nan)
        alone[of_column, column], raised[of_column, column] = replaced_scores, inserted_scores
        found = dict(zip(flat, zip(group_lenders.tolist(), group_scores.tolist(), strict=True), strict=True))
        seen: list[Seen] = [
            [{group: found[row, group] for group in family} for family in own] for row, own in enumerate(families)
        ]
        own = as_they_are.reshape(2, n_rows)
        return own, start, Trials(tuple((each,) for each in range(lenders.shape[1])), lenders, alone, raised), seen

    def _pick(
        self, x: Floats, nearest: Rows, replaced: Floats, inserted: Floats
    ) -> tuple[Rows, list[list[tuple[Part, ...]]]]:
        """The columns (n, q) of each row that are worth trying, and the families of each row, by a rough score."""
        as_they_are = np.stack([x, self.ordinary.rows[nearest]], axis=1)
        rough = _in_one_call(self.rough, np.concatenate([as_they_are, replaced, inserted], axis=1))
        n_columns = replaced.shape[1]
        drops = rough[:, :1] - rough[:, 2 : 2 + n_columns]
        matters = drops + rough[:, 2 + n_columns :] - rough[:, 1:2]
        columns = np.argsort(-matters, axis=1, kind="stable")[:, :MOST_TRIED]
        found = np.full(matters.shape, np.nan)
        np.put_along_axis(found, columns, np.take_along_axis(matters, columns, axis=1), axis=1)
        families = [
            [family for family in find_families(own, self.ordinary.hang_together) if may_be_named(family, *each)]
            for own, *each in zip(found, drops, rough[:, 0] - rough[:, 1], strict=True)
        ]
        return columns, families

    def _features(self, parts: Sequence[Part]) -> np.ndarray:
        """Which features (p, d) each part has."""
        has = np.zeros((len(parts), self.ordinary.n_columns), bool)
        for at, part in enumerate(parts):
            has[at, list(part)] = True
        return has[:, self.ordinary.column_of]

    def _rank(self, scores: Floats) -> Rows:
        """The ranks that scores have among the pool's."""
        return np.asarray(len(self._pool_in_order) - np.searchsorted(self._pool_in_order, scores, side="right") + 1)

    def _rank_changed(self, changed: Floats, scores: Floats) -> Rows:
        """The ranks of rows (n,) with other scores (n, q); 0 for NaN. A row of the pool does not stand above itself."""
        near = np.searchsorted(self._pool_in_order, scores - SAME * (1 + np.abs(scores)))
        own = self._pool_in_order[np.minimum(near, len(self._pool_in_order) - 1)]
        in_pool = np.abs(own - scores) <= SAME * (1 + np.abs(scores))
        ranks = self._rank(changed) - (in_pool[:, None] & (changed < own[:, None]))
        return np.where(np.isnan(changed), 0, ranks)

    @cached_property
    def _pool_in_order(self) -> Floats:
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
        steps = [(row, frozenset(way[:n])) for row, way in ways for n in range(1, len(way) + 1)]
        pairs = [(row, frozenset(pair)) for row, way in ways[::2] for pair in combinations(way[:MOST_REASONS], 2)]
        self._look([*steps, *pairs])  # two of the first parts are asked for next, as a rule
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


def _name_groups(start: Floats, trials: Trials, seen: Sequence[Seen]) -> tuple[Trials, np.ndarray]:
    """The same with the groups that are to be named, and which parts (n, p) are: those groups, and columns in none."""
    chosen: list[tuple[int, Part, int, float]] = []
    for row, families in enumerate(seen):
        drops: dict[Part, float] = {(at,): float(start[row] - score) for at, score in enumerate(trials.alone[row])}
        for family in families:
            own = drops | {group: float(start[row] - score) for group, (_, score) in family.items()}
            group = choose_group(tuple(family), own)
            if group is not None:
                chosen.append((row, group, *family[group]))
    named = np.isfinite(trials.alone)
    trials = trials.widen(sorted({group for _, group, _, _ in chosen}))
    named = np.pad(named, ((0, 0), (0, len(trials.parts) - named.shape[1])))
    for row, group, lender, score in chosen:
        part = trials.parts.index(group)
        trials.lenders[row, part], trials.alone[row, part] = lender, score
        trials.rises[row, part] = trials.rises[row, group].max()
        named[row, group], named[row, part] = False, True
    return trials, named


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
