"""Artefacts from cells to figures and verdicts, the page of results, and comparisons on a user's table."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.results_page import SECTIONS, Section, write_page

from soel.errors import LabelError
from soel_paper.artefacts import ARTEFACTS, Artefact
from soel_paper.catalogue import CATALOGUE
from soel_paper.methods import Variant
from soel_paper.reproduce import Plan, apply_plan, compare, reproduce
from soel_paper.sources import DataSource
from tests.conftest import make_toy

IN_THE_PAPER = {
    "tab:img_results", "tab:tab_results", "fig:img_data", "fig:video_data", "fig:thm1-delta", "fig:ranking-unquery",
    "fig:corr-mat", "tab:alpha-estimate", "tab:backbone-dsvdd-mhrot", "fig:robust-ratio", "tab:ablation-backbone",
    "fig:img-data-bce", "fig:img-data-seq", "fig:ablation-query", "fig:ablation-true-est-ratio", "fig:ablation-weight",
    "tab:ablation-tau", "tab:ablation-pseudo-y", "fig:semisuper-comparison", "tab:tab_knn", "fig:grad-div-comparison",
    "fig:image_benchmark", "tab:tab_benchmark",
}  # fmt: skip


def test_everything_the_paper_shows_has_an_artefact() -> None:
    assert {artefact.label for artefact in ARTEFACTS.values()} >= IN_THE_PAPER


@pytest.mark.parametrize("artefact", ARTEFACTS.values(), ids=lambda artefact: artefact.name)
def test_an_artefact_is_consistent(artefact: Artefact) -> None:
    assert set(artefact.datasets) <= set(CATALOGUE)
    names = [method.name for method in artefact.methods]
    assert len(set(names)) == len(names)
    assert not any("," in name for name in names), "--methods is split at commas"
    assert json.loads(json.dumps(artefact.to_json()))["name"] == artefact.name


@pytest.mark.parametrize("artefact", [a for a in ARTEFACTS.values() if a.paper], ids=lambda artefact: artefact.name)
def test_the_paper_s_figures_stand_where_points_can_be(artefact: Artefact) -> None:
    titles = {CATALOGUE[name].title for name in artefact.datasets}
    names = {method.name for method in artefact.methods}
    axes: dict[str, set[Any]] = {
        "dataset": titles,
        "method": names,
        "measure": set(artefact.measures),
        "share": set(artefact.shares),
    }
    for key in artefact.paper:
        assert all(place in axes[axis] for place, axis in zip(key, artefact.paper_axes, strict=True)), key


def test_an_artefact_gives_a_table_a_document_and_a_picture(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    plan = Plan(quick, ("SOEL", "Mar"), ("breastw", "ionosphere"), (2, 4, 30), n_seeds=2, measures=("f1", "auroc"))
    outcome = reproduce(ARTEFACTS["budgets"], plan, tmp_path, source, n_jobs=1)
    document = json.loads(Path(outcome.files["json"]).read_text())
    assert len(document["points"]) == 2 * 2 * 2 * 2  # the budget of 30 is above half of the pool
    assert {verdict["outcome"] for verdict in document["verdicts"]} <= {"holds", "fails", "undecided", "not run"}
    assert "| breastw | SOEL |" in Path(outcome.files["markdown"]).read_text()
    assert ElementTree.parse(outcome.files["picture"]).getroot().tag.endswith("svg")


def test_classes_are_normal_in_turn(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    artefact = apply_plan(ARTEFACTS["tau"], Plan(quick, datasets=("cifar10",), budgets=(5,), n_seeds=1))
    cells = artefact.cells(quick, [40], source, ())
    assert sorted({cell.normal for cell in cells if cell.normal is not None}) == [0, 1, 2]
    plan = Plan(quick, ("tau = 1",), ("cifar10",), (5,), (0, 2), 1)
    (point,) = reproduce(ARTEFACTS["tau"], plan, tmp_path, source, n_jobs=1).results.points
    assert point.paper is None  # the paper's figure is a mean over all classes
    assert len(list((tmp_path / "cells").iterdir())) == 2


def test_a_missing_peer_is_named(
    source: DataSource, quick: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soel_paper.peers.find_spec", lambda package: None)
    plan = Plan(quick, ("Mar",), ("breastw",), n_seeds=1, peers=True)
    outcome = reproduce(ARTEFACTS["table3"], plan, tmp_path, source, n_jobs=1)
    assert "PyOD Deep SVDD, because pyod is not installed" in outcome.text
    assert outcome.results.mean(method="all labels known") > 50


def test_the_page_holds_every_section(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "07-gone.svg").touch()
    small = [Section("cover-radius", Plan(quick, ("diverse",), ("breastw",), (3, 5), n_seeds=1), "A note.")]
    write_page(page, tmp_path / "out", source, 1, sections=small)
    text = page.read_text()
    assert all(part in text for part in ("fig:thm1-delta", "A note.", "tab:opt-param", "results/00-cover-radius.svg"))
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["00-cover-radius.svg"]


def test_the_page_names_what_is_not_computed(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    one, both = (
        Plan(quick, methods, ("breastw",), (3,), n_seeds=1) for methods in (("diverse",), ("diverse", "random"))
    )
    sections = [Section("cover-radius", one), Section("cover-radius", both, "Half of it.")]
    write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=sections[:1])
    write_page(tmp_path / "b.md", tmp_path / "out", source, 0, sections=sections)
    text = (tmp_path / "b.md").read_text()
    assert "Half of it." not in text
    assert "## Not computed yet\n\n- How well each strategy covers the pool" in text


def test_the_page_keeps_figures_that_cannot_be_computed_here(
    source: DataSource, quick: Variant, tmp_path: Path
) -> None:
    section = Section("cover-radius", Plan(quick, ("diverse", "random"), ("breastw",), (3,), n_seeds=1))
    page, doc = tmp_path / "a.md", tmp_path / "doc.md"
    write_page(page, tmp_path / "out", source, 1, sections=[section], doc=doc)
    before, figures = page.read_text(), page.with_suffix(".csv").read_text()
    (tmp_path / "empty").mkdir()
    write_page(page, tmp_path / "new", DataSource(tmp_path / "empty"), 1, sections=[section])
    assert "| breastw | cover radius |" in page.read_text()
    assert page.read_text() == before
    assert page.with_suffix(".csv").read_text() == figures
    assert "**cover-radius** (breastw, `authors`, 1 seed)" in doc.read_text()


def test_sections_have_places_of_their_own_for_their_figures() -> None:
    places = [
        (section.key, dataset, method.name, budget, measure)
        for section in SECTIONS
        for artefact in (apply_plan(ARTEFACTS[section.artefact], section.plan),)
        for dataset in artefact.datasets
        for method in artefact.methods
        for budget in artefact.budgets
        for measure in artefact.measures
    ]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("has_gpu", [False, True])
def test_what_needs_a_gpu_is_computed_only_there(
    source: DataSource, quick: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gpu: bool
) -> None:
    monkeypatch.setattr("benchmarks.results_page.has_gpu", lambda: has_gpu)
    plan = Plan(quick, ("diverse",), ("breastw",), (3,), n_seeds=1)
    sections = [Section("cover-radius", plan), Section("cover-radius", replace(plan, budgets=(4,)), on_gpu=True)]
    outcomes = write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=sections)
    assert len(outcomes) == 1 + has_gpu
    assert ("one H200" in (tmp_path / "a.md").read_text()) is has_gpu


PAGE = Path(__file__).parents[2] / "benchmarks" / "results.md"
DATASET, METHOD = "ionosphere", "Pos2"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    toy = make_toy(n_rows=80, n_anomalies=20)
    with (tmp_path / "own.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "colour", "y"])
        for row, (x, anomaly) in enumerate(zip(toy.x.tolist(), toy.is_anomaly.tolist(), strict=True)):
            writer.writerow([x[0], x[3], x[4], "red" if row % 2 else "blue", "anomaly" if anomaly else "normal"])
    return tmp_path / "own.csv"


def test_profiles_and_peers_over_the_budget(table: Path, tmp_path: Path, quick: Variant) -> None:
    found = compare(table, "y", tmp_path / "out", (4, 8), (quick,), n_seeds=2, n_jobs=1)
    shown = found.results.where(measure="auroc")
    assert {"SOEL, authors", "no labels, authors", "isolation forest", "all labels known"} <= set(
        shown.values("method")
    )
    assert shown.values("budget") == [4, 8]
    assert shown.mean(method="LOF", budget=4) == shown.mean(method="LOF", budget=8)
    assert json.loads(Path(found.files["json"]).read_text())["points"]
    assert "| SOEL, authors |" in Path(found.files["markdown"]).read_text()
    assert "isolation forest" in Path(found.files["picture"]).read_text()


def test_the_truth_of_every_row_is_needed(table: Path, tmp_path: Path) -> None:
    table.write_text(table.read_text().replace(",anomaly", ",", 1))
    with pytest.raises(LabelError, match="empty in 1 rows"):
        compare(table, "y", tmp_path / "out", (4,), n_jobs=1)
