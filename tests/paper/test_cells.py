from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from soel.errors import DataError
from soel_paper.cell import Cell, CellSetting, Expert
from soel_paper.findings import collect
from soel_paper.methods import LOE, NINE, SOEL, VARIANTS
from soel_paper.runner import CellStore

CELL = Cell("breastw", SOEL, VARIANTS["authors"], CellSetting(), 40)


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, dataset="pima"),
        replace(CELL, method=NINE[0]),
        replace(CELL, variant=VARIANTS["paper"]),
        replace(CELL, setting=CellSetting(budget=20)),
        replace(CELL, setting=CellSetting(order="first")),
        replace(CELL, setting=CellSetting(expert=Expert(wrong=0.1))),
        replace(CELL, seed=41),
        replace(CELL, normal=3),
    ],
)
def test_whatever_decides_a_result_is_part_of_its_key(other: Cell) -> None:
    assert other.key != CELL.key


def test_a_method_that_asks_nobody_does_not_depend_on_the_budget() -> None:
    few, many = (replace(CELL, method=LOE, setting=CellSetting(budget=budget)) for budget in (5, 50))
    assert few.key == many.key


def test_a_cell_comes_back_as_it_was_written(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    assert not store.has(CELL)
    store.write(CELL, {"f1": 0.5, "delta": None}, 1.0)
    assert store.has(CELL)
    assert store.read(CELL) == {"f1": 0.5, "delta": None}
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    (tmp_path / f"{CELL.key}.json").write_text("{")
    with pytest.raises(DataError, match="Remove it"):
        store.read(CELL)


def test_results_of_two_machines_merge(tmp_path: Path) -> None:
    here, there = CellStore(tmp_path / "here" / "cells"), CellStore(tmp_path / "there" / "cells")
    other = replace(CELL, seed=41)
    here.write(CELL, {"f1": 0.5}, 1.0)
    there.write(CELL, {"f1": 0.9}, 1.0)
    there.write(other, {"f1": 0.7}, 1.0)
    assert here.merge([tmp_path / "there"]) == 1
    assert (here.read(CELL)["f1"], here.read(other)["f1"]) == (0.5, 0.7)
    assert here.merge([tmp_path / "there" / "cells"]) == 0


def test_points_are_means_over_seeds_of_means_over_classes(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    cells = [replace(CELL, seed=seed, normal=normal) for seed in (40, 41) for normal in (0, 1)]
    for cell, value in zip(cells, (0.1, 0.3, 0.5, 0.7), strict=True):
        store.write(cell, {"f1": value}, 1.0)
    (point,) = collect(cells, store, ["f1"], {"breastw": "BreastW"}).points
    assert (point.at.dataset, point.n) == ("BreastW", 2)
    assert (point.mean, point.deviation) == pytest.approx((40.0, 20.0))


def test_a_seed_that_lacks_a_class_is_no_figure(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    cells = [replace(CELL, seed=seed, normal=normal) for seed in (40, 41) for normal in (0, 1)]
    for cell, value in zip(cells[:3], (0.1, 0.3, 0.9), strict=True):
        store.write(cell, {"f1": value}, 1.0)
    (point,) = collect(cells, store, ["f1"], {}).points
    assert (point.n, round(point.mean, 6)) == (1, 20.0)
    assert not collect(cells[2:], store, ["f1"], {}).points
