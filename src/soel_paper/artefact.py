"""What an artefact of the paper is, as data: what varies, what is measured, what the paper printed and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from soel_paper.catalogue import CATALOGUE
from soel_paper.cell import Cell, Condition, Expert, Stage
from soel_paper.claims import Claim
from soel_paper.figures import Axis
from soel_paper.methods import Method, Variant
from soel_paper.paper_figures import PRINTED, Figures
from soel_paper.results import FigureTable
from soel_paper.sources import DataSource

FIRST_SEED = 40


@dataclass(frozen=True)
class Artefact:
    """One table or figure.

    label: the paper's, empty for one of ours. rows, columns: the axes of the printed table; what varies beyond
    them gives several tables. plot: the axis that is drawn along x, None for no picture. needs: data and hardware in
    words.
    minutes: on two cores in profile `authors`, from the files on; gpu_minutes: of training on one H200, None where
    that was not measured. Both are put together from the seconds that single cells took.
    """

    name: str
    label: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]
    measures: tuple[str, ...]
    budgets: tuple[int, ...] = (10,)
    shares: tuple[float | None, ...] = (None,)
    experts: tuple[Expert, ...] = (Expert(),)
    stage: Stage = "fit"
    rows: tuple[str, ...] = ("dataset",)
    columns: str = "method"
    paper_axes: tuple[str, ...] = ("dataset", "method")
    claims: tuple[Claim, ...] = ()
    plot: Axis | None = None
    n_seeds: int = 5
    needs: str = "tables"
    minutes: float = 0.0
    gpu_minutes: float | None = None

    @property
    def paper(self) -> Figures:
        """What the paper printed, with the spread, keyed by the places on `paper_axes`."""
        return PRINTED.get(self.name, {})

    def cells(self, variant: Variant, seeds: Sequence[int], source: DataSource, classes: tuple[int, ...]) -> list[Cell]:
        """Everything to compute, in the order of the table."""
        return [
            Cell(dataset, method, variant, self._setting(dataset, variant, *place), seed, normal, form)
            for dataset in self.datasets
            for normal in source.classes(dataset, classes)
            for method in self.methods
            if source.suits(dataset, method.augmented, method.on_pixels(variant.profile))
            for form in (source.form(dataset, method.on_pixels(variant.profile)),)
            for place in product(self.budgets, self.shares, self.experts)
            for seed in seeds
        ]

    def with_paper(self, results: FigureTable) -> FigureTable:
        """The points with the paper's figures beside them."""
        keys = [tuple(getattr(point.at, axis) for axis in self.paper_axes) for point in results.points]
        points = [replace(point, paper=self.paper.get(key)) for point, key in zip(results.points, keys, strict=True)]
        return FigureTable(points, results.missing)

    def to_json(self) -> dict[str, Any]:
        """What the list says about it."""
        shown = ("name", "label", "title", "datasets", "budgets", "needs", "minutes")
        methods = [method.name for method in self.methods]
        return {name: getattr(self, name) for name in shown} | {"methods": methods, "minutes_on_gpu": self.gpu_minutes}

    def _setting(self, dataset: str, variant: Variant, budget: int, share: float | None, expert: Expert) -> Condition:
        is_table = dataset in CATALOGUE and CATALOGUE[dataset].kind == "table"
        first = variant.first_anomalies and share is None and is_table
        return Condition(budget, share, "first" if first else "random", expert, self.stage)
