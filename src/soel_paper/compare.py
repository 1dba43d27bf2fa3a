"""The same comparison on a user's own labelled table: detection over the budget, our profiles and the peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from soel import ConfigError
from soel.types import Progress
from soel_paper.artefact import FIRST_SEED, Artefact
from soel_paper.methods import PEERS, SOEL, UNSUPERVISED
from soel_paper.reproduce import CELLS, Outcome, count_made, missing_peers, write
from soel_paper.results import Results, collect
from soel_paper.runner import run
from soel_paper.sources import Source, own_name
from soel_paper.store import CellStore
from soel_paper.variants import VARIANTS, Variant

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
) -> Outcome:
    """Half of each kind is the pool, the rest the test, again for every seed; the expert is the label column."""
    if not budgets or min(budgets) < 1:
        raise ConfigError(f"Budgets are numbers of labels from 1 on, got {list(budgets)}.")
    source, name = Source(table=path, label_column=label_column), own_name(path)
    store, seeds = CellStore(out / CELLS), range(FIRST_SEED, FIRST_SEED + n_seeds)
    shape = Artefact(
        "compare", "", "Detection over the budget", (name,), PEERS, ("auroc", "f1"), tuple(budgets),
        rows=("method",), columns="budget", plot="budget",
    )  # fmt: skip
    cells = []
    for variant in variants:
        ours = tuple(replace(method, name=f"{method.name}, {variant.title}") for method in (SOEL, UNSUPERVISED))
        cells += replace(shape, methods=ours).cells(variant, seeds, source, ())
    cells += shape.cells(VARIANTS["default"], seeds, source, ())
    run(cells, source, store, n_jobs, progress)
    results = Results(collect(cells, store, shape.measures, {name: path.name}).points, missing_peers(PEERS))
    title = ", ".join(variant.title for variant in variants)
    return write(Outcome(shape, title, results, count_made(cells, store)), out, "compare")
