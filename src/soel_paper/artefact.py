"""What an artefact of the paper is, as data: what varies, what is measured, what the paper printed and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from soel_paper.catalogue import CATALOGUE
from soel_paper.cells import Cell, Expert, Setting, Stage
from soel_paper.claims import Claim
from soel_paper.figures import Axis
from soel_paper.methods import Method, Variant
from soel_paper.paper_figures import Figures
from soel_paper.results import Point, Results
from soel_paper.sources import Source

FIRST_SEED = 40


@dataclass(frozen=True)
class Artefact:
    """One table or figure.

    label: the paper's, empty for one of ours. rows, columns: the axes of the printed table; what varies beyond
    them gives several tables. paper: printed figures with their spread, keyed by the places on `paper_axes`.
    plot: the axis that is drawn along x, None for no picture. needs: data and hardware in words.
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
    paper: Figures = field(default_factory=dict)
    paper_axes: tuple[str, ...] = ("dataset", "method")
    claims: tuple[Claim, ...] = ()
    plot: Axis | None = None
    n_seeds: int = 5
    needs: str = "tables"
    minutes: float = 0.0
    gpu_minutes: float | None = None

    def cells(self, variant: Variant, seeds: Sequence[int], source: Source, classes: tuple[int, ...]) -> list[Cell]:
        """Everything to compute, in the order of the table."""
        return [
            Cell(dataset, method, variant, self._setting(dataset, variant, place), seed, normal, form)
            for dataset in self.datasets
            for normal in source.classes(dataset, classes)
            for method in self.methods
            if source.suits(dataset, method.augmented, method.on_pixels(variant.profile))
            for form in (source.form(dataset, method.on_pixels(variant.profile)),)
            for place in self._places()
            for seed in seeds
        ]

    def with_paper(self, results: Results) -> Results:
        """The points with the paper's figures beside them."""
        return Results([replace(point, paper=self._paper_value(point)) for point in results.points], results.missing)

    def to_json(self) -> dict[str, Any]:
        """What the list says about it."""
        return {
            "name": self.name,
            "label": self.label,
            "title": self.title,
            "datasets": list(self.datasets),
            "methods": [method.name for method in self.methods],
            "budgets": list(self.budgets),
            "needs": self.needs,
            "minutes": self.minutes,
            "minutes_on_gpu": self.gpu_minutes,
        }

    def _places(self) -> list[tuple[int, float | None, Expert]]:
        """Everything besides data set, method and seed."""
        return [(budget, share, expert) for budget in self.budgets for share in self.shares for expert in self.experts]

    def _setting(self, dataset: str, variant: Variant, place: tuple[int, float | None, Expert]) -> Setting:
        budget, share, expert = place
        is_table = dataset in CATALOGUE and CATALOGUE[dataset].kind == "table"
        first = variant.first_anomalies and share is None and is_table
        return Setting(budget, share, "first" if first else "random", expert, self.stage)

    def _paper_value(self, point: Point) -> tuple[float, float] | None:
        return self.paper.get(tuple(getattr(point.at, axis) for axis in self.paper_axes))
