"""The benchmark of explanations on a made-up table, small enough to be judged in a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.explanations.command import measure, summarise
from benchmarks.explanations.planting import Task, correlated_pairs, plant, read_task


def make_task(tmp_path: Path) -> Task:
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    x = np.stack([a, -a + 0.1 * rng.normal(size=400), rng.normal(size=400), np.ones(400)], axis=1)
    (tmp_path / "tables").mkdir()
    np.savez(tmp_path / "tables" / "made.npz", X=x, y=np.arange(400) < 10)
    return read_task(tmp_path, "made")


def test_values_are_planted_where_it_is_said(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    assert task.pool.shape == (205, 3)  # the constant column is gone
    assert correlated_pairs(task.pool) == [(0, 1)]
    planted = plant(task, [(0, 1)], np.random.default_rng(0))
    changed = planted.rows != planted.before
    assert changed[:, :2].all()
    assert not changed[:, 2].any()
    assert (np.sign(planted.rows[:, 0]) == -np.sign(planted.rows[:, 1])).all()  # as they correlate


def test_planted_values_are_named(tmp_path: Path) -> None:
    found = measure(make_task(tmp_path), "default")
    assert found["one_rows"] > 50
    assert found["one_named"] >= 0.95
    assert found["pair_named"] >= 0.95
    table = summarise([found, found | {"table": "again"}])
    assert table.splitlines()[-1].split()[:2] == ["all", str(2 * found["one_rows"])]
