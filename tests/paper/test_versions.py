from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.results_page import Section, write_page

from soel.ask.by_distance import Diverse
from soel.detect.incontext.pretrained import Pretrained
from soel.networks.objectives import Refinement
from soel.networks.row_networks import TableNTL
from soel_paper import cell
from soel_paper.cell import Cell, CellSetting, versions_of
from soel_paper.methods import CLEAN, FIXMATCH, NINE, PEERS, SEQUENTIAL, SOEL, VARIANTS, Variant, knn
from soel_paper.reproduce import Plan
from soel_paper.runner import CellStore, run
from soel_paper.sources import DataSource

CELL = Cell("breastw", SOEL, VARIANTS["authors"], CellSetting(), 40)
OURS = replace(CELL, variant=VARIANTS["default"])
KINDS = {
    "soel": CELL,
    "in rounds": replace(CELL, method=SEQUENTIAL),
    "refinement": replace(CELL, method=NINE[7]),
    "ours": OURS,
    "ours on features": replace(OURS, dataset="cifar10"),
    "ours on a file": replace(OURS, dataset="a-file-of-ours"),
    "a peer": replace(CELL, method=knn(1)),
    "a peer that asks": replace(CELL, method=next(peer for peer in PEERS if peer.asks)),
    "augmented": replace(CELL, method=FIXMATCH[0]),
    "assumptions": replace(CELL, setting=CellSetting(stage="assumptions")),
    "clean": replace(CELL, method=CLEAN),
}
ASKING = {"soel", "in rounds", "a peer that asks", "assumptions", "clean"}


@pytest.mark.parametrize(
    ("part", "name", "outdated"),
    [
        (Refinement, "version", {"refinement"}),
        (Diverse, "version", ASKING),
        (Pretrained, "version", {"ours", "ours on a file"}),
        (TableNTL, "version", {*KINDS} - {"ours on features", "a peer"}),
        (cell, "EXPERIMENT", {*KINDS}),
        (cell, "SEVERAL_ROUNDS", {"in rounds"}),
        (cell, "PEERS", {"a peer", "a peer that asks"}),
        (cell, "AUGMENTED", {"augmented"}),
        (cell, "ASSUMPTIONS", {"assumptions"}),
        (cell, "CLEAN", {"clean"}),
    ],
)
def test_a_new_version_of_a_part_outdates_the_cells_that_use_it_and_no_others(
    part: object, name: str, outdated: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {kind: versions_of(cell) for kind, cell in KINDS.items()}
    monkeypatch.setattr(part, name, 99)
    assert {kind for kind, cell in KINDS.items() if versions_of(cell) != before[kind]} == outdated


def make_old(store: CellStore, cell: Cell) -> None:
    store.write(cell, {"f1": 0.123}, 1.0)
    (path,) = store.folder.glob(f"{cell.key}.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "versions": {**document["versions"], "experiment": 0}}))


def test_cells_of_other_versions_are_computed_again_with_a_word(
    source: DataSource, quick: Variant, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, cell = CellStore(tmp_path), replace(CELL, variant=quick, method=NINE[3])
    make_old(store, cell)
    assert store.is_old(cell)
    with caplog.at_level(logging.WARNING):
        run([cell], source, store, 1)
    assert "1 of 1 cells were finished by other versions" in caplog.text
    assert not store.is_old(cell)
    assert store.read(cell)["f1"] != 0.123


def test_the_page_says_what_other_versions_computed(
    source: DataSource, quick: Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authors = replace(VARIANTS["authors"], profile=quick.profile)
    monkeypatch.setattr("benchmarks.results_page.AUTHORS", authors)
    sections = [Section("tau", Plan(authors, ("tau = 1",), ("cifar10",), (3,), n_seeds=1))]
    write_page(tmp_path / "a.md", tmp_path / "out", source, 1, sections=sections)
    assert "| tab:ablation-tau | CIFAR-10 |" in (tmp_path / "a.md").read_text()
    path = next((tmp_path / "out" / "cells").iterdir())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"versions": {}}))
    write_page(tmp_path / "a.md", tmp_path / "out", source, 0, sections=sections)
    assert "| tab:ablation-tau* | CIFAR-10 |" in (tmp_path / "a.md").read_text()


def test_a_later_cell_of_other_versions_wins_a_merge(tmp_path: Path) -> None:
    here, there = CellStore(tmp_path / "here" / "cells"), CellStore(tmp_path / "there" / "cells")
    make_old(here, CELL)
    there.write(CELL, {"f1": 0.7}, 1.0)
    assert here.merge([tmp_path / "there"]) == 1
    assert here.read(CELL) == {"f1": 0.7}
    assert there.merge([tmp_path / "here"]) == 0
