"""All items, searched, filtered and sorted: what the list of items and the gallery of alarms show a page of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from fastapi import Query
from numpy.typing import NDArray

from soel.errors import DataError, UnknownItemError
from soel.report.outcome import Outcome
from soel.session import SessionState
from soel.tables.column import Values
from soel.types import Rows
from soel.web.cards import ItemView

LabelFilter = Literal["", "unlabelled", "labelled", "anomaly", "normal", "aside", "disagreement"]
Sort = Literal["score", "low_score", "unlabelled", "pattern", "name", "row"]
Op = Literal["is", "has", "above", "below", "missing"]
Text = Annotated[str, Query(max_length=200)]
Number = Annotated[float | None, Query(allow_inf_nan=False)]
ASIDE = ("skip", "unsure")
NONE: Mapping[str, int] = {}
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ItemQuery:
    """Which items, in which order, as an address asks. low, high: of the score. threshold: of alarms, or the model's.

    unsure: only items whose side is open. pattern: of alarms, by its number. p: the highest p-value.
    """

    search: Text = ""
    label: LabelFilter = ""
    person: Text = ""
    alarms: bool = False
    threshold: Number = None
    low: Number = None
    high: Number = None
    column: Text = ""
    op: Op = "is"
    value: Text = ""
    sort: Sort = "score"
    unsure: bool = False
    pattern: Annotated[int | None, Query(ge=1, le=1000)] = None
    p: Number = None


class ItemList:
    """The items of a session by row. What is the same for all requests is computed once."""

    def __init__(self, ids: Sequence[str], items: ItemView) -> None:
        self.ids, self.items = ids, items
        self._ranked: tuple[Outcome, Rows] | None = None

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self.ids)}

    @cached_property
    def _names(self) -> list[str]:
        return [self.items.title(item).casefold() for item in self.ids]

    @cached_property
    def _by_name(self) -> Rows:
        return np.array(sorted(range(len(self.ids)), key=self._names.__getitem__), np.int64)

    def rows(
        self, wanted: ItemQuery, seen: SessionState, outcome: Outcome | None, patterns: Mapping[str, int] = NONE
    ) -> Rows:
        """The rows of a selection, in its order. seen: the session as far as the user may know it.

        patterns: the number of the pattern of each alarm that is in one.
        """
        keep = np.ones(len(self.ids), bool)
        if outcome is not None:
            keep &= _by_score(wanted, outcome)
        if wanted.search.strip():
            text = wanted.search.strip().casefold()
            keep &= np.fromiter((text in name for name in self._names), bool, len(self.ids))
        if wanted.column:
            keep &= self._by_column(wanted)
        labelled = self._find_labelled(seen)
        if wanted.unsure and outcome is not None and seen.estimate is not None:
            keep &= outcome.unsure(seen.estimate).holds(outcome.scores) & ~labelled
        if wanted.label or wanted.person:
            keep &= self._by_answer(wanted, seen, labelled)
        if wanted.pattern is not None:
            keep &= self._mask([item for item, number in patterns.items() if number == wanted.pattern])
        order = self._order(wanted.sort, outcome, labelled, patterns)
        return order[keep[order]]

    def _by_rank(self, outcome: Outcome) -> Rows:
        if self._ranked is None or self._ranked[0] is not outcome:
            self._ranked = (outcome, np.argsort(-outcome.scores, kind="stable"))
        return self._ranked[1]

    def _order(self, sort: Sort, outcome: Outcome | None, labelled: Bools, patterns: Mapping[str, int]) -> Rows:
        if sort == "name":
            return self._by_name
        if sort == "row" or outcome is None:
            return np.arange(len(self.ids))
        order = self._by_rank(outcome)
        if sort == "low_score":
            return order[::-1]
        if sort == "pattern":
            numbers = np.array([patterns.get(self.ids[row], len(self.ids)) for row in order])
            return order[np.argsort(numbers, kind="stable")]
        return order[np.argsort(labelled[order], kind="stable")] if sort == "unlabelled" else order

    def _find_labelled(self, seen: SessionState) -> Bools:
        labelled = np.zeros(len(self.ids), bool)
        labelled[[self.row_of[item] for item in seen.labels if item in self.row_of]] = True
        return labelled

    def _by_answer(self, wanted: ItemQuery, seen: SessionState, labelled: Bools) -> Bools:
        keep = np.ones(len(self.ids), bool)
        if wanted.label in ("labelled", "unlabelled"):
            keep = labelled if wanted.label == "labelled" else ~labelled
        elif wanted.label:
            verdicts = ASIDE if wanted.label == "aside" else (wanted.label,)
            keep = self._mask([item for item, answered in seen.answers.items() if answered.verdict in verdicts])
        if wanted.person:
            keep = keep & self._mask([item for item in seen.answers if seen.vote_of(item, wanted.person) is not None])
        return keep

    def _mask(self, items: Sequence[str]) -> Bools:
        mask = np.zeros(len(self.ids), bool)
        mask[[self.row_of[item] for item in items if item in self.row_of]] = True
        return mask

    def _by_column(self, wanted: ItemQuery) -> Bools:
        column = self.items.columns().get(wanted.column)
        if column is None:
            raise UnknownItemError(f"There is no column {wanted.column[:80]!r}. Choose one of the table's.")
        return _compare(column, wanted.op, wanted.value)


def _by_score(wanted: ItemQuery, outcome: Outcome) -> Bools:
    keep = np.ones(len(outcome.scores), bool)
    if wanted.alarms:
        keep &= outcome.scores > (outcome.threshold if wanted.threshold is None else wanted.threshold)
    if wanted.p is not None:
        keep &= outcome.p_values <= wanted.p
    if wanted.low is not None:
        keep &= outcome.scores >= wanted.low
    if wanted.high is not None:
        keep &= outcome.scores <= wanted.high
    return keep


def _compare(column: Values, op: Op, value: str) -> Bools:
    if column.dtype == object:
        return _compare_words(column, op, value)
    if op == "missing":
        return np.asarray(np.isnat(column) if column.dtype.kind == "M" else np.isnan(column), bool)
    try:
        limit = np.datetime64(value) if column.dtype.kind == "M" else np.float64(value.replace(",", ""))
    except ValueError:
        raise DataError(f"{value[:80]!r} is no number or time to compare this column with; write one.") from None
    with np.errstate(invalid="ignore"):
        if op in ("above", "below"):
            return np.asarray(column > limit if op == "above" else column < limit, bool)
        return np.asarray(column == limit, bool)


def _compare_words(column: Values, op: Op, value: str) -> Bools:
    """Each word is compared once, however many rows have it."""
    text = value.strip().casefold()
    tests: dict[str, Callable[[str], bool]] = {
        "is": lambda word: word == text,
        "has": lambda word: text in word,
        "above": lambda word: word > text,
        "below": lambda word: word < text,
    }
    if op == "missing":
        return np.fromiter((cell is None for cell in column), bool, len(column))
    fits = {cell for cell in set(column.tolist()) if cell is not None and tests[op](str(cell).casefold())}
    return np.fromiter((cell in fits for cell in column), bool, len(column))
