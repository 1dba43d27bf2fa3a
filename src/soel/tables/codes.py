"""From values to features: scales, and the codes that turn one column into columns of a matrix; and its tally.

A missing number takes the pool's median. If the pool had missing values in the column, a feature 'is missing' tells
them apart. What a kind of column adds (categories, times, ...) lies beside the kind.

The tally is what drift is judged by: what the pool held in a column, and the same counted in new rows. Numbers are
counted in steps between the pool's least value, its deciles and its greatest; text is counted by its length; categories
one by one; names, of which there are many, by whether the pool had them more than once; times by whether they lie
before, within or after the pool's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from soel.errors import DataError, SchemaError
from soel.records import read_body
from soel.tables.column import Values, as_categories
from soel.types import Floats

SCALINGS = ("none", "standard")
FAR = 1000.0  # standard deviations: beyond all but the most distant new rows
ROUND_WIDTHS, ROUND_OFFSET = (1e-30, 1e30), 2.0**10  # of columns that float32 holds to a 16,000th of their width
Counted = Literal["numbers", "lengths", "categories", "names", "times"]
N_STEPS = 10
MOST_WORDS = 1_000  # different new categories that are told apart; more are one


@dataclass(frozen=True)
class Scale:
    """Turns x into (x - centre) / width, clipped to +-clip (None: not clipped). Width 0: always zero."""

    centre: float = 0.0
    width: float = 1.0
    clip: float | None = None

    @classmethod
    def fit(cls, values: Floats, scaling: str) -> Scale:
        """By the pool's values (n,) without the missing ones: centred on their mean, in standard deviations."""
        return cls._standard(cls._standard(values).rounded(values)) if scaling == "standard" else cls()

    @classmethod
    def _standard(cls, values: Floats) -> Scale:
        spread = float(values.max() - values.min())  # the deviation of the smallest numbers of all is rounded to 0
        return cls(float(values.mean()), float(values.std()) or spread if spread else 0.0, FAR)

    def apply(self, values: Floats) -> Floats:
        if not self.width:
            return np.zeros(len(values))
        with np.errstate(over="ignore"):
            scaled = (self.rounded(values) - self.centre) / self.width
        return scaled if self.clip is None else np.clip(scaled, -self.clip, self.clip)

    def rounded(self, values: Floats) -> Floats:
        """The values (N,) as float32 holds them, so that a table in either precision gives the same features.

        As they are where that would take too much of them: beside a centre that is far from 0, say.
        """
        if not (ROUND_WIDTHS[0] < self.width < ROUND_WIDTHS[1] and abs(self.centre) < ROUND_OFFSET * self.width):
            return values
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(np.float32).astype(np.float64)


@dataclass(frozen=True)
class Code(ABC):
    """How one column becomes features: plain data that is fitted to the pool and stored.

    kind: the name of the code in files. counted: how its cells are counted for drift.
    """

    counted: ClassVar[Counted] = "numbers"
    name: str
    kind: str = field(default="", kw_only=True)

    @property
    @abstractmethod
    def constant(self) -> bool:
        """Whether it tells no row from another."""

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature."""

    @abstractmethod
    def encode(self, values: Values, features: Floats) -> None:
        """Write the features of a column (N,) into zeros (N, number of features)."""

    def numbers(self, values: Values) -> Floats:
        return values

    def categories_of(self, values: Values) -> Values:
        """The categories (N,) that are counted for drift, None for missing."""
        return as_categories(values)

    def edges(self, values: Values) -> tuple[float, ...]:
        """The edges of the steps in which the pool's numbers (N,) are counted: the least, the deciles, the greatest."""
        if self.counted == "categories":
            return ()
        numbers = self.numbers(values)
        ordered = np.sort(numbers[~np.isnan(numbers)])
        if not len(ordered):
            return ()
        places = np.linspace(0, len(ordered) - 1, N_STEPS + 1).astype(np.int64)
        return (float(ordered[0]), *np.unique(ordered[places][1:-1]).tolist(), float(ordered[-1]))

    def measure(self, values: Values) -> ColumnBaseline:
        """What the pool holds in the column (N,)."""
        edges = self.edges(values)
        return ColumnBaseline(self.counted, self.tally(values, edges), edges)

    def tally(self, values: Values, edges: tuple[float, ...]) -> ColumnCounts:
        """What new rows hold in the column (n,): categories one by one, numbers by steps between the pool's edges."""
        if self.counted == "categories":
            words = Counter(self.categories_of(values).tolist())
            return ColumnCounts(len(values), words.pop(None, 0), words=_shorten(words))
        numbers = self.numbers(values)
        present = numbers[~np.isnan(numbers)]
        counts = ColumnCounts(len(numbers), len(numbers) - len(present), (0,) * (len(edges) + 1))
        if not len(present):
            return counts
        if edges:
            below = np.searchsorted(edges, present, side="left")  # values up to an edge belong to the step below it
            below[present == edges[0]] = 1
            counts = replace(counts, steps=tuple(np.bincount(below, minlength=len(edges) + 1).tolist()))
        return replace(counts, low=float(present.min()), high=float(present.max()))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Code:
        found = [code for code in _subclasses(Code) if code.kind == values["kind"]]
        if not found:
            raise ValueError(f"unknown kind of column {values['kind']!r}")
        return read_body(found[0], values)


