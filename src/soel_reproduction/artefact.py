"""What an artefact of the paper is, as data: what varies, what is measured, what the paper printed and claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from soel.data.catalogue import CATALOGUE
from soel.profiles import PICTURE_BACKBONES, Profile
from soel_reproduction.cells import Cell, Expert, Setting, Stage
from soel_reproduction.claims import Claim
from soel_reproduction.methods import Method
from soel_reproduction.results import Point, Results
from soel_reproduction.sources import Source

FIRST_SEED = 40
Figures = Mapping[tuple[str, ...], tuple[float, float]]


@dataclass(frozen=True)
class Artefact:
    """One table or figure.

    label: the paper's, empty for one of ours. rows, columns: the axes of the printed table; what varies beyond
    them gives several tables. paper: printed figures with their spread, keyed by the places on `paper_axes`.
    plot: the axis that is drawn along x, None for no picture. needs: data and hardware in words.
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
    plot: str | None = None
    n_seeds: int = 5
    needs: str = "tables"

    @property
    def on_pictures(self) -> bool:
        """Whether its own data sets are pictures that have to become features first."""
        pictures = all(CATALOGUE[name].kind in ("images", "video") for name in self.datasets)
        return pictures and not all(method.backbone in PICTURE_BACKBONES for method in self.methods)

    def cells(self, profile: Profile, seeds: Sequence[int], source: Source, classes: tuple[int, ...]) -> list[Cell]:
        """Everything to compute, in the order of the table."""
        return [
            Cell(dataset, method, profile, self._setting(dataset, profile, place), seed, normal, form)
            for dataset in self.datasets
            for normal in source.classes(dataset, classes)
            for method in self.methods
            if source.suits(dataset, method.augmented, method.on_pixels(profile))
            for form in (source.form(dataset, method.on_pixels(profile)),)
            for place in self._places()
            for seed in seeds
        ]

    def with_paper(self, results: Results) -> Results:
        """The points with the paper's figures beside them."""
        return Results([replace(point, paper=self._printed(point)) for point in results.points], results.missing)

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
        }

    def _places(self) -> list[tuple[int, float | None, Expert]]:
        """Everything besides data set, method and seed."""
        return [(budget, share, expert) for budget in self.budgets for share in self.shares for expert in self.experts]

    def _setting(self, dataset: str, profile: Profile, place: tuple[int, float | None, Expert]) -> Setting:
        budget, share, expert = place
        is_table = dataset in CATALOGUE and CATALOGUE[dataset].kind == "table"
        first = profile.name == "authors" and share is None and is_table
        return Setting(budget, share, "first" if first else "random", expert, self.stage)

    def _printed(self, point: Point) -> tuple[float, float] | None:
        return self.paper.get(tuple(point.at[axis] for axis in self.paper_axes))
