"""Finished cells as points: mean and standard deviation over the seeds, with the axes they lie on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from soel_reproduction.cells import Cell
from soel_reproduction.store import CellStore

AXES = ("dataset", "method", "budget", "share", "expert", "measure")
RAW = ("radius", "delta", "anomalies_found", "equal_scores", "violations")  # all others are shown in per cent


@dataclass(frozen=True)
class Point:
    """One figure. at: its place on the axes. mean, deviation: over n seeds, each the mean over its classes."""

    at: dict[str, str]
    mean: float
    deviation: float
    n: int
    paper: tuple[float, float] | None = None

    @property
    def place(self) -> tuple[str, ...]:
        """Where it lies, whatever the method."""
        return tuple(value for axis, value in self.at.items() if axis != "method")

    @property
    def error(self) -> float:
        """The standard error of the mean; one seed says nothing about it."""
        return float(self.deviation / (self.n - 1) ** 0.5) if self.n > 1 else float("nan")


@dataclass(frozen=True)
class Results:
    """All points of an artefact, in the order of its cells. missing: what could not be run, and why."""

    points: Sequence[Point]
    missing: Sequence[str] = field(default_factory=tuple)

    def where(self, **at: str) -> Results:
        """Only the points at these places."""
        kept = [p for p in self.points if all(p.at[axis] == value for axis, value in at.items())]
        return Results(kept, self.missing)

    def values(self, axis: str) -> list[str]:
        """The places on an axis, in order of appearance."""
        return list(dict.fromkeys(point.at[axis] for point in self.points))

    def common(self) -> Results:
        """Only the points at places that every method has: all others would compare unlike things."""
        methods = set(self.values("method"))
        found: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for point in self.points:
            found[point.place].add(point.at["method"])
        return Results([point for point in self.points if found[point.place] == methods], self.missing)

    def mean(self, **at: str) -> float:
        """The mean over all points at these places; NaN where there is none."""
        means = [point.mean for point in self.where(**at).points]
        return float(np.mean(means)) if means else float("nan")

    def error(self, **at: str) -> float:
        """The standard error of that mean."""
        errors = [point.error for point in self.where(**at).points]
        return float(np.sqrt(np.sum(np.square(errors))) / len(errors)) if errors else float("nan")


def collect(cells: Iterable[Cell], store: CellStore, measures: Sequence[str], title: dict[str, str]) -> Results:
    """The points of finished cells; those that are not finished, or too large a budget, are left out."""
    found: dict[tuple[str, ...], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if not store.has(cell):
            continue
        values = store.read(cell)
        for measure in measures:
            value = values.get(measure)
            if value is not None:
                found[_place(cell, measure, title)][cell.seed].append(value)
    return Results([_point(place, by_seed) for place, by_seed in found.items()])


def _place(cell: Cell, measure: str, title: dict[str, str]) -> tuple[str, ...]:
    setting = cell.setting
    share = "own" if setting.share is None else f"{100 * setting.share:g} %"
    dataset = title.get(cell.dataset, cell.dataset)
    return (dataset, cell.method.name, str(setting.budget), share, str(setting.expert), measure)


def _point(place: tuple[str, ...], by_seed: dict[int, list[float]]) -> Point:
    at = dict(zip(AXES, place, strict=True))
    scale = 1.0 if at["measure"] in RAW else 100.0
    values = scale * np.array([np.mean(values) for values in by_seed.values()])
    return Point(at, float(values.mean()), float(values.std()), len(values))