def _subclasses(code: Any) -> Iterator[type[Code]]:
    for each in code.__subclasses__():
        yield each
        yield from _subclasses(each)


@dataclass(frozen=True)
class NumericCode(Code):
    """One scaled feature, and one for 'is missing' if the pool had missing values."""

    median: float
    scale: Scale
    marks_missing: bool
    kind: str = field(default="numeric", kw_only=True)

    @classmethod
    def fit(cls, name: str, values: Values, scaling: str) -> NumericCode:
        missing = np.isnan(values)
        if missing.all():
            raise DataError(f"Column {name!r} has no value in any row of the pool. Leave the column out.")
        seen = values[~missing]
        return cls(name, float(np.median(seen)), Scale.fit(seen, scaling), bool(missing.any()))

    @property
    def constant(self) -> bool:
        return not self.scale.width and not self.marks_missing

    @property
    def feature_names(self) -> tuple[str, ...]:
        indicator = (f"{self.name} is missing",) if self.marks_missing else ()
        return ((self.name,) if self.scale.width or not indicator else ()) + indicator

    def encode(self, values: Values, features: Floats) -> None:
        if values.dtype != np.float64:
            example = next((cell for cell in values if cell == cell and cell is not None), None)
            raise SchemaError(
                f"Column {self.name!r} held numbers in the pool and holds text such as {example!r} now. "
                "Give numbers, or NaN where the value is missing."
            )
        missing = np.isnan(values)
        if self.marks_missing:
            features[:, -1] = missing
        if self.scale.width or not self.marks_missing:
            features[:, 0] = self.scale.apply(np.where(missing, self.median, values))


@dataclass(frozen=True)
class DerivedCode(Code):
    """Values derived from one column, each with a code of its own. A missing cell is marked once, by the first."""

    parts: tuple[Code, ...]

    @abstractmethod
    def derive(self, values: Values) -> Mapping[str, Values]:
        """Values (N,) by the names of the parts."""

    @property
    def constant(self) -> bool:
        return all(part.constant for part in self.parts)

    @property
    def feature_names(self) -> tuple[str, ...]:
        marks = {f"{part.name} is missing": f"{self.name} is missing" for part in self.parts}
        return tuple(marks.get(name, name) for part in self.parts for name in part.feature_names)

    def encode(self, values: Values, features: Floats) -> None:
        derived, at = self.derive(values), 0
        for part in self.parts:
            width = len(part.feature_names)
            part.encode(derived[part.name], features[:, at : at + width])
            at += width

    def with_numbers(self, derived: Mapping[str, Floats], scaling: str, missing: Values | None = None) -> Self:
        """The same with codes of the derived numbers of the pool (N,), less those that are constant."""
        codes = [NumericCode.fit(name, each, scaling) for name, each in derived.items() if not np.isnan(each).all()]
        varying = [code for code in codes if code.scale.width] or codes[:1]
        if missing is None:
            missing = np.isnan(next(iter(derived.values())))
        marks = [bool(missing.any()), *[False] * (len(varying) - 1)]
        parts = (replace(code, marks_missing=mark) for code, mark in zip(varying, marks, strict=True))
        return replace(self, parts=tuple(parts))


@dataclass(frozen=True)
class ColumnCounts:
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

    def __add__(self, other: ColumnCounts) -> ColumnCounts:
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return ColumnCounts(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            tuple(a + b for a, b in zip(self.steps, other.steps, strict=True)),
            min(lows, default=None),
            max(highs, default=None),
            _shorten(Counter(self.words) + Counter(other.words)),
        )

    @property
    def n_present(self) -> int:
        return self.n_rows - self.n_missing


@dataclass(frozen=True)
class ColumnBaseline:
    """What the pool held in a column.

    edges: of the steps, in order; the first and the last are the pool's ends, and follow on an equal one where many
        rows have that value.
    """

    counted: Counted
    pool: ColumnCounts
    edges: tuple[float, ...] = ()


Baseline = Mapping[str, ColumnBaseline]
Tally = Mapping[str, ColumnCounts]


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
    return {str(name): read_body(ColumnCounts, counts) for name, counts in values.items()}


def _shorten(words: Counter[str]) -> dict[str, int]:
    """The most frequent words; what is beyond them is counted as one."""
    if len(words) <= MOST_WORDS:
        return dict(words)
    kept = dict(words.most_common(MOST_WORDS))
    return kept | {"…": kept.get("…", 0) + words.total() - sum(kept.values())}
