"""The same comparison on a user's own labelled table: detection over the budget, our profiles and the peers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from soel.errors import ConfigError
from soel.profiles import find_profile
from soel.types import Progress
from soel_reproduction.artefact import FIRST_SEED, Artefact
from soel_reproduction.chart import draw, panels
from soel_reproduction.markdown import table
from soel_reproduction.methods import PEERS, SOEL, UNSUPERVISED, Method
from soel_reproduction.peers import missing_package
from soel_reproduction.results import Results, collect
from soel_reproduction.runner import run
from soel_reproduction.sources import Source, own_name
from soel_reproduction.store import CellStore

MEASURES = ("auroc", "f1")


@dataclass(frozen=True)
class Comparison:
    """What came out, and the files that were written."""

    shape: Artefact
    results: Results
    files: dict[str, str]

    @property
    def text(self) -> str:
        """The tables as Markdown."""
        left_out = [f"Left out: {why}." for why in self.results.missing]
        return "\n\n".join([table(self.shape, self.results), *left_out])

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values."""
        points = [asdict(point) for point in self.results.points]
        return {"points": points, "missing": list(self.results.missing), "files": self.files}


def compare(
    path: Path,
    label_column: str,
    out: Path,
    budgets: Sequence[int] = (5, 10, 20, 40),
    profiles: Sequence[str] = ("default", "authors"),
    n_seeds: int = 3,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Half of each kind is the pool, the rest the test, again for every seed; the expert is the label column."""
    if not budgets or min(budgets) < 1:
        raise ConfigError(f"Budgets are numbers of labels from 1 on, got {list(budgets)}.")
    source = Source(table=path, label_column=label_column)
    name, store = own_name(path), CellStore(out / "cells")
    seeds = range(FIRST_SEED, FIRST_SEED + n_seeds)
    shape = _shape(name, (SOEL,), tuple(budgets))
    cells = []
    for profile in profiles:
        ours = tuple(replace(method, name=f"{method.name}, {profile}") for method in (SOEL, UNSUPERVISED))
        cells += _shape(name, ours, tuple(budgets)).cells(find_profile(profile), seeds, source, ())
    cells += _shape(name, PEERS, tuple(budgets)).cells(find_profile("default"), seeds, source, ())
    run(cells, source, store, n_jobs, progress)
    results = collect(cells, store, MEASURES, {name: path.name})
    missing = [(peer.name, missing_package(peer.peer or "")) for peer in PEERS if peer.peer]
    left_out = [f"{peer}, because {package} is not installed" for peer, package in missing if package]
    return _written(shape, Results(results.points, left_out), out)


def _shape(name: str, methods: tuple[Method, ...], budgets: tuple[int, ...]) -> Artefact:
    return Artefact(
        "compare",
        "",
        "Detection over the budget",
        (name,),
        methods,
        MEASURES,
        budgets,
        rows=("method",),
        columns="budget",
    )


def _written(shape: Artefact, results: Results, out: Path) -> Comparison:
    files = {
        kind: str(out / f"compare.{suffix}")
        for kind, suffix in (("markdown", "md"), ("json", "json"), ("picture", "svg"))
    }
    comparison = Comparison(shape, results, files)
    if results.points:
        Path(files["picture"]).write_text(draw(panels(results, "budget"), "labels"), encoding="utf-8")
    Path(files["markdown"]).write_text(f"# {shape.title}\n\n{comparison.text}\n", encoding="utf-8")
    Path(files["json"]).write_text(json.dumps(comparison.to_json(), indent=1) + "\n", encoding="utf-8")
    return comparison
