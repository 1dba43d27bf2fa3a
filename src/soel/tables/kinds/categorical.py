"""Words: categories, names by how frequent they are, free text, IPv4 addresses; and what tells no row from another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from soel.tables.arrow import is_all, pa, pc, tidy
from soel.tables.codes import (
    Code,
    ColumnBaseline,
    ColumnCounts,
    Counted,
    DerivedCode,
    NumericCode,
)
from soel.tables.column import Column, Values, as_categories
from soel.tables.kinds.kind import (
    FEW_ROWS,
    LONG,
    MANY,
    MAX_CATEGORIES,
    NEARLY_ALL,
    ColumnKind,
    ColumnSource,
    Found,
    are_codes,
    example_of,
    is_id_name,
    see_numbers,
    see_words,
)
from soel.tables.kinds.number import ADDRESS, Number, names_rows
from soel.tables.missing import blank_missing
from soel.tables.raw_table import RawColumn
from soel.types import Floats

WORDS = "words"  # the layout of a constant that is no number


@dataclass(frozen=True)
class CategoryCode(Code):
    """One feature per category of the pool, 1 in the rows that have it.

    A missing cell is a category of its own if the pool had some, else all zeros; so is a category that it did not have.
    """

    counted: ClassVar[Counted] = "categories"
    categories: tuple[str, ...]
    marks_missing: bool
    is_constant: bool
    kind: str = field(default="categorical", kw_only=True)

    @classmethod
    def fit(cls, name: str, counts: Counter[str], n_missing: int, scaling: str) -> CategoryCode:
        """Look at how often the categories occur in the pool."""
        constant = scaling == "standard" and len(counts) + bool(n_missing) == 1
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


@dataclass(frozen=True)
class FrequencyCode(DerivedCode):
    """One feature: log(count / n_rows) of the name in the pool.

    counts: names that occur more than once; all others count once, whether the pool had them or not.
    """

    counted: ClassVar[Counted] = "names"
    counts: Mapping[str, int]
    n_rows: int
    kind: str = field(default="frequency", kw_only=True)

    @classmethod
    def fit(cls, name: str, counts: Counter[str], values: Values, scaling: str) -> FrequencyCode:
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
        counts = ColumnCounts(len(values), n_missing, (len(values) - n_missing - n_rare, n_rare))
        return ColumnBaseline(self.counted, counts)

    def tally(self, values: Values, edges: tuple[float, ...]) -> ColumnCounts:
        """Rows with a common name, and with a rare one."""
        words = Counter(as_categories(values).tolist())
        n_missing = words.pop(None, 0)
        n_common = sum(n for word, n in words.items() if word in self.counts)
        return ColumnCounts(len(values), n_missing, (n_common, len(values) - n_missing - n_common))


def fit_words(name: str, values: Values, scaling: str, marks_missing: bool = True) -> Code:
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
        return Found(see_words(source.words, len(source.cells)))

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        return fit_words(column.name, values, scaling)

    def becomes(self, column: Column) -> str:
        n = column.seen.n_distinct
        return "its frequency" if n > MAX_CATEGORIES else "1 category" if n == 1 else f"{n} categories"


@dataclass(frozen=True)
class TextCode(DerivedCode):
    """log(1 + n) of the letters, digits and words of a cell."""

    counted: ClassVar[Counted] = "lengths"
    kind: str = field(default="text", kw_only=True)

    def derive(self, values: Values) -> Mapping[str, Floats]:
        texts = pa.array(as_categories(values), pa.string())
        measures = {
            "length": pc.utf8_length(texts),
            "digits": pc.count_substring_regex(texts, r"\d"),
            "words": pc.count_substring_regex(texts, r"\S+"),
        }
        return {
            f"{self.name} ({what})": np.log1p(np.asarray(counts.cast(pa.float64()).to_numpy(zero_copy_only=False)))
            for what, counts in measures.items()
        }

    def numbers(self, values: Values) -> Floats:
        return np.array([np.nan if text is None else float(len(text)) for text in as_categories(values).tolist()])


class FreeText(ColumnKind):
    """Free text."""

    name = "text"
    into = "length, digits, words"
    option = "text"

    def sniff(self, source: ColumnSource) -> Found | None:
        """Several words a cell, and few cells that repeat."""
        words, seen = source.words, see_words(source.words, len(source.cells))
        if source.asked:
            return Found(seen)
        if words.n_distinct <= MAX_CATEGORIES or words.share < MANY or source.words_a_cell < 2:
            return None
        if source.words_a_cell >= LONG:
            return Found(seen)
        doubt = "it could also be names that say nothing: <<ignore>> leaves them out"
        return Found(seen, doubt=doubt) if words.share >= NEARLY_ALL else None

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        code = TextCode(column.name, ())
        return code.with_numbers(code.derive(values), scaling)


@dataclass(frozen=True)
class IPv4Code(DerivedCode):
    """Categories of the first block, the first two, three, and all four, where these tell more than the one before."""

    counted: ClassVar[Counted] = "categories"
    kind: str = field(default="address", kw_only=True)

    @classmethod
    def fit(cls, name: str, values: Values, scaling: str) -> IPv4Code:
        code, n_distinct, levels = cls(name, ()), 1, dict[str, Values]()
        for part, networks in code.derive(values).items():
            n = len({*networks.tolist()} - {None})
            if n > n_distinct or (part == name and not levels):
                levels[part], n_distinct = networks, n
        first = next(iter(levels))
        parts = (fit_words(part, networks, scaling, part == first) for part, networks in levels.items())
        return replace(code, parts=tuple(parts))

    def derive(self, values: Values) -> Mapping[str, Values]:
        """The networks (N,) of one, two and three blocks, and the addresses."""
        return {self.name if n == 4 else f"{self.name} /{8 * n}": _networks(values, n) for n in (1, 2, 3, 4)}

    def categories_of(self, values: Values) -> Values:
        """Networks of two blocks."""
        return _networks(values, 2)


class IPv4(ColumnKind):
    """IPv4 addresses."""

    name = "address"
    into = "its networks as categories"
    holds = "IPv4 addresses"

    def sniff(self, source: ColumnSource) -> Found | None:
        """Four blocks up to 255 in every cell, unless nearly every row has a network of its own."""
        if not source.is_words or not is_all(source.texts, ADDRESS):
            return None
        networks = {text.rpartition(".")[0] for text in source.texts.drop_null().to_pylist()}
        if len(networks) > max(MAX_CATEGORIES, NEARLY_ALL * source.words.n_cells):
            return None
        return Found(see_words(source.words, len(source.cells)))

    def parse(self, column: Column, cells: RawColumn) -> Values:
        if cells.type in ("text", "category"):
            texts = blank_missing(tidy(cells.values))
            if is_all(texts, ADDRESS):
                return np.asarray(texts.to_numpy(zero_copy_only=False), object)
        elif cells.is_empty:
            return np.full(len(cells), None, object)
        raise self.differs(column, f"values such as {example_of(cells)}")

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        return IPv4Code.fit(column.name, values, scaling)


def _networks(values: Values, n_blocks: int) -> Values:
    """The first blocks of addresses (N,)."""
    found = np.empty(len(values), object)
    found[:] = [None if text is None else ".".join(text.split(".")[:n_blocks]) for text in values.tolist()]
    return found


class Id(ColumnKind):
    """Names of rows."""

    name = "id"
    into = "nothing: an id"
    changed_by = ("id-column", "numeric", "categorical")
    is_used = False
    names_rows = True

    def sniff(self, source: ColumnSource) -> Found | None:
        """Numbers that only name the rows; codes that nearly all differ."""
        why = names_rows(source)
        if why is not None and source.plain is not None:
            return Found(see_numbers(source.plain), doubt=why)
        words, seen = source.words, see_words(source.words, len(source.cells))
        if words.share < NEARLY_ALL:
            return None
        if is_id_name(source.name) and words.n_cells >= FEW_ROWS and source.words_a_cell < LONG:
            return Found(seen)
        if words.n_distinct <= MAX_CATEGORIES or not (are_codes(words) or source.words_a_cell < 2):
            return None
        is_code = any(map(str.isdigit, "".join(words.top))) or len(set(map(len, words.top))) == 1
        doubt = "nearly all values differ, so it is taken for a name of the row; <<categorical>> takes it as it is"
        return Found(seen, doubt="" if is_code else doubt)


class Constant(Number):
    """One value throughout; a number, or words, as the layout of its form says."""

    name = "constant"
    into = "nothing: constant"
    option = ""
    changed_by = ("ignore",)
    holds = "a number"

    def sniff(self, source: ColumnSource) -> Found | None:
        return None  # what is constant is seen after it was read

    def parse(self, column: Column, cells: RawColumn) -> Values:
        return cells.as_words() if column.form.layout == WORDS else super().parse(column, cells)

    def fit(self, column: Column, values: Values, scaling: str) -> Code:
        if values.dtype == np.float64:
            return NumericCode.fit(column.name, values, scaling)
        return fit_words(column.name, values, scaling)


class Ignored(ColumnKind):
    """What is empty, or not wanted."""

    name = "ignored"
    into = "nothing"
    changed_by = ()
    is_used = is_kept = False
