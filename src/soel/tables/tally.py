"""What the pool held, column by column, and the same counted in new rows: what drift is judged by.

Numbers are counted in steps between the pool's least value, its deciles and its greatest; text is counted by its
length; categories one by one; names, of which there are many, by whether the pool had them more than once; times by
whether they lie before, within or after the pool's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from soel.types import Floats, from_plain

Counted = Literal["numbers", "lengths", "categories", "names", "times"]
N_STEPS = 10
MOST_WORDS = 1_000  # different new categories that are told apart; more are one


@dataclass(frozen=True)
class Counts:
    """Of one column.

    steps: rows below the first edge, up to each next one, and above the last; of names, rows with a common name and
        with a rare one.
    low, high: the ends of the numbers.
    words: rows by category.
    """

    n_rows: int = 0
    n_missing: int = 0
    steps: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    words: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return Counts(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            tuple(a + b for a, b in zip(self.steps, other.steps, strict=True)),
            min(lows, default=None),
            max(highs, default=None),
            _shorten(Counter(self.words) + Counter(other.words)),
        )

    @property
    def n_present(self) -> int:
        """How many cells are not missing."""
        return self.n_rows - self.n_missing


@dataclass(frozen=True)
class ColumnBaseline:
    """What the pool held in a column.

    edges: of the steps, in order; the first and the last are the pool's ends, and follow on an equal one where many
        rows have that value.
    """

    counted: Counted
    pool: Counts
    edges: tuple[float, ...] = ()


Baseline = Mapping[str, ColumnBaseline]
Tally = Mapping[str, Counts]


def add_tallies(one: Tally | None, other: Tally | None) -> Tally | None:
    """Both together; None where one of them is not known."""
    if one is None or other is None:
        return None
    return {name: counts + other[name] for name, counts in one.items()}


def tally_json(tally: Tally) -> dict[str, Any]:
    """As plain values."""
    return {name: asdict(counts) for name, counts in tally.items()}


def tally_from_json(values: Mapping[str, Any]) -> Tally:
    """Back from plain values."""
    return {str(name): from_plain(Counts, counts) for name, counts in values.items()}


def find_edges(values: Floats) -> tuple[float, ...]:
    """The least of the numbers (N,), the deciles between, and the greatest."""
    ordered = np.sort(values[~np.isnan(values)])
    if not len(ordered):
        return ()
    places = np.linspace(0, len(ordered) - 1, N_STEPS + 1).astype(np.int64)
    return (float(ordered[0]), *np.unique(ordered[places][1:-1]).tolist(), float(ordered[-1]))


def count_numbers(values: Floats, edges: tuple[float, ...]) -> Counts:
    """Numbers (n,), NaN for missing, by steps between the edges."""
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    steps = np.zeros(len(edges) + 1, np.int64)
    if not len(present):
        return Counts(len(values), n_missing, tuple(steps.tolist()))
    if edges:
        below = np.searchsorted(edges, present, side="left")  # values up to an edge belong to the step below it
        below[present == edges[0]] = 1
        steps = np.bincount(below, minlength=len(edges) + 1)
    ends = float(present.min()), float(present.max())
    return Counts(len(values), n_missing, tuple(steps.tolist()), *ends)


def count_categories(cells: Iterable[str | None]) -> Counts:
    """Categories one by one."""
    words = Counter(cells)
    n_missing = words.pop(None, 0)
    return Counts(words.total() + n_missing, n_missing, words=_shorten(words))  # type: ignore[arg-type]


def _shorten(words: Counter[str]) -> dict[str, int]:
    """The most frequent words; what is beyond them is counted as one."""
    if len(words) <= MOST_WORDS:
        return dict(words)
    kept = dict(words.most_common(MOST_WORDS))
    return kept | {"…": kept.get("…", 0) + words.total() - sum(kept.values())}
