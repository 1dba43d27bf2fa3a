"""From the name of an artefact to its table, verdicts and picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from soel.durable import write_whole
from soel.errors import DataError
from soel.profiles import Profile, find_profile
from soel.types import Progress
from soel_reproduction import markdown
from soel_reproduction.artefact import FIRST_SEED, Artefact
from soel_reproduction.cells import Cell
from soel_reproduction.chart import draw, panels
from soel_reproduction.claims import Verdict
from soel_reproduction.code_state import whole_code
from soel_reproduction.methods import PEERS, chosen
from soel_reproduction.peers import missing_package
from soel_reproduction.results import Results, collect
from soel_reproduction.runner import run
from soel_reproduction.sources import Source, local_source
from soel_reproduction.store import CellStore

CELLS = "cells"
X_TITLES = {"budget": "labels", "share": "true share of anomalies, %"}


@dataclass(frozen=True)
class Plan:
    """What to run of an artefact. Empty choices take the artefact's own."""

    profile: str | Profile = "authors"
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()
    classes: tuple[int, ...] = ()
    n_seeds: int | None = None
    peers: bool = False
    measures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """By which code the cells were computed: the state of it, how many cells, and how many by another state."""

    code: str
    n_cells: int = 0
    n_old: int = 0

    def __str__(self) -> str:
        others = f"{self.n_old} of them by other code" if self.n_old else "all by this code"
        return f"Code state `{self.code}`; {self.n_cells} cells, {others}."


@dataclass(frozen=True)
class Outcome:
    """What came out: points, a verdict per claim, and the files that were written."""

    artefact: Artefact
    profile: str
    results: Results
    verdicts: Sequence[tuple[str, Verdict]]
    made: Made
    files: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Table and verdicts as Markdown."""
        parts = [markdown.table(self.artefact, self.results), markdown.verdicts(self.verdicts)]
        return "\n\n".join([part for part in parts if part] + [f"Left out: {why}." for why in self.results.missing])

    def to_json(self) -> dict[str, Any]:
        """The whole outcome as plain values."""
        return {
            "artefact": self.artefact.to_json(),
            "profile": self.profile,
            "points": [asdict(point) for point in self.results.points],
            "verdicts": [{"claim": text, **asdict(verdict)} for text, verdict in self.verdicts],
            "missing": list(self.results.missing),
            "made": asdict(self.made),
            "files": self.files,
        }


def planned(artefact: Artefact, plan: Plan) -> Artefact:
    """The artefact with the plan's choices in place of its own."""
    methods = chosen(artefact.methods, plan.methods)
    budgets = plan.budgets or artefact.budgets
    if len(budgets) == 1 and artefact.columns == "budget" and "method" in artefact.rows:
        rows = tuple(axis for axis in artefact.rows if axis != "method") or ("dataset",)
        artefact = replace(artefact, rows=rows, columns="method", plot=None)  # nothing to see along one budget
    return replace(
        artefact,
        methods=methods + (PEERS if plan.peers else ()),
        datasets=plan.datasets or artefact.datasets,
        budgets=budgets,
        measures=plan.measures or artefact.measures,
        n_seeds=plan.n_seeds or artefact.n_seeds,
    )


def reproduce(
    artefact: Artefact,
    plan: Plan,
    out: Path,
    source: Source | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_old: bool = False,
) -> Outcome:
    """Compute what is missing, then write Markdown, JSON and, where the paper has one, a picture into `out`.

    n_jobs: processes, None for one per core; 0 computes nothing and shows what is finished.
    keep_old: cells that other code computed are kept, and counted; else they are computed again.
    """
    source = source or local_source()
    wanted = planned(artefact, plan)
    _check_present(wanted, source)
    profile = find_profile(plan.profile)
    if n_jobs != 0:
        _prepare(wanted, profile, source, progress)
    store = CellStore(out / CELLS)
    cells = wanted.cells(profile, range(FIRST_SEED, FIRST_SEED + wanted.n_seeds), source, plan.classes)
    if n_jobs != 0:
        run(cells, source, store, n_jobs, progress, keep_old)
    titles = {name: source.title(name) for name in wanted.datasets}
    found = wanted.with_paper(collect(cells, store, wanted.measures, titles))
    results = Results(found.points, [*_missing(wanted), *_unsuited(wanted, profile, source)])
    asked = [claim for claim in wanted.claims if not claim.fidelity or not profile.name.startswith("default")]
    verdicts = [(claim.text, claim.check(results)) for claim in asked]
    return write(Outcome(wanted, profile.name, results, verdicts, _made(cells, store)), out)


def narrow(profile: Profile) -> Profile:
    """The profile for feature vectors on a machine without a GPU: one member, views through a narrow middle.

    Only the default profile has a companion beside it: the others repeat what others did.
    """
    small = profile.without_gpu() if profile.name == "default" else profile.with_parts(backbone="ntl-narrow")
    return replace(small, name=f"{profile.name}, narrow", n_members=1)


def write(outcome: Outcome, out: Path) -> Outcome:
    """Write the outcome's files."""
    name = f"{outcome.artefact.name}-{outcome.profile.replace(', ', '-')}"
    files = {"markdown": str(out / f"{name}.md"), "json": str(out / f"{name}.json")}
    if outcome.artefact.plot is not None and outcome.results.points:
        files["picture"] = str(out / f"{name}.svg")
        axis = outcome.artefact.plot
        write_whole(Path(files["picture"]), draw(panels(outcome.results, axis), X_TITLES[axis]).encode())
    finished = replace(outcome, files=files)
    heading = f"# {outcome.artefact.title}\n\nProfile `{outcome.profile}`. {outcome.made}\n\n"
    write_whole(Path(files["markdown"]), (heading + finished.text + "\n").encode())
    write_whole(Path(files["json"]), (json.dumps(finished.to_json(), indent=1, allow_nan=False) + "\n").encode())
    return finished


def _prepare(artefact: Artefact, profile: Profile, source: Source, progress: Progress | None) -> None:
    """Features of pictures are made before any cell is computed: in one process, with all cores."""
    if not all(method.on_pixels(profile) for method in artefact.methods):
        for name in artefact.datasets:
            source.prepare(name, progress)


def _made(cells: Sequence[Cell], store: CellStore) -> Made:
    finished = [cell for cell in {cell.key: cell for cell in cells}.values() if store.has(cell)]
    return Made(whole_code(), len(finished), sum(store.is_old(cell) for cell in finished))


def _check_present(artefact: Artefact, source: Source) -> None:
    absent = [name for name in artefact.datasets if not source.present(name)]
    if absent:
        raise DataError(
            f"{artefact.name} needs {', '.join(absent)}, not in the data folder. `soel datasets` says where each comes "
            "from; name others with --datasets, or the folder with --data-dir."
        )


def _unsuited(artefact: Artefact, profile: Profile, source: Source) -> list[str]:
    """Methods that need pictures, on data without any."""
    return [
        f"{method.name} on {source.title(name)}, because it needs pictures"
        for method in artefact.methods
        for name in artefact.datasets
        if not source.suits(name, method.augmented, method.on_pixels(profile))
    ]


def _missing(artefact: Artefact) -> list[str]:
    named = [(method.name, missing_package(method.peer)) for method in artefact.methods if method.peer is not None]
    return [f"{name}, because {package} is not installed" for name, package in named if package is not None]
