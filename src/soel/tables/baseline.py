"""What the pool held, column by column, and the same counted in new rows: what drift is judged by.

Numbers are counted in steps between the pool's least value, its deciles and its greatest; text is counted by its
length; categories one by one; names, of which there are many, by whether the pool had them more than once; times by
whether they lie before, within or after the pool's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from soel.tables.column_codes import CategoryCode, NumericCode
from soel.tables.columns import Column, as_categories
from soel.tables.derived_codes import FrequencyCode, TextCode, TimeCode
from soel.types import Floats

ColumnCode = NumericCode | CategoryCode | FrequencyCode | TextCode | TimeCode
Counted = Literal["numbers", "lengths", "categories", "names", "times"]
N_STEPS = 10
MOST_WORDS = 1_000  # different new categories that are told apart; more are one


@dataclass(frozen=True)
class Counts:
    """Of one column. steps: rows below the first edge, up to each next one, and above the last; of names, rows with a
    common name and with a rare one. low, high: the ends of the numbers. words: rows by category.
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

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Counts:
        """Back from plain values."""
        words = {str(word): int(n) for word, n in values["words"].items()}
        steps = tuple(int(step) for step in values["steps"])
        return cls(int(values["n_rows"]), int(values["n_missing"]), steps, values["low"], values["high"], words)


@dataclass(frozen=True)
class ColumnBaseline:
    """What the pool held in a column. edges: of the steps, in order; the first and the last are the pool's ends, and
    follow on an equal one where many rows have that value.
    """

    counted: Counted
    pool: Counts
    edges: tuple[float, ...] = ()

    @classmethod
    def measure(cls, code: ColumnCode, column: Column) -> ColumnBaseline:
        """Look at the column in the pool (N,)."""
        counted = _how(code)
        if counted == "times":
            seconds = _seconds(column)
            edges = () if np.isnan(seconds).all() else (float(np.nanmin(seconds)), float(np.nanmax(seconds)))
            return cls(counted, _count_numbers(seconds, edges), edges)
        if counted in ("numbers", "lengths"):
            values = _numbers(code, column)
            ordered = np.sort(values[~np.isnan(values)])
            places = np.linspace(0, len(ordered) - 1, N_STEPS + 1).astype(np.int64)
            inner = np.unique(ordered[places][1:-1]).tolist() if len(ordered) else []
            edges = (float(ordered[0]), *inner, float(ordered[-1])) if len(ordered) else ()
            return cls(counted, _count_numbers(values, edges), edges)
        if counted == "names":
            return cls(counted, _count_own_names(column))
        return cls(counted, count(code, column, ()))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ColumnBaseline:
        """Back from plain values."""
        return cls(values["counted"], Counts.from_json(values["pool"]), tuple(map(float, values["edges"])))


Baseline = Mapping[str, ColumnBaseline]
Tally = Mapping[str, Counts]


def count(code: ColumnCode, column: Column, edges: tuple[float, ...]) -> Counts:
    """The counts of new rows (n,) of a column, by the edges of the pool."""
    counted = _how(code)
    if counted in ("numbers", "lengths"):
        return _count_numbers(_numbers(code, column), edges)
    if counted == "times":
        return _count_numbers(_seconds(column), edges)
    words = Counter(as_categories(column).tolist())
    n_missing = words.pop(None, 0)
    if isinstance(code, FrequencyCode):
        n_common = sum(n for word, n in words.items() if word in code.counts)
        return Counts(len(column), n_missing, (n_common, len(column) - n_missing - n_common))
    return Counts(len(column), n_missing, words=_shorten(words))


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
    return {str(name): Counts.from_json(counts) for name, counts in values.items()}


def _how(code: ColumnCode) -> Counted:
    kinds: dict[type, Counted] = {NumericCode: "numbers", TextCode: "lengths", CategoryCode: "categories"}
    return kinds.get(type(code)) or ("names" if isinstance(code, FrequencyCode) else "times")


def _seconds(column: Column) -> Floats:
    return np.where(np.isnat(column), np.nan, column.astype("datetime64[us]").astype(np.int64) / 1e6)


def _numbers(code: ColumnCode, column: Column) -> Floats:
    if not isinstance(code, TextCode):
        return column
    return np.array([np.nan if text is None else float(len(text)) for text in as_categories(column).tolist()])


def _count_numbers(values: Floats, edges: tuple[float, ...]) -> Counts:
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


def _count_own_names(column: Column) -> Counts:
    """Of the pool itself. A name is common if other rows have it twice: as it must be to be common in a new row."""
    names = Counter(as_categories(column).tolist())
    n_missing = names.pop(None, 0)
    n_rare = sum(n for n in names.values() if n <= 2)
    return Counts(len(column), n_missing, (len(column) - n_missing - n_rare, n_rare))


def _shorten(words: Counter[str]) -> dict[str, int]:
    """The most frequent words; what is beyond them is counted as one."""
    if len(words) <= MOST_WORDS:
        return dict(words)
    kept = dict(words.most_common(MOST_WORDS))
    return kept | {"…": kept.get("…", 0) + words.total() - sum(kept.values())}
