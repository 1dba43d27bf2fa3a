"""Explanations of rows as people know them: the columns to change, with their values and the usual ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from soel.explain.counterfactual import MOST_GROUPS
from soel.explain.words import say_row, say_rows, show_cell
from soel.records import read_body
from soel.types import Floats


@dataclass(frozen=True)
class Reason:
    """Columns that go together and are changed together, the most central first; often a single one.

    values: that the row has in them. usual: that the ordinary row has. contribution: to the score. group: which group
    of columns it is, or is of. direction: 1 where the first value is larger than the usual one, -1 where it is smaller,
    0 where it is no number.
    """

    columns: tuple[str, ...]
    values: tuple[Any, ...]
    usual: tuple[Any, ...]
    contribution: float
    group: int
    direction: int


@dataclass(frozen=True)
class RowExplanation:
    """The smallest change that makes an alarm ordinary, or an ordinary row near the threshold an alarm.

    like: the row whose values are taken, donor: its position in the pool; '' and -1 where nothing was looked for.
    rank, changed_rank: among the pool's rows, as it is and with the change. suffices: whether the change is enough.
    score = baseline + the contributions of all reasons + remainder, where the baseline is the donor's score.
    """

    score: float
    rank: int
    is_alarm: bool
    like: str
    donor: int
    baseline: float
    reasons: tuple[Reason, ...]
    remainder: float
    changed_rank: int
    suffices: bool

    def __str__(self) -> str:
        return say_row(self)

    def to_json(self) -> dict[str, Any]:
        """As plain values, with cells as a person writes them."""
        shown = [
            asdict(reason) | {"values": [*map(show_cell, reason.values)], "usual": [*map(show_cell, reason.usual)]}
            for reason in self.reasons
        ]
        return asdict(self) | {"reasons": shown}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RowExplanation:
        """Back from the values of `to_json`."""
        return read_body(cls, values)


@dataclass(frozen=True, repr=False)
class Explanation(Sequence[RowExplanation]):
    """The explanations of n rows; printed, a sentence a row. columns: all that can be named, in order.

    groups: the columns that go together, by name.
    """

    rows: tuple[RowExplanation, ...]
    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RowExplanation]:
        return iter(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __str__(self) -> str:
        return say_rows(self.rows)

    def __repr__(self) -> str:
        return f"<Explanation (rows: {len(self):,}, columns: {len(self.columns):,}); print it to read the reasons>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In a notebook's cell it reads as it prints."""
        printer.text(str(self))

    @property
    def reasons(self) -> tuple[tuple[Reason, ...], ...]:
        """Of each row, the one that contributes most first."""
        return tuple(row.reasons for row in self.rows)

    @property
    def contributions(self) -> Floats:
        """Of the reasons of each row (n, 5), 0 where there are fewer: baseline + their sum + remainder = score."""
        padded = [[each.contribution for each in row.reasons] + [0.0] * MOST_GROUPS for row in self.rows]
        return np.array([row[:MOST_GROUPS] for row in padded]).reshape(-1, MOST_GROUPS)

    @property
    def baseline(self) -> Floats:
        """The scores (n,) of the donors."""
        return np.array([row.baseline for row in self.rows])

    @property
    def remainder(self) -> Floats:
        """What all other columns of each row (n,) do together."""
        return np.array([row.remainder for row in self.rows])
