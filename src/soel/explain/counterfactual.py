"""The smallest change that makes a row ordinary: groups of columns take the values of an ordinary row like it.

With the score f, the threshold t, a row x and an ordinary row z (the donor), x_S is x with the values of z in the
groups S. Wanted is the smallest S with f(x_S) <= t: found greedily from each of the nearest donors, at most five
groups, and then searched among all subsets of what the way there took. A normal row near the threshold is explained the
other way round: its donors are alarms, and wanted is the smallest S with f(x_S) > t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.explain.groups import Part
from soel.types import Booleans, Floats, Rows

if TYPE_CHECKING:
    from soel.explain.explainer import Explainer
    from soel.explain.explanation import RowExplanation

MOST_GROUPS = 5
MOST_TRIED = 40  # groups in a first step, and columns within a group; of more, a rough score picks them
MOST_KEPT = 24  # groups, by what each does alone, that are tried in later steps

Coalition = frozenset[Any]  # parts that have the values of a donor
Trial = tuple[int, Coalition]  # which donor, and what it gives
NOTHING: Coalition = frozenset()


class Search:
    """One row x (d,) beside its donors (k, d); whoever runs it scores the trials, those of many rows at once.

    A row of the pool may score otherwise than the same row when it is new: by its label. What that adds is lost as the
    row comes to the donor: with f for new rows, a trial scores f(x_S) + (score of x - f(x)) |x_S - z| / |x - z|.
    """

    def __init__(self, explainer: Explainer, x: Floats, row: RowExplanation, donors: Rows) -> None:
        """donors: (k,) rows of the explainer's."""
        self.x, self.score, self.rows, self.donors = x, row.score, donors, explainer.rows[donors]
        self.apart = np.square((x - self.donors) / explainer.spread, dtype=np.float64)  # (k, d)
        self.line, self.sign = explainer.line_of(row.score, row.is_alarm), 1.0 if row.is_alarm else -1.0
        self.raw = dict[Trial, float]()  # scores of trials as of rows that the model does not know
        self.best: Trial = (0, NOTHING)  # the smallest change that suffices, or the one that comes nearest
        self._groups, self._column_of = explainer.groups, explainer.encoder.column_of
        self._rough = explainer.model.rough_score

    def run(self) -> Iterator[list[Trial]]:
        """Finds `best`; goes on when `raw` has the trials that it yields."""
        each, ways = range(len(self.donors)), [list[Part]() for _ in self.donors]
        tried = [self._shortlist(donor, NOTHING, _in_order(self._groups)) for donor in each]
        yield [(donor, NOTHING) for donor in each]
        for step in range(min(MOST_GROUPS, len(self._groups))):  # the group that lowers the score most first
            yield [(donor, frozenset([*ways[donor], part])) for donor in each for part in tried[donor]]
            for donor, way in enumerate(ways):
                after = {part: self.miss((donor, frozenset([*way, part]))) for part in tried[donor] if part not in way}
                order = sorted(after, key=after.__getitem__)
                tried[donor] = tried[donor] if step else order[:MOST_KEPT]
                way.append(order[0])
            if any(self.miss((donor, frozenset(ways[donor]))) <= 0 for donor in each):
                break
        trials = [(donor, some) for donor in each for some in coalitions(ways[donor])]
        yield trials
        enough = [trial for trial in trials if trial[1] and self.miss(trial) <= 0]
        if enough:
            self.best = min(enough, key=lambda trial: (len(trial[1]), sum(map(len, trial[1])), self.miss(trial)))
        else:
            self.best = min(trials, key=lambda trial: (self.miss(trial), len(trial[1])))
        donor, change = self.best
        for group in _in_order(change) if enough else ():
            rest = change - {group}  # a single column of the group, where one alone does it
            single = self._shortlist(donor, rest, [(column,) for column in group])
            yield [(donor, rest | {part}) for part in single]
            narrow = min(((donor, rest | {part}) for part in single), key=self.miss)
            change = narrow[1] if self.miss(narrow) <= 0 else change
        self.best = donor, change
        yield [(donor, some) for some in coalitions(_in_order(change))]

    def contributions(self) -> list[tuple[Part, float]]:
        """Of each part of the change, the largest first."""
        donor, change = self.best
        parts = _in_order(change)
        phi = shapley_values(parts, lambda some: self.score_of((donor, some)))
        return [(part, -each) for part, each in sorted(zip(parts, phi, strict=True), key=lambda at: self.sign * at[1])]

    def miss(self, trial: Trial) -> float:
        """By how much a trial misses the line."""
        gap = self.sign * (self.score_of(trial) - self.line)
        return gap if self.sign > 0 else float(np.nextafter(gap, np.inf))

    def score_of(self, trial: Trial) -> float:
        """The score of a trial as that of the row itself."""
        donor, some = trial
        if not some:
            return self.score
        apart = self.apart[donor]
        left = np.sqrt(apart[~self._taken(some)].sum() / (apart.sum() or 1.0))
        return self.raw[trial] + float(left) * (self.score - self.raw[donor, NOTHING])

    def state(self, trial: Trial) -> Floats:
        """The row (d,) that is tried."""
        return np.where(self._taken(trial[1]), self.donors[trial[0]], self.x)

    def _taken(self, some: Coalition) -> Booleans:
        taken = np.zeros(self._column_of[-1] + 1, bool)
        taken[[*chain(*some)]] = True
        return np.asarray(taken[self._column_of])

    def _shortlist(self, donor: int, some: Coalition, parts: list[Part]) -> list[Part]:
        """Those of the parts that are worth trying beside some others, by a rough score where they are many."""
        if len(parts) <= MOST_TRIED:
            return parts
        rough = self.sign * self._rough(np.stack([self.state((donor, some | {part})) for part in parts]))
        return [parts[place] for place in np.argsort(rough, kind="stable")[:MOST_TRIED]]


def _in_order(parts: Iterable[Part]) -> list[Part]:
    """Single columns first."""
    return sorted(parts, key=lambda part: (len(part) > 1, part))


def coalitions(parts: Sequence[Any]) -> Iterator[Coalition]:
    """All 2^k subsets of k parts, the smaller ones first."""
    return (frozenset(some) for size in range(len(parts) + 1) for some in combinations(parts, size))


def shapley_values(parts: Sequence[Any], value: Callable[[Coalition], float]) -> tuple[float, ...]:
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
