"""A row of a table as a readable card: what stands out against the normal rows comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from soel.data.columns import Column
from soel.data.frame import Frame as TableFrame
from soel.types import ANOMALY, Rows
from soel.web.columns import Measure, measure
from soel.web.ports import Card, Field, Frame, Kind, Picture

N_REFERENCE = 4000  # rows that say what is usual; more would only be slower
STANDS_OUT = 2.5  # in units of the usual spread


class TableView:
    """Cards from a frame that is read when the first card is asked for."""

    def __init__(self, ids: Sequence[str], read: Callable[[], TableFrame]) -> None:
        self._ids, self._read, self._reading = ids, read, threading.Lock()
        self._measured: tuple[frozenset[str], Mapping[str, Measure]] | None = None

    def kind(self, item: str) -> Kind:
        """Always a table's row."""
        return "table"

    def title(self, item: str) -> str:
        """A row is called by its id."""
        return item

    def card(self, item: str, labels: Mapping[str, int]) -> Card:
        """The row's values, the most unusual first; among the usual ones the table's own order holds.

        Known anomalies are no measure of what is usual.
        """
        row = self._row_of[item]
        measures = self._measures(frozenset(other for other, label in labels.items() if label == ANOMALY))
        cells = [(measures[name].distance(c[row]), name, c[row]) for name, c in self._frame.columns.items()]
        far = sorted((t for t in cells if t[0] >= STANDS_OUT), key=lambda t: -t[0])
        near = [t for t in cells if t[0] < STANDS_OUT]
        fields = [_field(measures[name], name, value, True) for _, name, value in far]
        fields += [_field(measures[name], name, value, False) for _, name, value in near]
        return Card(item, "table", item, tuple(fields), len(far))

    def image(self, item: str, size: int) -> Picture | None:
        """A row has no picture."""
        return None

    def frames(self, item: str) -> tuple[Frame, ...]:
        """A row has no neighbours in time."""
        return ()

    @property
    def _frame(self) -> TableFrame:
        with self._reading:  # one thread reads, the others wait for it
            return self._held

    @cached_property
    def _held(self) -> TableFrame:
        return self._read()

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item: row for row, item in enumerate(self._ids)}

    @cached_property
    def _reference(self) -> Rows:
        n_rows = self._frame.n_rows
        return np.unique(np.linspace(0, n_rows - 1, min(n_rows, N_REFERENCE)).astype(np.int64))

    def _measures(self, anomalies: frozenset[str]) -> Mapping[str, Measure]:
        held = self._measured
        if held is None or held[0] != anomalies:
            known = [self._row_of[item] for item in anomalies if item in self._row_of]
            rows = np.setdiff1d(self._reference, known)
            rows = rows if len(rows) else self._reference
            held = (anomalies, {name: _measure(column, rows) for name, column in self._frame.columns.items()})
            self._measured = held
        return held[1]


def _measure(column: Column, rows: Rows) -> Measure:
    return measure(column[rows])


def _field(usual: Measure, name: str, value: object, stands_out: bool) -> Field:
    return Field(name, usual.text(value), usual.words(value, stands_out), stands_out, usual.strip(value))
