"""IPv4 addresses: the networks that they lie in are categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from soel.tables.codes import Code, DerivedCode, Scaling
from soel.tables.column import Column, Values
from soel.tables.kinds.category import fit_words
from soel.tables.kinds.kind import MAX_CATEGORIES, NEARLY_ALL, ColumnKind, ColumnSource, Found, example_of, see_words
from soel.tables.kinds.number_text import are_addresses, blank_missing, tidy
from soel.tables.raw_table import RawColumn
from soel.tables.tally import Counted, Counts, count_categories


@dataclass(frozen=True)
class IPv4Code(DerivedCode):
    """Categories of the first block, the first two, three, and all four, where these tell more than the one before."""

    counted: ClassVar[Counted] = "categories"
    is_category: ClassVar[bool] = True
    kind: str = field(default="address", kw_only=True)

    @classmethod
    def fit(cls, name: str, values: Values, scaling: Scaling) -> IPv4Code:
        """Look at the column in the pool (N,)."""
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

    def edges(self, values: Values) -> tuple[float, ...]:
        return ()

    def tally(self, values: Values, edges: tuple[float, ...]) -> Counts:
        """Networks of two blocks."""
        return count_categories(_networks(values, 2).tolist())


class IPv4(ColumnKind):
    """IPv4 addresses."""

    name = "address"
    holds = "IPv4 addresses"

    def sniff(self, source: ColumnSource) -> Found | None:
        """Four blocks up to 255 in every cell, unless nearly every row has a network of its own."""
        if not source.is_words or not are_addresses(source.texts):
            return None
        networks = {text.rpartition(".")[0] for text in source.texts.drop_null().to_pylist()}
        if len(networks) > max(MAX_CATEGORIES, NEARLY_ALL * source.words.n_cells):
            return None
        return Found(see_words(source.words, len(source.cells)))

    def parse(self, column: Column, cells: RawColumn) -> Values:
        if cells.type in ("text", "category"):
            texts = blank_missing(tidy(cells.values))
            if are_addresses(texts):
                return np.asarray(texts.to_numpy(zero_copy_only=False), object)
        elif cells.is_empty:
            return np.full(len(cells), None, object)
        raise self.differs(column, f"values such as {example_of(cells)}")

    def fit(self, column: Column, values: Values, scaling: Scaling) -> Code:
        return IPv4Code.fit(column.name, values, scaling)

    def becomes(self, column: Column) -> str:
        return "its networks as categories"


def _networks(values: Values, n_blocks: int) -> Values:
    """The first blocks of addresses (N,)."""
    found = np.empty(len(values), object)
    found[:] = [None if text is None else ".".join(text.split(".")[:n_blocks]) for text in values.tolist()]
    return found
