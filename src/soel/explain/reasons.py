"""The few reasons of a row that a person wants to read, with the values that the columns have and usually have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soel.explain.words import reason_texts, say_reason
from soel.types import Rows

if TYPE_CHECKING:
    from soel.explain.explanation import Explanation

Columns = Mapping[str, Sequence[Any] | np.ndarray]


@dataclass(frozen=True, repr=False)
class Reason:
    """Columns that raise a row's score together, nearly always one. Printed, it is a sentence.

    values: that the row has in them. usual: that a similar ordinary row has. contribution: to the score. share: of all
    that raises it. present_rank: of the row among the pool's rows. rank: the same if the columns had the usual values.
    rank_together: if these and those of the reasons before had the values of the most similar ordinary row.
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]
    usual: tuple[Any, ...]
    contribution: float
    share: float
    present_rank: int
    rank: int
    rank_together: int

    def __str__(self) -> str:
        return say_reason(reason_texts(self))

    def __repr__(self) -> str:
        return f"<Reason: {self}>"


def find_reasons(
    explanation: Explanation, given: Columns, ordinary: Columns, positions: Rows
) -> tuple[tuple[Reason, ...], ...]:
    """The reasons of each row.

    given: the columns of the rows that were explained, as people know them. ordinary: the same of the pool's rows at
    these positions (m,), in order, among which all lenders are.
    """
    return tuple(
        tuple(
            _reason(explanation, given, ordinary, positions, row, place, part)
            for place, part in enumerate(explanation.first(row))
        )
        for row in range(len(explanation))
    )


def _reason(
    explanation: Explanation, given: Columns, ordinary: Columns, positions: Rows, row: int, place: int, part: int
) -> Reason:
    names = explanation.names(part)
    lender = int(np.searchsorted(positions, explanation.lenders[row, part]))
    contributions = explanation.contributions[row]
    raising = np.maximum(contributions, 0).sum() + max(float(explanation.remainder[row]), 0.0)
    return Reason(
        names,
        tuple(given[name][row] for name in names),
        tuple(ordinary[name][lender] for name in names),
        float(contributions[part]),
        float(contributions[part] / raising),
        int(explanation.ranks[row]),
        int(explanation.ranks_alone[row, part]),
        int(explanation.ranks_together[row, place]),
    )
