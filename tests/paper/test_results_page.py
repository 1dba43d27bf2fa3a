"""The committed page of results must be what the code computes: one cell of it is computed again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from soel_paper.artefacts import ARTEFACTS
from soel_paper.experiment import run_cells
from soel_paper.methods import NINE, VARIANTS
from soel_paper.reproduce import Plan, apply_plan
from soel_paper.sources import Source

PAGE = Path(__file__).parents[2] / "benchmarks" / "results.md"
DATASET, METHOD = "ionosphere", "Pos2"


def test_one_cell_of_the_page_is_computed_again() -> None:
    source = Source()
    if not source.present(DATASET):
        pytest.skip(f"{DATASET} is not in the data folder")
    mean, deviation = _printed()
    artefact = apply_plan(ARTEFACTS["table3"], Plan(VARIANTS["authors"], (METHOD,), (DATASET,)))
    cells = artefact.cells(VARIANTS["authors"], range(40, 45), source, ())
    values = [100 * (found["f1"] or 0) for found in run_cells(cells, source.protocol(DATASET), source.load(DATASET))]
    assert sum(values) / 5 == pytest.approx(mean, abs=max(1.0, deviation))


def _printed() -> tuple[float, float]:
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    lines = next(
        part for part in sections if part.startswith("Detection on tables") and "`authors`" in part
    ).splitlines()
    row = next(line for line in lines if line.lower().startswith(f"| {DATASET}"))
    cell = row.split("|")[2 + [method.name for method in NINE].index(METHOD)]
    found = re.match(r"\s*([\d.]+) ± ([\d.]+)", cell)
    assert found is not None
    return float(found[1]), float(found[2])
