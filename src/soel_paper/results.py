"""Finished cells as points over axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from soel_paper.cell import Cell, Expert
from soel_paper.runner import CellStore

RAW = ("radius", "delta", "anomalies_found", "equal_scores", "violations")  # all others are shown in per cent

WORDS = {
    "f1": "F1, %", "f1_pool_cut": "F1, % (cut at the pool's share)",
    "auroc": "AUROC, %", "ranking": "AUROC on unqueried rows, %", "radius": "cover radius",
    "delta": "cover radius by kind (eq:delta-est)", "delta_defined": "runs in which that is defined, %",
    "alpha_kde": "kde", "alpha_cover": "cover", "alpha_kriging": "kriging", "correlation_mean": "mean correlation, %",
    "correlation_max": "largest, %", "correlation_min": "smallest, %", "equal_scores": "pairs of equal scores",
    "violations": "with unequal labels",
}  # fmt: skip


@dataclass(frozen=True)
class Position:
    """Where a figure lies. dataset: its title. share: of anomalies in the pool, None for the protocol's own."""

    dataset: str
    method: str
    budget: int
    share: float | None
    expert: Expert
    measure: str


AXES = tuple(axis.name for axis in fields(Position))


def word(axis: str, value: Any) -> str:
    """A place on an axis as tables and pictures say it."""
    if axis == "measure":
        return WORDS.get(value, str(value))
    if axis == "share":
        return "own" if value is None else f"{100 * value:g} %"
    return f"K = {value}" if axis == "budget" else str(value)


@dataclass(frozen=True)
class Figure:
    """One figure. mean, deviation: over n seeds, each the mean over its classes. paper: what it printed, if it did."""

    at: Position
    mean: float
    deviation: float
    n: int
    paper: tuple[float, float] | None = None

    @property
    def error(self) -> float:
        """The standard error of the mean; one seed says nothing about it."""
        return float(self.deviation / (self.n - 1) ** 0.5) if self.n > 1 else float("nan")

    def to_json(self) -> dict[str, Any]:
        """The point as plain values."""
        return {**asdict(self), "at": {**asdict(self.at), "expert": str(self.at.expert)}}


@dataclass(frozen=True)
class Missing:
    """What could not be run, on which data set where that matters, and why."""

    what: str
    why: str
    dataset: str = ""

    def __str__(self) -> str:
        return f"{self.what}{f' on {self.dataset}' if self.dataset else ''}, because {self.why}"


@dataclass(frozen=True)
class FigureTable:
    """All points of an artefact, in the order of its cells, and what is missing among them."""

    points: Sequence[Figure]
    missing: Sequence[Missing] = ()

    def where(self, **at: Any) -> FigureTable:
        """Only the points at these places."""
        kept = [p for p in self.points if all(getattr(p.at, axis) == value for axis, value in at.items())]
        return FigureTable(kept, self.missing)

    def values(self, axis: str) -> list[Any]:
        """The places on an axis, in order of appearance."""
        return list(dict.fromkeys(getattr(point.at, axis) for point in self.points))

    def common(self) -> FigureTable:
        """Only the points at places that every method has: all others would compare unlike things."""
        methods = set(self.values("method"))
        found: dict[Position, set[str]] = defaultdict(set)
        for point in self.points:
            found[replace(point.at, method="")].add(point.at.method)
        return FigureTable([p for p in self.points if found[replace(p.at, method="")] == methods], self.missing)

    def mean(self, **at: Any) -> float:
        """The mean over all points at these places; NaN where there is none."""
        means = [point.mean for point in self.where(**at).points]
        return float(np.mean(means)) if means else float("nan")

    def error(self, **at: Any) -> float:
        """The standard error of that mean."""
        errors = [point.error for point in self.where(**at).points]
        return float(np.sqrt(np.sum(np.square(errors))) / len(errors)) if errors else float("nan")


def collect(cells: Iterable[Cell], store: CellStore, measures: Sequence[str], titles: Mapping[str, str]) -> FigureTable:
    """The points of finished cells; those that are not finished, or too large a budget, are left out."""
    found: dict[Position, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        values = store.read(cell) if store.has(cell) else {}
        setting, title = cell.setting, titles.get(cell.dataset, cell.dataset)
        for measure in measures:
            value = values.get(measure)
            if value is not None:
                place = Position(title, cell.method.name, setting.budget, setting.share, setting.expert, measure)
                found[place][cell.seed].append(value)
    return FigureTable([_point(place, by_seed) for place, by_seed in found.items()])


def _point(place: Position, by_seed: Mapping[int, Sequence[float]]) -> Figure:
    scale = 1.0 if place.measure in RAW else 100.0
    values = scale * np.array([np.mean(values) for values in by_seed.values()])
    return Figure(place, float(values.mean()), float(values.std()), len(values))
