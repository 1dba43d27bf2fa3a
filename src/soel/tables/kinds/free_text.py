"""Free text: sentences that nearly all differ, told by their length, their digits and their words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from soel.tables.arrow import pa, pc
from soel.tables.codes import Code, DerivedCode, Scaling
from soel.tables.column import Column, Values, as_categories
from soel.tables.kinds.kind import LONG, MANY, MAX_CATEGORIES, NEARLY_ALL, ColumnKind, ColumnSource, Found, see_words
from soel.tables.tally import Counted
from soel.types import Floats


@dataclass(frozen=True)
class TextCode(DerivedCode):
    """log(1 + n) of the letters, digits and words of a cell."""

    counted: ClassVar[Counted] = "lengths"
    kind: str = field(default="text", kw_only=True)

    def derive(self, values: Values) -> Mapping[str, Floats]:
        """The logarithms (N,), NaN for missing."""
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

    def fit(self, column: Column, values: Values, scaling: Scaling) -> Code:
        code = TextCode(column.name, ())
        return code.with_numbers(code.derive(values), scaling)

    def becomes(self, column: Column) -> str:
        return "length, digits, words"
