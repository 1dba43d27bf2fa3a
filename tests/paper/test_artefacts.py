from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from soel.errors import ConfigError, DataError
from soel_paper.artefact import Artefact
from soel_paper.artefacts import ARTEFACTS, find_artefact
from soel_paper.catalogue import CATALOGUE
from soel_paper.methods import VARIANTS, Variant
from soel_paper.page import SECTIONS, Section, write_page
from soel_paper.reproduce import Plan, apply_plan, reproduce
from soel_paper.sources import Source

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


def test_artefacts_are_found_by_name_and_by_label() -> None:
    assert find_artefact("table3") is find_artefact("tab:tab_results")
    with pytest.raises(ConfigError, match="--list"):
        find_artefact("table9")


def test_an_artefact_gives_a_table_a_document_and_a_picture(source: Source, quick: Variant, tmp_path: Path) -> None:
    plan = Plan(quick, ("SOEL", "Mar"), ("breastw", "ionosphere"), (2, 4, 30), n_seeds=2, measures=("f1", "auroc"))
    outcome = reproduce(ARTEFACTS["budgets"], plan, tmp_path, source, n_jobs=1)
    document = json.loads(Path(outcome.files["json"]).read_text())
    assert len(document["points"]) == 2 * 2 * 2 * 2  # the budget of 30 is above half of the pool
    assert {verdict["outcome"] for verdict in document["verdicts"]} <= {"holds", "fails", "undecided", "not run"}
    assert "| breastw | SOEL |" in Path(outcome.files["markdown"]).read_text()
    assert ElementTree.parse(outcome.files["picture"]).getroot().tag.endswith("svg")


def test_classes_are_normal_in_turn(source: Source, quick: Variant, tmp_path: Path) -> None:
    artefact = apply_plan(ARTEFACTS["tau"], Plan(quick, datasets=("cifar10",), budgets=(5,), n_seeds=1))
    cells = artefact.cells(quick, [40], source, ())
    assert sorted({cell.normal for cell in cells if cell.normal is not None}) == [0, 1, 2]
    plan = Plan(quick, ("tau = 1",), ("cifar10",), (5,), (0, 2), 1)
    (point,) = reproduce(ARTEFACTS["tau"], plan, tmp_path, source, n_jobs=1).results.points
    assert point.paper == (93.2, 1.7)
    assert len(list((tmp_path / "cells").iterdir())) == 2


def test_a_missing_peer_is_named(
    source: Source, quick: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soel_paper.peers.find_spec", lambda package: None)
    plan = Plan(quick, ("Mar",), ("breastw",), n_seeds=1, peers=True)
    outcome = reproduce(ARTEFACTS["table3"], plan, tmp_path, source, n_jobs=1)
    assert "PyOD Deep SVDD, because pyod is not installed" in outcome.text
    assert outcome.results.mean(method="all labels known") > 50


def test_absent_data_is_named(source: Source, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="satellite"):
        reproduce(ARTEFACTS["table3"], Plan(), tmp_path, source)


def test_the_page_holds_every_section(source: Source, quick: Variant, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "07-gone.svg").touch()
    small = [Section("cover-radius", Plan(quick, ("diverse",), ("breastw",), (3, 5), n_seeds=1), "A note.")]
    write_page(page, tmp_path / "out", source, 1, sections=small)
    text = page.read_text()
    assert all(part in text for part in ("fig:thm1-delta", "A note.", "tab:opt-param", "results/00-cover-radius.svg"))
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["00-cover-radius.svg"]


def test_the_page_names_what_is_not_computed(source: Source, quick: Variant, tmp_path: Path) -> None:
    one, both = (
        Plan(quick, methods, ("breastw",), (3,), n_seeds=1) for methods in (("diverse",), ("diverse", "random"))
    )
    sections = [Section("cover-radius", one), Section("cover-radius", both, "Half of it.")]
    write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=sections[:1])
    write_page(tmp_path / "b.md", tmp_path / "out", source, 0, sections=sections)
    text = (tmp_path / "b.md").read_text()
    assert "Half of it." not in text
    assert "## Not computed yet\n\n- How well each strategy covers the pool" in text


@pytest.mark.parametrize("has_gpu", [False, True])
def test_what_needs_a_gpu_is_computed_only_there(
    source: Source, quick: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gpu: bool
) -> None:
    monkeypatch.setattr("soel_paper.page.has_gpu", lambda: has_gpu)
    plan = Plan(quick, ("diverse",), ("breastw",), (3,), n_seeds=1)
    sections = [Section("cover-radius", plan), Section("cover-radius", replace(plan, budgets=(4,)), on_gpu=True)]
    outcomes = write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=sections)
    assert len(outcomes) == 1 + has_gpu
    assert ("one H200" in (tmp_path / "a.md").read_text()) is has_gpu


def test_data_that_only_a_gpu_needs_may_be_absent(source: Source, quick: Variant, tmp_path: Path) -> None:
    near = Section("cover-radius", Plan(quick, ("diverse",), ("breastw",), (3,), n_seeds=1))
    far = Section("table2", Plan(VARIANTS["authors"], ("SOEL",), ("cifar10",)), on_gpu=True)
    write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=[near, far])
    assert "## Not computed yet\n\n- Detection on images with 20 labels" in (tmp_path / "a.md").read_text()


def test_the_page_s_sections_can_be_planned() -> None:
    for section in SECTIONS:
        assert apply_plan(find_artefact(section.artefact), section.plan).methods
