"""The benchmark of detection: its split, its cells on disk, its summary."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.cell_files import read_cells
from benchmarks.detection import cells as cells_module
from benchmarks.detection.cells import Cell, measure, run_cells
from benchmarks.detection.command import main
from benchmarks.detection.contestants import CONTESTANTS, Contestant, Scores, tabpfn
from benchmarks.detection.summary import summarise
from benchmarks.detection.tasks import Expert, Task, find_tables, read_task
from sklearn.neighbors import KNeighborsRegressor

from soel.errors import ConfigError, DataError
from soel.types import Floats


def write_table(path: Path, n_normals: int, n_anomalies: int) -> Path:
    """Every row is its own number, anomalies last."""
    n = n_normals + n_anomalies
    np.savez(path, X=np.arange(n)[:, None].astype(np.float32), y=(np.arange(n) >= n_normals).astype(int))
    return path


@pytest.mark.parametrize(
    ("n_normals", "n_anomalies", "pool", "test"),
    [
        (5000, 500, (455, 45), (350, 45)),  # the share of the file, 1 / 11
        (400, 400, (200, 75), (200, 75)),  # at most 15 % of 500
        (2000, 10, (495, 5), (350, 5)),  # half of the few there are
        (2000, 40, (491, 9), (350, 9)),  # 40 / 2040 of 500
        (2000, 20, (494, 6), (350, 6)),  # at least six
    ],
)
def test_the_counts_of_a_split(
    tmp_path: Path, n_normals: int, n_anomalies: int, pool: tuple[int, int], test: tuple[int, int]
) -> None:
    task = read_task(write_table(tmp_path / "a.npz", n_normals, n_anomalies))
    assert (int((~task.pool_truth).sum()), int(task.pool_truth.sum())) == pool
    assert (int((~task.test_truth).sum()), int(task.test_truth.sum())) == test
    assert not set(task.pool.ravel()) & set(task.test.ravel())
    assert ((task.pool.ravel() >= n_normals) == task.pool_truth).all()


def test_a_data_folder_is_its_folders_of_tables(tmp_path: Path) -> None:
    for name in ("oddbench", "tables", "other"):
        (tmp_path / name).mkdir()
        write_table(tmp_path / name / f"{name}.npz", 9, 9)
    assert [path.stem for path in find_tables([tmp_path])] == ["oddbench", "tables"]
    assert [path.stem for path in find_tables([tmp_path / "other"])] == ["other"]
    with pytest.raises(DataError, match="--data-dir"):
        find_tables([tmp_path / "other" / "none"])


def first_column(pool: Floats, test: Floats, expert: Expert, budget: int, seed: int) -> Scores:
    expert.ask(np.argsort(-pool[:, 0])[:budget])
    return Scores(pool[:, 0], test[:, 0], test[:, 0] > np.median(pool))


def task() -> Task:
    truth = np.array([False, False, True, True])
    return Task("a", np.array([[0.0], [3.0], [1.0], [2.0]]), truth, np.array([[0.0], [1.0], [2.0], [3.0]]), truth)


def test_a_cell_is_measured_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"asks": Contestant(first_column), "silent": Contestant(first_column, asks=False)}
    monkeypatch.setattr(cells_module, "CONTESTANTS", found)
    cell = measure(task(), "asks", 2)
    assert (cell.auroc, cell.average_precision, cell.f1, cell.f1_at_share) == (1, 1, 1, 1)
    assert cell.n_found == {"2": 1}  # rows 1 and 3
    assert measure(task(), "silent", 0, (1, 3)).n_found == {"1": 0, "3": 2}


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"asks": Contestant(first_column), "silent": Contestant(first_column, asks=False)}
    monkeypatch.setattr(cells_module, "CONTESTANTS", found)
    paths, out = [write_table(tmp_path / "a.npz", 40, 20)], tmp_path / "out" / "cells.jsonl"
    seen: list[tuple[int, int]] = []

    def go_on() -> list[Cell]:
        return run_cells(paths, list(found), (0, 10), out, 1, lambda done, total: seen.append((done, total)))

    first = go_on()
    assert seen == [(1, 2), (2, 2)]  # contestants of a table
    lines = out.read_text().splitlines()
    out.write_text("\n".join(lines[:2]) + "\n" + lines[2][:20])  # killed in the middle of a line
    assert len(read_cells(out, Cell)) == 2
    again = go_on()
    assert seen[2:] == [(1, 1)]
    assert [replace(cell, seconds=0) for cell in again] == [replace(cell, seconds=0) for cell in first]
    assert len(read_cells(out, Cell)) == 3


def test_differences_are_paired_over_common_tables() -> None:
    def cell(method: str, table: str, auroc: float, budget: int = 10) -> Cell:
        return Cell(table, method, budget, auroc, 0.5, 0.4, 0.3, {"10": 3}, 1.0)

    cells = [cell("ours", "a", 0.9), cell("ours", "b", 0.8), cell("ours", "a", 0.95, 0), cell("ours", "b", 0.7, 0)]
    cells += [cell("theirs", "a", 0.7), cell("theirs", "b", 0.7), cell("theirs", "c", 0.1)]
    cells += [replace(cell("silent", "a", 0.6, 0), n_found={"10": 5})]
    _, text = summarise(cells, (0, 10), "ours").split("10 labels:")
    lines = {
        line.split("|")[1].strip(): [word.strip() for word in line.split("|")[2:-1]]
        for line in text.splitlines()
        if line
    }
    assert lines["ours"] == ["2", "85.0", "50.0", "40.0", "30.0", "3.0", "", "", "50 %"]
    assert lines["theirs"][:2] == ["3", "50.0"]
    assert lines["theirs"][6] == "+15.0 ± 5.0"  # +20 and +10
    assert (lines["silent"][5], lines["silent"][-1]) == ("5.0", "")  # the same cell at every budget: no label harms it


@pytest.mark.parametrize(
    "name", ["soel default", "isolation forest", "ECOD", "random forest", "random forest with all labels"]
)
def test_a_contestant_finds_what_lies_far_away(name: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(120) < 12
    x = (rng.normal(size=(120, 3)) + 7 * truth[:, None]).astype(np.float32)
    if CONTESTANTS[name].is_missing:
        pytest.skip(f"{CONTESTANTS[name].package} is not installed")
    assert measure(Task("a", x, truth, x[::2], truth[::2]), name, 20).auroc > 0.95


@pytest.mark.parametrize(("at_once", "n_asked"), [(None, 10), (1, 10), (1, 0)])
def test_tabpfn_is_fitted_to_the_answers_alone(
    monkeypatch: pytest.MonkeyPatch, at_once: int | None, n_asked: int
) -> None:
    """A stand-in for its regressor: it is not among the dependencies."""
    fitted: list[np.ndarray] = []

    def fit(x: np.ndarray, y: np.ndarray) -> Any:
        fitted.append(y)
        return KNeighborsRegressor(1).fit(x, y)

    def nearest(device: str, random_state: int) -> Any:
        return SimpleNamespace(fit=fit)

    monkeypatch.setitem(sys.modules, "tabpfn", SimpleNamespace(TabPFNRegressor=nearest))
    rng = np.random.default_rng(0)
    truth = np.arange(120) < 12
    x = (rng.normal(size=(120, 3)) + 7 * truth[:, None]).astype(np.float32)
    found = tabpfn(x, x[::2], Expert(truth), n_asked, 0, at_once)
    assert [len(y) for y in fitted] == [n_asked] * (n_asked > 0)
    np.testing.assert_array_equal(found.alarms, truth[::2] if n_asked else np.zeros(60, bool))


def test_an_unknown_contestant_is_named() -> None:
    assert not any("," in name for name in CONTESTANTS), "--methods is split at commas"
    with pytest.raises(ConfigError, match="crystal ball"):
        main(["--methods", "crystal ball"])


@pytest.mark.parametrize("name", ["soel default", "soel ten at once"])
def test_a_larger_budget_begins_with_the_questions_of_a_smaller_one(name: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(120) < 12
    x = (rng.normal(size=(120, 3)) + 2 * truth[:, None]).astype(np.float32)
    shared = Task("a", x, truth, x[::2], truth[::2])
    together = [measure(shared, name, budget) for budget in (5, 12)]
    alone = [measure(Task("a", x, truth, x[::2], truth[::2]), name, budget) for budget in (5, 12)]
    assert [replace(cell, seconds=0) for cell in together] == [replace(cell, seconds=0) for cell in alone]
