"""One artefact of the paper, or a comparison on a user's own table: cells computed, figures and verdicts written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from soel import ConfigError, DataError
from soel.files import write_whole
from soel.types import Progress
from soel_paper.artefacts import FIRST_SEED, Artefact
from soel_paper.cell import Cell
from soel_paper.figures import UNDRAWN, can_draw, draw_curves, panels
from soel_paper.findings import AXES, FigureTable, Judgement, Missing, collect, word
from soel_paper.methods import (
    PEERS,
    SOEL,
    UNSUPERVISED,
    VARIANTS,
    Method,
    Variant,
    as_paper,
    choose_methods,
    own_method,
)
from soel_paper.peers import missing_package
from soel_paper.runner import CellStore, run
from soel_paper.sources import DataSource, own_name

CELLS = "cells"


@dataclass(frozen=True)
class Plan:
    """What to run of an artefact. Empty choices take the artefact's own. own: a file with a method of the user's."""

    variant: Variant = VARIANTS["authors"]
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()
    classes: tuple[int, ...] = ()
    n_seeds: int | None = None
    peers: bool = False
    measures: tuple[str, ...] = ()
    own: Path | None = None


@dataclass(frozen=True)
class Made:
    """How many of the cells wanted there are, and how many of these other versions of their parts computed."""

    n_cells: int = 0
    n_old: int = 0
    n_wanted: int = 0

    def __str__(self) -> str:
        old = f"{self.n_old} of them by other versions" if self.n_old else "none outdated"
        rest = "" if self.n_cells == self.n_wanted else f" of {self.n_wanted}; the same command goes on with the others"
        return f"{self.n_cells} cells, {old}{rest}."


@dataclass(frozen=True)
class Reproduction:
    """What came out: points, a verdict per claim, and the files that were written. title: of the profiles in it."""

    artefact: Artefact
    title: str
    results: FigureTable
    made: Made
    verdicts: Sequence[tuple[str, Judgement]] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Table and verdicts as Markdown."""
        lines = [f"- {text} **{verdict.outcome}**: {verdict.why}." for text, verdict in self.verdicts]
        parts = [table(self.artefact, self.results), "\n".join(lines)]
        return "\n\n".join([part for part in parts if part] + [f"Left out: {what}." for what in self.results.missing])

    def to_json(self) -> dict[str, Any]:
        return {
            "artefact": self.artefact.to_json(),
            "profile": self.title,
            "points": [asdict(point) for point in self.results.points],
            "verdicts": [{"claim": text, **asdict(verdict)} for text, verdict in self.verdicts],
            "missing": [str(missing) for missing in self.results.missing],
            "made": asdict(self.made),
            "files": dict(self.files),
        }


def apply_plan(artefact: Artefact, plan: Plan) -> Artefact:
    """The artefact with the plan's choices in place of its own."""
    methods = choose_methods(artefact.methods, plan.methods)
    budgets = plan.budgets or artefact.budgets
    if len(budgets) == 1 and artefact.columns == "budget" and "method" in artefact.rows:
        rows = tuple(axis for axis in artefact.rows if axis != "method") or ("dataset",)
        artefact = replace(artefact, rows=rows, columns="method", plot=None)  # nothing to see along one budget
    return replace(
        artefact,
        methods=methods + (PEERS if plan.peers else ()) + (() if plan.own is None else (own_method(plan.own),)),
        datasets=plan.datasets or artefact.datasets,
        budgets=budgets,
        measures=plan.measures or artefact.measures,
        n_seeds=plan.n_seeds or artefact.n_seeds,
    )


def reproduce(
    artefact: Artefact,
    plan: Plan,
    out: Path,
    source: DataSource,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_old: bool = False,
    minutes: float | None = None,
) -> Reproduction:
    """Compute what is missing, then write Markdown, JSON and, where the paper has one, a picture into `out`.

    n_jobs: processes, None for one per core; 0 computes nothing and shows what is finished.
    keep_old: cells that other versions computed are kept, and counted; else they are computed again. minutes: no
    further cells are begun after these.
    """
    wanted = apply_plan(artefact, plan)
    variant = plan.variant if wanted.compares_profiles else as_paper(plan.variant)
    absent = [name for name in wanted.datasets if not source.present(name)]
    if absent:
        raise DataError(
            f"{artefact.name} needs {', '.join(absent)}, not in the data folder. "
            "`python -m soel_paper datasets` says where each comes from; "
            "name others with --datasets, or the folder with --data-dir."
        )
    if n_jobs != 0 and not all(method.on_pixels(variant.profile) for method in wanted.methods):
        for name in wanted.datasets:  # features of pictures are made before any cell: in one process, with all cores
            source.prepare(name, progress)
    store = CellStore(out / CELLS)
    cells = wanted.cells(variant, range(FIRST_SEED, FIRST_SEED + wanted.n_seeds), source, plan.classes)
    if n_jobs != 0:
        run(cells, source, store, n_jobs, progress, keep_old, minutes)
    titles = {name: source.title(name) for name in wanted.datasets}
    found = collect(cells, store, wanted.measures, titles)
    found = found if plan.classes else wanted.with_paper(found)  # the paper's figures are means over its classes
    results = FigureTable(found.points, [*missing_peers(wanted.methods), *_find_unsuited(wanted, variant, source)])
    return judge(wanted, variant, results, count_made(cells, store), out)


def judge(artefact: Artefact, variant: Variant, results: FigureTable, made: Made, out: Path) -> Reproduction:
    """A verdict per claim, and the files."""
    asked = (claim for claim in artefact.claims if not claim.fidelity or variant.repeats_paper)
    verdicts = [(claim.text, claim.check(results)) for claim in asked]
    outcome = Reproduction(artefact, variant.name, results, made, verdicts)
    return write(outcome, out, f"{artefact.name}-{variant.name.replace(', ', '-')}")


