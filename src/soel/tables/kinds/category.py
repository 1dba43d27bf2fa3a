"""Words that repeat: categories, one feature each up to 32 of them; more are told by how frequent they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from soel.tables.codes import Code, DerivedCode, Scaling
from soel.tables.column import Column, Values, as_categories
from soel.tables.kinds.kind import MAX_CATEGORIES, ColumnKind, ColumnSource, Found, see_words
from soel.tables.tally import ColumnBaseline, Counted, Counts, count_categories
from soel.types import Floats


@dataclass(frozen=True)
class CategoryCode(Code):
    """One feature per category of the pool, 1 in the rows that have it.

    A missing cell is a category of its own if the pool had some, else all zeros; so is a category that it did not have.
    """

    counted: ClassVar[Counted] = "categories"
    is_category: ClassVar[bool] = True
    categories: tuple[str, ...]
    marks_missing: bool
    is_constant: bool
    kind: str = field(default="categorical", kw_only=True)

    @classmethod
    def fit(cls, name: str, counts: Counter[str], n_missing: int, scaling: Scaling) -> CategoryCode:
        """Look at how often the categories occur in the pool."""
        constant = scaling.drops_constant and len(counts) + bool(n_missing) == 1
        return cls(name, tuple(sorted(counts)), n_missing > 0, constant)

    @property
    def constant(self) -> bool:
        return self.is_constant

    @property
    def feature_names(self) -> tuple[str, ...]:
        names = [f"{self.name} = {category}" for category in self.categories]
        return (*names, *[f"{self.name} is missing"] * self.marks_missing)

    def encode(self, values: Values, features: Floats) -> None:
        positions: dict[str | None, int] = {category: at for at, category in enumerate(self.categories)}
        positions[None] = len(positions) if self.marks_missing else -1
        cells = as_categories(values).tolist()
        codes = np.fromiter((positions.get(cell, -1) for cell in cells), np.int64, len(cells))
        known = np.flatnonzero(codes >= 0)
        features[known, codes[known]] = 1

    def edges(self, values: Values) -> tuple[float, ...]:
        return ()

    def tally(self, values: Values, edges: tuple[float, ...]) -> Counts:
        return count_categories(as_categories(values).tolist())


@dataclass(frozen=True)
class FrequencyCode(DerivedCode):
    """One feature: log(count / n_rows) of the name in the pool.

    counts: names that occur more than once; all others count once, whether the pool had them or not.
    """

    counted: ClassVar[Counted] = "names"
    is_category: ClassVar[bool] = True
    counts: Mapping[str, int]
    n_rows: int
    kind: str = field(default="frequency", kw_only=True)

    @classmethod
    def fit(cls, name: str, counts: Counter[str], values: Values, scaling: Scaling) -> FrequencyCode:
        repeated = {text: count for text, count in counts.items() if count > 1}
        code = cls(name, (), dict(sorted(repeated.items())), len(values))
        return code.with_numbers(code.derive(values), scaling)

    def derive(self, values: Values) -> Mapping[str, Floats]:
        """The logarithm of each name's share of the pool."""
        texts = as_categories(values).tolist()
        shares = {text: np.log(count / self.n_rows) for text, count in self.counts.items()}
        rarest = float(np.log(1 / self.n_rows))
        logs = (np.nan if text is None else shares.get(text, rarest) for text in texts)
        return {f"{self.name} (frequency)": np.fromiter(logs, np.float64, len(texts))}

    def measure(self, values: Values) -> ColumnBaseline:
        """Of the pool itself. A name is common if other rows have it twice: as it must be to be common in a new row."""
        names = Counter(as_categories(values).tolist())
        n_missing = names.pop(None, 0)
        n_rare = sum(n for n in names.values() if n <= 2)
        counts = Counts(len(values), n_missing, (len(values) - n_missing - n_rare, n_rare))
        return ColumnBaseline(self.counted, counts)

    def tally(self, values: Values, edges: tuple[float, ...]) -> Counts:
        """Rows with a common name, and with a rare one."""
        words = Counter(as_categories(values).tolist())
        n_missing = words.pop(None, 0)
        n_common = sum(n for word, n in words.items() if word in self.counts)
        return Counts(len(values), n_missing, (n_common, len(values) - n_missing - n_common))


def fit_words(name: str, values: Values, scaling: Scaling, marks_missing: bool = True) -> Code:
    """The code of words (N,), by how many different ones there are."""
    counts = Counter(values.tolist())
    n_missing = counts.pop(None, 0)
    if len(counts) > MAX_CATEGORIES:
        return FrequencyCode.fit(name, counts, values, scaling)
    return CategoryCode.fit(name, counts, n_missing * marks_missing, scaling)


class Category(ColumnKind):
    """Words that repeat; what no other kind takes."""

    name = "category"
    option = "categorical"
    changed_by = ("text", "ignore")

    def sniff(self, source: ColumnSource) -> Found | None:
        """Whatever is left."""
        return Found(see_words(source.words, len(source.cells)))

    def fit(self, column: Column, values: Values, scaling: Scaling) -> Code:
        return fit_words(column.name, values, scaling)

    def becomes(self, column: Column) -> str:
        n = column.seen.n_distinct
        return "its frequency" if n > MAX_CATEGORIES else "1 category" if n == 1 else f"{n} categories"
