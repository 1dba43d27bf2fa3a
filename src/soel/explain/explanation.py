"""What raises the scores of some rows, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soel.explain.reasons import Reason
from soel.explain.words import say_rows
from soel.types import Floats, Rows

Part = tuple[int, ...]  # positions of columns
MOST_REASONS = 3
LEAST_SHARE = 0.05  # of what raises a score: a part with less is no reason, unless it is the first
OF_ROWS = ("scores", "baseline", "remainder", "ranks", "ranks_together", "reference")
OF_PARTS = {
    "contributions": 0.0,
    "alone": np.nan,
    "ranks_alone": 0,
    "lenders": -1,
}  # and what a part has that is not tried


@dataclass(frozen=True, repr=False)
class Explanation:
    """What raises the scores of n rows, by p parts: every column alone, then the groups of columns that are named.

    A row's score is `baseline + contributions.sum() + remainder`, always: the baseline is the score of the ordinary row
    that it resembles most, the remainder what all parts without a contribution of their own do together. Where
    columns explain a score only together, their group has the contribution, else each column its own.

    columns: names (c,). parts: positions of columns. scores, baseline, remainder: (n,). contributions: (n, p).
    alone: (n, p) the score with this part alone replaced, NaN where it was not tried. ranks: (n,) among the pool's
    rows, 1 for the most anomalous; ranks_alone: (n, p) the same with one part replaced, 0 where it was not tried.
    ranks_together: (n, 3) with the first one, two and three reasons replaced, 0 where there are fewer. lenders: (n, p)
    the pool's row whose values were taken, -1 where it was not tried. reference: (n,) the row of the baseline.
    reasons: the few that matter most of each row, with values; printed, the explanation says them in sentences.
    """

    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    scores: Floats
    baseline: Floats
    contributions: Floats
    remainder: Floats
    alone: Floats
    ranks: Rows
    ranks_alone: Rows
    ranks_together: Rows
    lenders: Rows
    reference: Rows
    reasons: tuple[tuple[Reason, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.scores)

    def __str__(self) -> str:
        return say_rows(self.reasons) if self.reasons else repr(self)

    def __repr__(self) -> str:
        return f"<Explanation (rows: {len(self):,}, columns: {len(self.columns):,}); print it to read the reasons>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In a notebook's cell it reads as it prints."""
        printer.text(str(self))

    def take(self, rows: Rows) -> Explanation:
        """Some of the rows."""
        arrays: dict[str, Any] = {name: getattr(self, name)[rows] for name in (*OF_ROWS, *OF_PARTS)}
        return replace(self, reasons=tuple(self.reasons[row] for row in rows) if self.reasons else (), **arrays)

    def names(self, part: int) -> tuple[str, ...]:
        """The columns of a part."""
        return tuple(self.columns[column] for column in self.parts[part])

    def first(self, row: int, most: int = MOST_REASONS) -> list[int]:
        """The parts that raise a row's score most, in order; only such as raise it by more than a trifle."""
        return first_parts(self.contributions[row], float(self.remainder[row]), most)


def first_parts(contributions: Floats, remainder: float, most: int = MOST_REASONS) -> list[int]:
    """The parts that raise a score most, by contributions (p,), in order; after the first only reasons."""
    order = np.argsort(-contributions, kind="stable")[:most]
    raising = np.maximum(contributions, 0).sum() + max(remainder, 0.0)
    least = [0.0, *[LEAST_SHARE * raising] * (most - 1)]
    return [int(part) for part, enough in zip(order, least, strict=False) if contributions[part] > enough]


def join(blocks: Sequence[Explanation]) -> Explanation:
    """Rows that were explained one block after the other, by all their parts."""
    groups = sorted({part for block in blocks for part in block.parts if len(part) > 1})
    parts = (*(part for part in blocks[0].parts if len(part) == 1), *groups)
    arrays: dict[str, Any] = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in OF_ROWS}
    at = [[parts.index(part) for part in block.parts] for block in blocks]
    for name, nothing in OF_PARTS.items():
        own = [getattr(block, name) for block in blocks]
        wide = [np.full((len(each), len(parts)), nothing, each.dtype) for each in own]
        for each, places, values in zip(wide, at, own, strict=True):
            each[:, places] = values
        arrays[name] = np.concatenate(wide)
    return replace(blocks[0], parts=parts, **arrays)
