"""Explains rows of a table by a model and the pool that it was learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.explain.counterfactual import Search
from soel.explain.explanation import Explanation, Reason, RowExplanation, show_cell
from soel.explain.groups import MOST_ROWS, Part, find_groups
from soel.numeric import pairs, single_threaded_blas, spread_rows
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.types import ANOMALY, NORMAL, Floats, Labels, Progress, Rows

if TYPE_CHECKING:
    from soel.model import Blend

N_DONORS = 3
NEAR = 2  # times the number of alarms: rows that rank so high are near the threshold
FEWEST_NEAR = 10
CALM_SHARE = 0.3  # of the pool, by score: its least anomalous rows are donors
NO_ALARMS_SHARE = 0.1  # of the pool counts as alarms where the threshold lets none through
ROWS_AT_ONCE = 64
SAME = 1e-6  # between the scores of one row, by whatever stands beside it when it is scored

Cells = Mapping[str, Sequence[Any] | np.ndarray]


class Explainer:
    """Finds the smallest change of rows, by a model and some rows (m, d) of the pool that it was learnt from.

    Donors for alarms are `ordinary` rows: among the lower part of the pool by score, below the threshold, and nobody
    said otherwise. Donors for rows that are none are `suspicious`. line: above it a row is an alarm.
    """

    def __init__(
        self,
        model: Blend,
        encoder: Encoder,
        pool: Frame,
        features: Floats,
        scores: Floats,
        labels: Labels,
        threshold: float,
        ids: Sequence[str] | None = None,
    ) -> None:
        """From a pool, encoded to features (N, d), with its scores (N,) by the model, labels (N,) and ids."""
        scores, every = np.asarray(scores, np.float64), np.ones(len(scores), bool)
        self.line = threshold if (scores > threshold).any() else float(np.quantile(scores, 1 - NO_ALARMS_SHARE))
        calm = (scores <= min(self.line, float(np.quantile(scores, CALM_SHARE)))) & (labels != ANOMALY)
        some = (calm, (scores > self.line) & (labels != NORMAL), every)
        chosen = [rows[spread_rows(len(rows), MOST_ROWS)] for rows in map(np.flatnonzero, some)]
        at = np.unique(np.concatenate(chosen))
        self.ordinary, self.suspicious, self._drawn = (np.searchsorted(at, rows) for rows in chosen)
        self.model, self.encoder, self.pool_scores = model, encoder, np.sort(scores)
        self.positions, self.rows, self.scores = at, np.asarray(features[at], np.float32), scores[at]
        self._frame, self._names = pool.take(at), [f"row {row}" if ids is None else ids[row] for row in at.tolist()]

    def explain(self, frame: Frame, features: Floats, progress: Progress | None = None) -> Explanation:
        """Rows with the features (n, d) that they were encoded to; the cost of a row is bounded, however wide it is."""
        x, found = np.asarray(features, np.float32), list[RowExplanation]()
        with single_threaded_blas():  # or threads of the matrix library would wait for small products
            for start in range(0, len(x), ROWS_AT_ONCE):
                rows = np.arange(start, min(start + ROWS_AT_ONCE, len(x)))
                found += self._explain(self.encoder.match(frame.take(rows)), x[rows])
                if progress is not None:
                    progress(len(found), len(x))
        columns = self.encoder.used_columns
        groups = tuple(tuple(columns[at] for at in group) for group in self.groups)
        return Explanation(tuple(found), columns, groups)

    def _explain(self, cells: Cells, x: Floats) -> list[RowExplanation]:
        scores = np.asarray(self.model.score(x), np.float64)
        ranks, alarms = self.rank(scores), scores > self.line
        n_alarms = int((self.pool_scores > self.line).sum())
        near = ~alarms & (ranks <= max(NEAR * n_alarms, n_alarms + FEWEST_NEAR))
        each = zip(scores.tolist(), ranks.tolist(), alarms.tolist(), strict=True)
        found = [RowExplanation(score, rank, alarm, "", -1, score, (), 0.0, rank, False) for score, rank, alarm in each]
        searches = dict[int, Search]()
        for chosen, donors in ((alarms, self.ordinary), (near, self.suspicious)):
            rows = np.flatnonzero(chosen)
            if len(rows) and len(donors):
                nearest = self.nearest(x[rows], donors)
                searches |= {
                    row: Search(self, x[row], found[row], near)
                    for row, near in zip(rows.tolist(), nearest, strict=True)
                }
        self._run([*searches.values()])
        for row, search in searches.items():
            given = {name: column[row] for name, column in cells.items()}
            found[row] = self._describe(found[row], search, given)
        return found

    def _run(self, searches: Sequence[Search]) -> None:
        """All trials of a step are scored in one call."""
        for step in zip_longest(*(search.run() for search in searches), fillvalue=()):
            each = zip(searches, step, strict=True)
            new = [(search, t) for search, trials in each for t in dict.fromkeys(trials) if t not in search.raw]
            if new:
                states = np.stack([search.state(trial) for search, trial in new])
                sources = np.stack([[search.x, search.donors[trial[0]]] for search, trial in new])
                scores = self.model.score_changed(states, sources)
                for (search, trial), score in zip(new, np.asarray(scores, np.float64).tolist(), strict=True):
                    search.raw[trial] = score

    def _describe(self, row: RowExplanation, search: Search, given: Mapping[str, Any]) -> RowExplanation:
        slot, donor = search.best[0], int(search.rows[search.best[0]])
        baseline, changed = float(self.scores[donor]), search.score_of(search.best)
        like, position, rank = self._names[donor], int(self.positions[donor]), self.rank_changed(changed, row.score)
        row = replace(row, like=like, donor=position, baseline=baseline, remainder=row.score - baseline)
        if search.sign * (rank - row.rank) <= 0:  # a change would say nothing
            return row
        usual, apart = {name: column[donor] for name, column in self._usual.items()}, search.apart[slot]
        reasons = tuple(self._reason(part, phi, given, usual, apart) for part, phi in search.contributions())
        suffices = search.miss(search.best) <= 0
        return replace(row, reasons=reasons, remainder=changed - baseline, changed_rank=rank, suffices=suffices)

    def _reason(
        self, part: Part, contribution: float, given: Mapping[str, Any], usual: Mapping[str, Any], apart: Floats
    ) -> Reason:
        """A part as cells, without columns in which both rows look the same.

        Of two columns, which are equally central, the one in which the rows differ more comes first. apart: (d,).
        """
        group = next(at for at, columns_of in enumerate(self.groups) if part[0] in columns_of)
        if len(part) == 2 and part[0] not in self.named:
            part = tuple(sorted(part, key=lambda column: -apart[self.encoder.column_of == column].max()))
        cells = [(name, given[name], usual[name]) for name in (self.encoder.used_columns[column] for column in part)]
        differ = [each for each in cells if show_cell(each[1]) != show_cell(each[2])] or cells
        columns, values, others = zip(*differ, strict=True)
        return Reason(columns, values, others, contribution, group, _direction(values[0], others[0]))

    def nearest(self, x: Floats, donors: Rows) -> Rows:
        """The donors (n, k) that are most like each row, the nearest first."""
        apart = pairs(self.model.embed(x), self.model.embed(self.rows[donors]))
        return np.asarray(donors[np.argsort(apart, axis=1, kind="stable")[:, :N_DONORS]])

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
        edge, known = SAME * (1 + abs(score)), self.pool_scores
        if down:
            return float(min([self.line, *known[: np.searchsorted(known, score - edge)][-1:]]))
        return float(max([self.line, *known[np.searchsorted(known, score + edge, side="right") :][:1]]))

    @cached_property
    def groups(self) -> tuple[Part, ...]:
        """The columns that go together; first, and a name for its group, is one that experts named."""
        found = find_groups(self.rows[self._drawn], self.encoder.column_of)
        return tuple(tuple(sorted(group, key=lambda column: column not in self.named)) for group in found)

    @cached_property
    def named(self) -> frozenset[int]:
        """The columns that experts named for anomalies."""
        detector = self.model.detector
        named = () if detector is None else self.encoder.column_of[detector.without_names()[1]].tolist()
        return frozenset(named)

    @cached_property
    def _usual(self) -> Cells:
        return self.encoder.match(self._frame)

    @cached_property
    def spread(self) -> Floats:
        """The standard deviation (d,) of each feature, 1 where it is constant."""
        spread = self.rows.std(axis=0)
        return np.where(spread > 0, spread, 1)


def _direction(value: Any, usual: Any) -> int:
    """1 for up, -1 for down, 0 where the two have no order."""
    if isinstance(value, str) or value is None or usual is None:
        return 0
    return int(value > usual) - int(value < usual)
