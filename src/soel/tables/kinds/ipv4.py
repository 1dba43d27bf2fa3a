"""IPv4 addresses: the networks that they lie in are categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from soel.tables.codes import Code, Scaling
from soel.tables.column import Column, Values
from soel.tables.kinds.category import CategoryCode, FrequencyCode, fit_words
from soel.tables.kinds.kind import MAX_CATEGORIES, NEARLY_ALL, ColumnKind, ColumnSource, Found, example_of, see_words
from soel.tables.kinds.number_text import blank_missing, is_all, tidy
from soel.tables.raw_columns import RawColumn
from soel.tables.tally import ColumnBaseline, Counted, Counts, count_categories
from soel.types import Floats

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_ADDRESS = rf"^{_BYTE}(?:\.{_BYTE}){{3}}$"


@dataclass(frozen=True)
class AddressCode(Code):
    """Categories of the first block, the first two, three, and all four, where these tell more than the one before.

    parts: by the number of blocks.
    """

    kind: ClassVar[str] = "address"
    counted: ClassVar[Counted] = "categories"
    is_category: ClassVar[bool] = True
    parts: Mapping[int, Code]

    @classmethod
    def fit(cls, name: str, values: Values, scaling: Scaling) -> AddressCode:
        n_distinct = [1, *(len({*_networks(values, n).tolist()} - {None}) for n in (1, 2, 3, 4))]
        levels = [n for n in (1, 2, 3, 4) if n_distinct[n] > n_distinct[n - 1]] or [4]
        parts = {
            n: fit_words(name if n == 4 else f"{name} /{8 * n}", _networks(values, n), scaling, n == levels[0])
            for n in levels
        }
        return cls(name, parts)

    @property
    def constant(self) -> bool:
        return all(part.constant for part in self.parts.values())

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts.values() for name in part.feature_names)

    def encode(self, values: Values, features: Floats) -> None:
        at = 0
        for n, part in self.parts.items():
            width = len(part.feature_names)
            part.encode(_networks(values, n), features[:, at : at + width])
            at += width

    def measure(self, values: Values) -> ColumnBaseline:
        return ColumnBaseline(self.counted, self.tally(values, ()))

    def tally(self, values: Values, edges: tuple[float, ...]) -> Counts:
        """Networks of two blocks."""
        return count_categories(_networks(values, 2).tolist())

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "parts": {n: part.to_json() for n, part in self.parts.items()}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        codes: dict[str, type[Code]] = {code.kind: code for code in (CategoryCode, FrequencyCode)}
        parts = {int(n): codes[part["kind"]].from_json(part) for n, part in values["parts"].items()}
        return cls(str(values["name"]), parts)


class IPv4(ColumnKind):
    """IPv4 addresses."""

    name = "address"
    holds = "IPv4 addresses"
    codes: ClassVar[tuple[type[Code], ...]] = (AddressCode,)

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
        elif cells.type == "number" and np.isnan(cells.values).all():
            return np.full(len(cells), None, object)
        raise self.differs(column, f"values such as {example_of(cells)}")

    def fit(self, column: Column, values: Values, scaling: Scaling) -> Code:
        return AddressCode.fit(column.name, values, scaling)

    def becomes(self, column: Column) -> str:
        return "its networks as categories"


def are_addresses(texts: Any) -> bool:
    """Whether all tidy texts are IPv4 addresses, some of which would also be numbers of billions."""
    return is_all(texts, _ADDRESS)


def _networks(values: Values, n_blocks: int) -> Values:
    """The first blocks of addresses (N,)."""
    found = np.empty(len(values), object)
    found[:] = [None if text is None else ".".join(text.split(".")[:n_blocks]) for text in values.tolist()]
    return found
