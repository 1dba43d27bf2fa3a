"""The smallest change that makes a row ordinary: groups of columns take the values of an ordinary row like it.

With the score f, the threshold t, a row x and an ordinary row z (the donor), x_S is x with the values of z in the
groups S. Wanted is the smallest S with f(x_S) <= t: found greedily from each of the nearest donors, at most five
groups, and then searched among all subsets of what the way there took. A normal row near the threshold is explained the
other way round: its donors are alarms, and wanted is the smallest S with f(x_S) > t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from soel.explain.groups import MOST_ROWS, Part, find_groups, spread_rows
from soel.numeric import pairs, single_threaded_blas
from soel.types import ANOMALY, NORMAL, Booleans, Floats, Labels, Progress, Rows

if TYPE_CHECKING:
    from soel.model import Blend

MOST_GROUPS, N_DONORS = 5, 3
MOST_TRIED = 40  # groups in a first step, and columns within a group; of more, a rough score picks them
MOST_KEPT = 24  # groups, by what each does alone, that are tried in later steps
NEAR = 2  # times the number of alarms: rows that rank so high are near the threshold
FEWEST_NEAR = 10
CALM_SHARE = 0.3  # of the pool, by score: its least anomalous rows are donors
NO_ALARMS_SHARE = 0.1  # of the pool counts as alarms where the threshold lets none through
ROWS_AT_ONCE = 64
SAME = 1e-6  # between the scores of one row, by whatever stands beside it when it is scored

Coalition = frozenset[int]
Trial = tuple[int, int, Coalition]  # a row, one of its donors, and the parts that have the donor's values


@dataclass(frozen=True)
class Counterfactual:
    """The change found for one row: `parts` take the values of the pool's row `donor` (-1: nothing was looked for).

    score, rank: as the row is; changed_score, changed_rank: with the change. suffices: whether that takes it across
    the threshold. baseline: the donor's score. contributions: of each part, the largest first; always
    score = baseline + sum(contributions) + remainder.
    """

    score: float
    rank: int
    is_alarm: bool
    donor: int
    baseline: float
    parts: tuple[Part, ...]
    contributions: tuple[float, ...]
    changed_score: float
    changed_rank: int
    suffices: bool

    @classmethod
    def unchanged(
        cls, score: float, rank: int, is_alarm: bool, donor: int = -1, baseline: float | None = None
    ) -> Counterfactual:
        """Of a row that nothing was found for."""
        return cls(score, rank, is_alarm, donor, score if baseline is None else baseline, (), (), score, rank, False)

    @property
    def remainder(self) -> float:
        """What all other columns do together: the changed row's score less the donor's."""
        return self.changed_score - self.baseline


@dataclass(frozen=True)
class Explainer:
    """Finds the smallest change of rows, by a model and some rows of the pool that it was learnt from.

    rows: (m, d) encoded, their positions (m,) in the pool, their scores (m,). ordinary, suspicious, spread: which of
    them are donors for alarms, donors for rows that are none, and evenly drawn. pool_scores: (N,) in order. line: above
    it a row is an alarm. column_of: (d,) the column of each feature.
    """

    model: Blend
    rows: Floats
    positions: Rows
    scores: Floats
    ordinary: Rows
    suspicious: Rows
    spread: Rows
    pool_scores: Floats
    line: float
    column_of: Rows

    @classmethod
    def of(
        cls, model: Blend, pool: Floats, scores: Floats, labels: Labels, threshold: float, column_of: Rows
    ) -> Explainer:
        """From an encoded pool (N, d) with scores (N,) and labels (N,).

        Ordinary rows score among the lower part of the pool, below the threshold, and nobody said otherwise.
        """
        alarms = scores > threshold
        line = threshold if alarms.any() else float(np.quantile(scores, 1 - NO_ALARMS_SHARE))
        calm = (scores <= min(line, float(np.quantile(scores, CALM_SHARE)))) & (labels != ANOMALY)
        every = np.ones(len(scores), bool)
        some = (calm, (scores > line) & (labels != NORMAL), every)
        chosen = [rows[spread_rows(len(rows), MOST_ROWS)] for rows in map(np.flatnonzero, some)]
        positions = np.unique(np.concatenate(chosen))
        ordinary, suspicious, spread = (np.searchsorted(positions, some) for some in chosen)
        return cls(
            model,
            np.asarray(pool[positions], np.float32),
            positions,
            np.asarray(scores, np.float64)[positions],
            ordinary,
            suspicious,
            spread,
            np.sort(np.asarray(scores, np.float64)),
            line,
            column_of,
        )

    def explain(self, x: Floats, progress: Progress | None = None) -> list[Counterfactual]:
        """Encoded rows (n, d); the cost of a row is bounded, whatever the number of columns."""
        x, found = np.asarray(x, np.float32), list[Counterfactual]()
        with single_threaded_blas():  # or threads of the matrix library would wait for small products
            for start in range(0, len(x), ROWS_AT_ONCE):
                found += self._explain(x[start : start + ROWS_AT_ONCE])
                if progress is not None:
                    progress(len(found), len(x))
        return found

    def _explain(self, x: Floats) -> list[Counterfactual]:
        scores = np.asarray(self.model.score(x), np.float64)
        ranks, alarms = self.rank(scores), scores > self.line
        n_alarms = int((self.pool_scores > self.line).sum())
        near = ~alarms & (ranks <= max(NEAR * n_alarms, n_alarms + FEWEST_NEAR))
        each = zip(scores.tolist(), ranks.tolist(), alarms.tolist(), strict=True)
        found = [Counterfactual.unchanged(*one) for one in each]
        for down, chosen, donors in ((True, alarms, self.ordinary), (False, near, self.suspicious)):
            rows = np.flatnonzero(chosen)
            if len(rows) and len(donors):
                search = _Search(self, x[rows], scores[rows], self._nearest(x[rows], donors), down)
                for row, change in zip(rows.tolist(), search.run(), strict=True):
                    found[row] = change
        return found

    def rank(self, scores: Floats) -> Rows:
        """The ranks of scores (n,) among the pool's, 1 for the highest."""
        return np.asarray(len(self.pool_scores) - np.searchsorted(self.pool_scores, scores, side="right") + 1)

    def rank_changed(self, changed: float, score: float) -> int:
        """The rank of a row of this score with another one. A row of the pool does not stand above itself."""
        own = float(self.pool_scores[np.abs(self.pool_scores - score).argmin()])
        in_pool = abs(own - score) <= SAME * (1 + abs(score))
        return int(self.rank(np.array([changed]))[0]) - int(in_pool and changed < own)

    def line_of(self, score: float, down: bool) -> float:
        """What the score of a row has to cross: the line, and the next row of the pool, so that its rank moves."""
        edge = SAME * (1 + abs(score))
        if down:
            at = int(np.searchsorted(self.pool_scores, score - edge)) - 1
            return min(self.line, float(self.pool_scores[at])) if at >= 0 else self.line
        at = int(np.searchsorted(self.pool_scores, score + edge, side="right"))
        return max(self.line, float(self.pool_scores[at])) if at < len(self.pool_scores) else self.line

    @cached_property
    def groups(self) -> tuple[Part, ...]:
        """The columns that go together; first, and a name for its group, is one that experts named."""
        found = find_groups(self.rows[self.spread], self.column_of)
        return tuple(tuple(sorted(group, key=lambda column: column not in self.named)) for group in found)

    @cached_property
    def named(self) -> frozenset[int]:
        """The columns that experts named for anomalies."""
        detector = self.model.detector
        return frozenset() if detector is None else frozenset(self.column_of[detector.without_names()[1]].tolist())

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Every column alone, then the groups of several."""
        single = tuple((column,) for column in range(int(self.column_of.max()) + 1))
        return (*single, *(group for group in self.groups if len(group) > 1))

    @cached_property
    def features(self) -> Booleans:
        """Which features (p, d) each part has."""
        return np.stack([np.isin(self.column_of, part) for part in self.parts])

    def _nearest(self, x: Floats, donors: Rows) -> Rows:
        """The donors (n, k) that are most like each row, the nearest first."""
        apart = pairs(self.model.embed(x), self.model.embed(self.rows[donors]))
        return np.asarray(donors[np.argsort(apart, axis=1, kind="stable")[:, :N_DONORS]])


class _Search:
    """Rows (n, d), and donors (n, k) for each: all trials of a step are scored in one call.

    A row of the pool may score otherwise than the same row when it is new: by its label. What that adds is lost as the
    row comes to the donor: with f for new rows, a trial scores f(x_S) + (score of x - f(x)) |x_S - z| / |x - z|.
    """

    def __init__(self, explainer: Explainer, x: Floats, scores: Floats, donors: Rows, down: bool) -> None:
        self._explainer, self._x, self._donors = explainer, x, donors
        self._scores, self._sign = scores, 1.0 if down else -1.0
        self._lines = [explainer.line_of(score, down) for score in scores.tolist()]
        self._n_single = sum(len(group) for group in explainer.groups)
        self._raw: dict[Trial, float] = {}
        spread = explainer.rows.std(axis=0)
        apart = (x[:, None] - explainer.rows[donors]) / np.where(spread > 0, spread, 1)
        self._apart = np.square(apart, dtype=np.float64)  # (n, k, d)
        self._slots = [(row, slot) for row in range(len(x)) for slot in range(donors.shape[1])]
        part_of = {part: at for at, part in enumerate(explainer.parts)}
        self._groups = [part_of[group] for group in explainer.groups]

    def run(self) -> list[Counterfactual]:
        """The change of each row."""
        ways = self._walk()
        self._look([(*at, some) for at, way in ways.items() for some in coalitions(way)])
        best = [self._smallest(row, ways) for row in range(len(self._x))]
        best = self._narrow(best)
        self._look([(row, slot, some) for row, slot, parts in best for some in coalitions(sorted(parts))])
        return [self._describe(*each) for each in best]

    def _walk(self) -> dict[tuple[int, int], list[int]]:
        """The groups that each donor gives, the one that lowers the score most first, until one donor's suffice."""
        ways = {at: list[int]() for at in self._slots}
        tried = {at: self._shortlist(at, frozenset(), self._groups) for at in self._slots}
        self._look([(*at, frozenset[int]()) for at in self._slots])
        open_rows = set(range(len(self._x)))
        for step in range(MOST_GROUPS):
            going = [at for at in self._slots if at[0] in open_rows and len(tried[at]) > step]
            self._look([(*at, frozenset((*ways[at], group))) for at in going for group in tried[at]])
            for at in going:
                after = {g: self._miss((*at, frozenset((*ways[at], g)))) for g in tried[at] if g not in ways[at]}
                order = sorted(after, key=lambda group: (after[group], group))
                ways[at].append(order[0])
                if step == 0:
                    tried[at] = order[:MOST_KEPT]
                if after[order[0]] <= 0:
                    open_rows.discard(at[0])
        return ways

    def _smallest(self, row: int, ways: dict[tuple[int, int], list[int]]) -> Trial:
        """Of all donors and all subsets of their ways the one with the fewest groups and columns that suffices; where
        none does, the one that comes nearest.
        """
        trials = [(row, slot, some) for slot in range(self._donors.shape[1]) for some in coalitions(ways[row, slot])]
        enough = [trial for trial in trials if trial[2] and self._miss(trial) <= 0]
        if enough:
            return min(enough, key=lambda trial: (len(trial[2]), self._n_columns(trial[2]), self._miss(trial)))
        return min(trials, key=lambda trial: (self._miss(trial), len(trial[2])))

    def _narrow(self, best: list[Trial]) -> list[Trial]:
        """The same with single columns in place of groups, where one alone does it."""
        parts = self._explainer.parts
        for place in range(MOST_GROUPS):
            tries: dict[int, list[Trial]] = {}
            for at, (row, slot, some) in enumerate(best):
                group = sorted(some)[place] if place < len(some) else -1
                if group >= self._n_single and self._miss(best[at]) <= 0:
                    rest = some - {group}
                    columns = self._shortlist((row, slot), rest, list(parts[group]))
                    tries[at] = [(row, slot, rest | {column}) for column in columns]
            self._look([trial for each in tries.values() for trial in each])
            for at, each in tries.items():
                narrow = min(each, key=self._miss)
                best[at] = narrow if self._miss(narrow) <= 0 else best[at]
        return best

    def _describe(self, row: int, slot: int, some: Coalition) -> Counterfactual:
        explainer, score = self._explainer, float(self._scores[row])
        baseline = float(explainer.scores[self._donors[row, slot]])
        parts = sorted(some)
        given = [-phi for phi in shapley_values(parts, lambda these: self._score((row, slot, these)))]
        order = np.argsort([-self._sign * each for each in given], kind="stable").tolist()
        changed = self._score((row, slot, some))
        rank, changed_rank = int(explainer.rank(np.array([score]))[0]), explainer.rank_changed(changed, score)
        is_alarm, donor = self._sign > 0, int(explainer.positions[self._donors[row, slot]])
        if self._sign * (changed_rank - rank) <= 0:  # it says nothing
            return Counterfactual.unchanged(score, rank, is_alarm, donor, baseline)
        named, shares = tuple(explainer.parts[parts[at]] for at in order), tuple(given[at] for at in order)
        suffices = self._miss((row, slot, some)) <= 0
        return Counterfactual(score, rank, is_alarm, donor, baseline, named, shares, changed, changed_rank, suffices)

    def _n_columns(self, some: Coalition) -> int:
        return sum(len(self._explainer.parts[part]) for part in some)

    def _shortlist(self, at: tuple[int, int], some: Coalition, parts: Sequence[int]) -> list[int]:
        """Those of the parts that are worth trying beside some others, by a rough score where they are many."""
        if len(parts) <= MOST_TRIED:
            return list(parts)
        rough = self._sign * self._explainer.model.rough_score(self._states([(*at, some | {part}) for part in parts]))
        return [parts[place] for place in np.argsort(rough, kind="stable")[:MOST_TRIED]]

    def _miss(self, trial: Trial) -> float:
        """By how much a trial misses the line."""
        gap = self._sign * (self._score(trial) - self._lines[trial[0]])
        return gap if self._sign > 0 else float(np.nextafter(gap, np.inf))

    def _score(self, trial: Trial) -> float:
        """The score of a trial as that of the row itself."""
        row, slot, some = trial
        own, start = float(self._scores[row]), self._raw[row, slot, frozenset()]
        apart = self._apart[row, slot]
        changed = self._explainer.features[list(some)].any(axis=0)
        left = np.sqrt(apart[~changed].sum() / (apart.sum() or 1.0))
        return self._raw[trial] + float(left) * (own - start) if some else own

    def _states(self, trials: Sequence[Trial]) -> Floats:
        """The rows (t, d) that are tried."""
        rows, slots = (np.array(each, np.int64) for each in zip(*[trial[:2] for trial in trials], strict=True))
        features = self._explainer.features
        has = np.stack([features[list(some)].any(axis=0) for _, _, some in trials])
        return np.where(has, self._explainer.rows[self._donors[rows, slots]], self._x[rows])

    def _look(self, wanted: Sequence[Trial]) -> None:
        """Score what is not known yet, in one call."""
        new = [trial for trial in dict.fromkeys(wanted) if trial not in self._raw]
        if not new:
            return
        rows, slots = (np.array(each, np.int64) for each in zip(*[trial[:2] for trial in new], strict=True))
        sources = np.stack([self._x[rows], self._explainer.rows[self._donors[rows, slots]]], axis=1)
        scores = self._explainer.model.score_changed(self._states(new), sources)
        self._raw.update(zip(new, np.asarray(scores, np.float64).tolist(), strict=True))


def coalitions(parts: Sequence[int]) -> Iterator[Coalition]:
    """All 2^k subsets of k parts, the smaller ones first."""
    return (frozenset(some) for size in range(len(parts) + 1) for some in combinations(parts, size))


def shapley_values(parts: Sequence[int], value: Callable[[Coalition], float]) -> tuple[float, ...]:
    """phi_i = sum over S without i of |S|! (k - |S| - 1)! / k! (v(S + i) - v(S)), of each of k parts.

    They sum to v(all) - v(none). value: of each of the 2^k coalitions.
    """
    k = len(parts)
    return tuple(
        sum(
            factorial(len(some)) * factorial(k - len(some) - 1) / factorial(k) * (value(some | {part}) - value(some))
            for some in coalitions([other for other in parts if other != part])
        )
        for part in parts
    )
