"""Explanations of rows as people know them: the columns to change, in cells, words and chips of any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from soel.checks import is_missing
from soel.explain.counterfactual import MOST_GROUPS
from soel.records import read_body
from soel.tables.column import readable_time
from soel.text import ENGLISH, Texts
from soel.types import Floats

MOST_ROWS, MOST_CELLS = 20, 3  # of an explanation that are printed; of a group that are said
ARROWS = {1: "↑", -1: "↓", 0: "≠"}
_FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


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

    def say(self, t: Texts = ENGLISH, cell: str = "reason.cell") -> str:
        """'pressure 10.6, usually 6.49', or of a group 'size (6 columns: worst area 2022, usually 522; ...)'."""
        cells = list(zip(self.columns, self.values, self.usual, strict=True))
        said = [t(cell, name=n, value=localise(v, t), usual=localise(u, t)) for n, v, u in cells[:MOST_CELLS]]
        if len(cells) == 1:
            return said[0]
        listed = "; ".join([*said, *["..."] * (len(cells) > MOST_CELLS)])
        return t("reason.group", name=self.columns[0], n=len(cells), cells=listed)

    def chip(self, t: Texts = ENGLISH) -> str:
        """'worst area 2022 ↑ 522', and how many columns go with it."""
        value, usual = localise(self.values[0], t), localise(self.usual[0], t)
        return name_group([f"{self.columns[0]} {value} {ARROWS[self.direction]} {usual}", *self.columns[1:]], t)


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

    def say(self, t: Texts = ENGLISH, brief: bool = False, title: Callable[[str], str] = str) -> str:
        """What would have to be different, and what rank the row would have then.

        brief: beside chips that say what. title: what people call a row.
        """
        if not self.like:
            return t("reason.no_donor" if self.is_alarm else "reason.ordinary")
        if self.is_alarm:
            key = "reason.but_for" if self.suffices else "reason.even_with" if self.reasons else "reason.whole"
            key += ".brief" if brief and self.reasons else ""
        else:
            key = "reason.kept" if self.suffices else "reason.far"
        cell = "reason.cell" if self.is_alarm else "reason.cell_there"
        changes = "; ".join(reason.say(t, cell) for reason in self.reasons)
        return t(key, like=title(self.like), changes=changes, rank=self.changed_rank, now=self.rank)

    def __str__(self) -> str:
        return self.say()

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

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __str__(self) -> str:
        lines = [f"row {at}: {row}" for at, row in enumerate(self.rows[:MOST_ROWS])]
        n_more = len(self) - len(lines)
        return "\n".join([*lines, *[f"... and {n_more:,} more; index it for those you want to read"] * (n_more > 0)])

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
        found = np.zeros((len(self), MOST_GROUPS))
        for row, reasons in zip(found, self.reasons, strict=True):
            row[: len(reasons)] = [reason.contribution for reason in reasons]
        return found

    @property
    def baseline(self) -> Floats:
        """The scores (n,) of the donors."""
        return np.array([row.baseline for row in self.rows])

    @property
    def remainder(self) -> Floats:
        """What all other columns of each row (n,) do together."""
        return np.array([row.remainder for row in self.rows])


def name_group(columns: Sequence[str], t: Texts = ENGLISH) -> str:
    """A group by its most central column, and how many it has."""
    return t("reason.chip", what=columns[0], n=len(columns))


def localise(cell: Any, t: Texts) -> str:
    """A cell; a number with a fraction as the language writes it, since anything else may be a code."""
    text = show_cell(cell)
    return t.number(float(text)) if _FRACTION.fullmatch(text) else text


def show_cell(cell: Any) -> str:
    """A cell as a person writes it; 'nothing' where it is missing."""
    if is_missing(cell):
        return "nothing"
    if isinstance(cell, np.datetime64):
        return readable_time(cell)
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell).strip()
