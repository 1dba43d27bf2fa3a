"""A row of a table as a readable card: what stands out against the normal rows comes first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soel.tables.columns import Column, Values
from soel.tables.frame import Frame as TableFrame
from soel.tables.kinds import kind_of
from soel.text import ENGLISH, Texts
from soel.types import ANOMALY, Rows
from soel.web.columns import Measure, measure
from soel.web.ports import Card, Field, Frame, Kind, Picture

N_REFERENCE = 4000  # rows that say what is usual; more would only be slower
STANDS_OUT = 2.5  # in units of the usual spread, at the least
FALSE_ALARMS = 0.125  # values of a usual row that may stand out by chance, over all its columns together
N_SHOWN = 30  # values that a card holds when nothing else is asked for


MOST_KEPT = 4


@dataclass(frozen=True)
class _Usual:
    """What is usual in a column. cut: the distance from which a value stands out."""

    measure: Measure
    cut: float


class TableView:
    """Cards from a frame that is read when the first card is asked for.

    named: whether the ids are names that people gave; else a row is called by its number, as in files of scores.
    """

    def __init__(self, ids: Sequence[str], read: Callable[[], TableFrame], named: bool = True) -> None:
        self._ids, self._read, self._reading, self._named = ids, read, threading.Lock(), named
        self._kept: OrderedDict[frozenset[str], Mapping[str, _Usual]] = OrderedDict()

    def kind(self, item: str) -> Kind:
        """Always a table's row."""
        return "table"

    def title(self, item: str) -> str:
        """A row is called by its id, by the name that a column gives it, or by its number."""
        row = None if self._named else self._row_of.get(item)  # one that was removed has no number any more
        if row is None:
            return item
        return f"#{row + 1}" if self._names is None else self._names[row]

    def card(
        self, item: str, labels: Mapping[str, int], search: str = "", most: int = N_SHOWN, texts: Texts = ENGLISH
    ) -> Card:
        """The row's values, the most unusual first; among the usual ones the table's own order holds.

        A value stands out when it is farther from usual than chance makes one in eight rows show in any of its columns.

        Known anomalies are no measure of what is usual.
        """
        row, columns = self._row_of[item], self._shown
        usual = self._usual(frozenset(other for other, label in labels.items() if label == ANOMALY))
        far = {name: d for name, c in columns.items() if (d := usual[name].measure.distance(c[row])) >= usual[name].cut}
        ordered = sorted(far, key=lambda name: -far[name])
        wanted = search.strip().casefold()
        names = [
            name for name in (*ordered, *(name for name in columns if name not in far)) if wanted in name.casefold()
        ]
        shown = names[:most]
        fields = tuple(_field(usual[name].measure, name, columns[name][row], name in far, texts) for name in shown)
        return Card(item, "table", self.title(item), fields, sum(name in far for name in shown), n_fields=len(names))

    def columns(self) -> Mapping[str, Values]:
        """The table's own columns."""
        return self._frame.columns

    def image(self, item: str, size: int, with_map: bool = False) -> Picture | None:
        """A row has no picture."""
        return None

    def has_map(self, item: str) -> bool:
        """A row has no picture."""
        return False

    def picture_size(self, item: str) -> tuple[int, int] | None:
        """A row has no picture."""
        return None

    def frames(self, item: str) -> tuple[Frame, ...]:
        """A row has no neighbours in time."""
        return ()

    @cached_property
    def _names(self) -> list[str] | None:
        called = self._frame.row_names
        return None if called is None else called[1]

    @property
    def _frame(self) -> TableFrame:
        with self._reading:  # one thread reads, the others wait for it
            return self._held

    @cached_property
    def _held(self) -> TableFrame:
        return self._read()

    @cached_property
    def _shown(self) -> Mapping[str, Values]:
        """The columns as a card shows them: yes and no in the words of the file."""
        known = self._columns
        return {
            name: kind_of(known[name]).show(known[name], values) if name in known else values
            for name, values in self._frame.columns.items()
        }

    @cached_property
    def _columns(self) -> Mapping[str, Column]:
        schema = self._frame.schema
        return {} if schema is None else schema.by_name

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self._ids)}

    @cached_property
    def _reference(self) -> Rows:
        n_rows = self._frame.n_rows
        return np.unique(np.linspace(0, n_rows - 1, min(n_rows, N_REFERENCE)).astype(np.int64))

    def _usual(self, anomalies: frozenset[str]) -> Mapping[str, _Usual]:
        """What is usual beside these anomalies; a few are kept, because users may know of different ones."""
        held = self._kept.get(anomalies)
        if held is None:
            known = [self._row_of[item] for item in anomalies if item in self._row_of]
            rows = np.setdiff1d(self._reference, known)
            columns, rows = self._shown, rows if len(rows) else self._reference
            units = {name: each.form.unit for name, each in self._columns.items()}
            held = {name: _usual_of(each[rows], len(columns), units.get(name, "")) for name, each in columns.items()}
            self._kept[anomalies] = held
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return held


def _usual_of(column: Values, n_columns: int, unit: str) -> _Usual:
    usual = measure(column, unit)
    return _Usual(usual, max(STANDS_OUT, usual.reach(FALSE_ALARMS / n_columns)))


def _field(usual: Measure, name: str, value: object, stands_out: bool, t: Texts) -> Field:
    return Field(name, usual.text(value, t), usual.words(value, stands_out, t), stands_out, usual.strip(value, t))