def write(outcome: Reproduction, out: Path, name: str) -> Reproduction:
    """Write the outcome's files into a folder."""
    artefact, results = outcome.artefact, outcome.results
    files = {"markdown": str(out / f"{name}.md"), "json": str(out / f"{name}.json")}
    if artefact.plot is not None and results.points:
        if can_draw():
            files["picture"] = str(out / f"{name}.svg")
            write_whole(out / f"{name}.svg", draw_curves(panels(results, artefact.plot), artefact.plot))
        else:
            results = FigureTable(results.points, [*results.missing, UNDRAWN])
    finished = replace(outcome, results=results, files=files)
    heading = f"# {artefact.title}\n\nProfile `{outcome.title}`. {outcome.made}\n\n"
    write_whole(out / f"{name}.md", (heading + finished.text + "\n").encode())
    write_whole(out / f"{name}.json", (json.dumps(finished.to_json(), indent=1, allow_nan=False) + "\n").encode())
    return finished


def count_made(cells: Sequence[Cell], store: CellStore) -> Made:
    """How many of the cells are finished, and how many of these by other versions."""
    wanted = {cell.key: cell for cell in cells}.values()
    finished = [cell for cell in wanted if store.has(cell)]
    return Made(len(finished), sum(map(store.is_old, finished)), len(wanted))


def missing_peers(methods: Sequence[Method]) -> list[Missing]:
    """Those of the methods whose package is not installed."""
    named = [(method.name, missing_package(method.peer)) for method in methods if method.peer is not None]
    return [Missing(name, f"{package} is not installed") for name, package in named if package is not None]


def _find_unsuited(artefact: Artefact, variant: Variant, source: DataSource) -> list[Missing]:
    """Methods that need pictures, on data without any."""
    return [
        Missing(method.name, "it needs pictures", source.title(name))
        for method in artefact.methods
        for name in artefact.datasets
        if not source.suits(name, method.augmented, method.on_pixels(variant.profile))
    ]


USUAL = (VARIANTS["default"], VARIANTS["authors"])


def compare(
    path: Path,
    label_column: str,
    out: Path,
    budgets: Sequence[int] = (5, 10, 20, 40),
    variants: Sequence[Variant] = USUAL,
    n_seeds: int = 3,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Half of each kind is the pool, the rest the test, again for every seed; the expert is the label column."""
    if not budgets or min(budgets) < 1:
        raise ConfigError(f"Budgets are numbers of labels from 1 on, got {list(budgets)}.")
    source, name = DataSource(table=path, label_column=label_column), own_name(path)
    store, seeds = CellStore(out / CELLS), range(FIRST_SEED, FIRST_SEED + n_seeds)
    shape = Artefact(
        "compare", "", "Detection over the budget", (name,), PEERS, ("auroc", "f1"), tuple(budgets),
        rows=("method",), columns="budget", plot="budget",
    )  # fmt: skip
    cells = []
    for variant in variants:
        ours = tuple(replace(method, name=f"{method.name}, {variant.name}") for method in (SOEL, UNSUPERVISED))
        cells += replace(shape, methods=ours).cells(variant, seeds, source, ())
    cells += shape.cells(VARIANTS["default"], seeds, source, ())
    run(cells, source, store, n_jobs, progress)
    results = FigureTable(collect(cells, store, shape.measures, {name: path.name}).points, missing_peers(PEERS))
    title = ", ".join(variant.name for variant in variants)
    return write(Reproduction(shape, title, results, count_made(cells, store)), out, "compare")


def table(artefact: Artefact, results: FigureTable) -> str:
    """All tables of an artefact: ours, mean +- standard deviation, the paper's figure in brackets."""
    shown = (*artefact.rows, artefact.columns)
    beyond = [axis for axis in AXES if axis not in shown and len(results.values(axis)) > 1]
    places = list(product(*(results.values(axis) for axis in beyond)))
    parts = []
    for place in places:
        part = results.where(**dict(zip(beyond, place, strict=True)))
        if part.points:
            title = ", ".join(word(axis, value) for axis, value in zip(beyond, place, strict=True))
            parts.append((f"{title}:\n\n" if title else "") + _one(artefact, part))
    return "\n\n".join(parts) or "No figures yet."


def _one(artefact: Artefact, results: FigureTable) -> str:
    columns = results.values(artefact.columns)
    order = {axis: results.values(axis) for axis in artefact.rows}
    rows = [row for row in product(*order.values()) if results.where(**dict(zip(order, row, strict=True))).points]
    head = "| " + " | ".join([*("" for _ in artefact.rows), *(word(artefact.columns, c) for c in columns)]) + " |"
    lines = [head, "|" + "---|" * len(artefact.rows) + "---:|" * len(columns)]
    for row in rows:
        at = dict(zip(artefact.rows, row, strict=True))
        cells = [_cell(results.where(**at, **{artefact.columns: column})) for column in columns]
        lines.append("| " + " | ".join([*(word(axis, value) for axis, value in at.items()), *cells]) + " |")
    complete = len(results.points) == len(rows) * len(columns)
    if artefact.rows == ("dataset",) and len(rows) > 1 and artefact.columns == "method" and complete:
        means = [results.mean(method=column) for column in columns]
        lines.append("| average | " + " | ".join(f"{mean:.1f}" for mean in means) + " |")
    return "\n".join(lines)


def _cell(results: FigureTable) -> str:
    if not results.points:
        return "-"
    point = results.points[0]
    paper = "" if point.paper is None else f" ({point.paper[0]:.1f})"
    spread = f" ± {point.deviation:.1f}" if point.n > 1 else ""
    return f"{point.mean:.1f}{spread}{paper}"
