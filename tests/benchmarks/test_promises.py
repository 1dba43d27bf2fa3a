"""The benchmark of promises on a made-up table, small enough to be judged in a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.promises.command import summarise
from benchmarks.promises.judge import judge
from benchmarks.promises.runs import Run, make_runs, path_of, read_run
from benchmarks.promises.tasks import Source, find_sources, tasks_of

from soel.profiles import PAPER
from soel.types import NORMAL, UNLABELLED


def write_table(folder: Path) -> Source:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(700, 2)).astype(np.float32)
    x[:80] += 4
    (folder / "tables").mkdir()
    np.savez(folder / "tables" / "made.npz", X=x, y=np.arange(700) < 80)
    (source,) = find_sources(folder)
    return source


def test_pools_have_the_share_that_is_wanted(tmp_path: Path) -> None:
    tasks = list(tasks_of(write_table(tmp_path)))
    assert [round(float(task.truth.mean()), 2) for task in tasks] == [0.01, 0.05, 0.15, 0.4]
    for task in tasks:
        assert (~task.new_truth).sum() >= 100
        assert not {tuple(row) for row in task.pool.tolist()} & {tuple(row) for row in task.new.tolist()}


def test_runs_are_made_once(tmp_path: Path) -> None:
    source = write_table(tmp_path)
    quick = PAPER.with_parts(contamination="cover")
    quick = quick.__class__(**{**vars(quick), "tables": quick.tables.__class__(epochs=1, learning_rate=1e-3)})
    make_runs(source, [5], quick, tmp_path)
    path = path_of(tmp_path, source, 0.05, 5)
    before = path.stat().st_mtime_ns
    make_runs(source, [5], quick, tmp_path)
    assert path.stat().st_mtime_ns == before
    run = read_run(path)
    assert int((run.labels != UNLABELLED).sum()) == 5
    assert len(run.reference) == int((run.labels != 1).sum())


def test_a_perfect_detector_keeps_every_promise() -> None:
    rng = np.random.default_rng(1)
    truth = np.arange(300) < 30
    scores, new = rng.normal(size=300) + 8 * truth, rng.normal(size=200)
    labels = np.where(np.arange(300) % 10 == 0, truth, UNLABELLED).astype(np.int8)
    never = np.zeros(200, bool)
    reference = scores[labels != 1]
    run = Run(truth, labels, scores, scores[:, None], scores, new, never, reference)
    kept = {each.promise: each.realised for each in judge(run)}
    assert kept["share, no check"] == 1
    assert kept["false alarms 5%"] <= 0.05
    assert kept["real alarms, no check"] == 1
    assert NORMAL in labels
    cells = [(Source(Path("tables/made.npz"), "made up"), 0.1, 30, judge(run))]
    assert "share, 10 checks" in summarise(cells)
