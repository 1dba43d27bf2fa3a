"""The benchmark of promises on a made-up table, small enough to be judged in a moment."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.promises.command import main
from benchmarks.promises.judge import Kept, judge, judge_share
from benchmarks.promises.runs import BUDGETS, Asked, Run, Start, Turn, make_runs, order_turns, path_of, read_run
from benchmarks.promises.sentences import judge_sentences
from benchmarks.promises.summary import Judged, summarise
from benchmarks.promises.tables import CHANCE, Count, judge_runs
from benchmarks.promises.tasks import SHARES, Cell, Source, find_sources, task_of

from soel.settings import PAPER, PROFILES, Profile
from soel.types import NORMAL, UNLABELLED, Estimate


def write_table(folder: Path) -> Source:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(700, 2)).astype(np.float32)
    x[:80] += 4
    (folder / "tables").mkdir()
    np.savez(folder / "tables" / "made.npz", X=x, y=np.arange(700) < 80)
    (source,) = find_sources(folder)
    return source


def write_few(folder: Path) -> Path:
    path = folder / "tables" / "few.npz"
    np.savez(path, X=np.zeros((90, 2), np.float32), y=np.arange(90) < 9)
    return path


def test_pools_have_the_share_that_is_wanted(tmp_path: Path) -> None:
    source = write_table(tmp_path)
    for share in SHARES:
        task = task_of(source, share)
        assert task is not None
        assert round(float(task.truth.mean()), 2) == share
        assert (~task.new_truth).sum() >= 100
        assert not {tuple(row) for row in task.pool.tolist()} & {tuple(row) for row in task.new.tolist()}


def test_a_benchmark_that_is_stopped_is_balanced() -> None:
    everything = {Cell(share, budget) for share in SHARES for budget in BUDGETS}
    orders = [order_turns(index) for index in range(12)]
    assert all({turn.share for turn in order} == set(SHARES) for order in orders)
    for at in range(len(SHARES)):
        assert {Cell(order[at].share, *order[at].fitted) for order in orders} == everything
    assert {turn.fitted for turn in order_turns(0, n_fits=3)} <= {(10, 20, 40), (20, 40, 10), (40, 10, 20)}


def quick_profile(**parts: str) -> Profile:
    quick = PAPER.with_parts(contamination="cover", **parts)
    return replace(quick, tables=replace(quick.tables, epochs=1, learning_rate=1e-3))


def test_questions_are_asked_once_for_all_budgets_and_fits_are_kept(tmp_path: Path) -> None:
    source, cell = write_table(tmp_path), Cell(0.05, 5)
    asked = make_runs(source, Turn(0.05, (5,)), (3, 5, 8), quick_profile(), tmp_path)
    assert asked is not None
    assert set(asked) == {Cell(0.05, 3), cell}
    assert not path_of(tmp_path, source, Cell(0.05, 3)).exists()
    path = path_of(tmp_path, source, cell)
    run, before = read_run(path), path.stat().st_mtime_ns
    make_runs(source, Turn(0.05, (5,)), (3, 5, 8), quick_profile(), tmp_path)
    assert path.stat().st_mtime_ns == before
    assert int((run.labels != UNLABELLED).sum()) == 5
    assert len(run.reference) == int((run.labels != 1).sum())
    assert (asked[cell].labels == run.labels).all()
    assert asked[cell].estimate.value == run.estimate[0]
    assert (
        make_runs(replace(source, path=write_few(tmp_path)), Turn(0.4, (5,)), (5,), quick_profile(), tmp_path) is None
    )


def test_a_later_budget_goes_on_where_questions_know_the_answers(tmp_path: Path) -> None:
    task = task_of(write_table(tmp_path), 0.15)
    assert task is not None
    few, more = (labels for _, labels in Start(task, PROFILES["default"]).ask((3, 1)))
    assert [int((labels != UNLABELLED).sum()) for labels in (few, more)] == [1, 3]
    known = few != UNLABELLED
    assert (more[known] == few[known]).all()


def test_an_interval_is_judged_by_the_truth() -> None:
    truth, labels = np.arange(100) < 30, np.where(np.arange(100) < 10, 1, UNLABELLED).astype(np.int8)
    rivals = {"other": Estimate(0.31, 0.3, 0.35, "made up")}
    good, error, rival, other, others_error = judge_share(
        Asked(truth, labels, Estimate(0.25, 0.2, 0.4, "made up"), rivals)
    )
    assert (good.realised, round(good.width, 6)) == (1, 0.2)
    assert rival.realised == 0
    assert round(error.realised, 6) == 0.05
    assert (other.realised, round(others_error.realised, 6)) == (1, 0.01)
    assert judge_share(Asked(truth, labels, Estimate(0.1, 0.05, 0.2, "made up"), {}))[0].realised == 0


def test_a_perfect_detector_keeps_every_promise() -> None:
    rng = np.random.default_rng(1)
    truth = np.arange(300) < 30
    scores, new = rng.normal(size=300) + 8 * truth, rng.normal(size=200)
    labels = np.where(np.arange(300) % 10 == 0, truth, UNLABELLED).astype(np.int8)
    never = np.zeros(200, bool)
    reference, estimate = scores[labels != 1], np.array([0.1, 0.05, 0.2])
    cut = float(np.quantile(scores, 0.9))
    chances = np.where(truth, 0.9, 0.02)
    run = Run(truth, labels, scores, chances, cut, estimate, reference, np.ones(len(reference)), new, never)
    kept = {each.promise: each.realised for each in judge(run)}
    assert kept["false alarms 5%"] <= 0.05
    assert kept["real alarms, no check"] == 1
    assert NORMAL in labels
    judged = [Judged(Source(Path("tables/made.npz"), "made up"), 0, Cell(0.1, 30), judge(run))]
    assert "share, 10 checks" in summarise(judged)


def test_sentences_are_judged_as_the_page_words_them() -> None:
    rng = np.random.default_rng(2)
    truth = np.arange(400) < 40
    scores = rng.normal(size=400) + 8 * truth
    labels = np.where(np.arange(400) % 20 == 0, truth, UNLABELLED).astype(np.int8)
    chances, cut = np.where(truth, 0.99, 0.01), float(np.quantile(scores, 0.9))
    new, never = rng.normal(size=200), np.zeros(200, bool)
    held: dict[str, list[float]] = {}
    for low, high in ((0.06, 0.2), (0.2, 0.4)):
        estimate, reference = np.array([(low + high) / 2, low, high]), scores[labels != 1]
        run = Run(truth, labels, scores, chances, cut, estimate, reference, np.ones(len(reference)), new, never)
        for kept in judge_sentences(run):
            held.setdefault(kept.promise, []).append(kept.realised)
    assert held["Share of anomalies, 80 % range ... to ..."] == [1, 0]
    assert held["... to ... of ... alarms are real (10 checked)"] == [1, 1]
    assert held["normal if ... , anomalies if ..."] == [1, 1]
    assert len(held) >= 12


def count_of(n_false: int, rate: float, n_new: int = 10, n_reference: int = 99) -> Count:
    return Count(rate, n_false, n_new, n_reference, 0, 0)


def test_the_law_of_false_alarms_by_hand() -> None:
    # One of 99 reference rows lies at the cut of 1 %: k = 1, so the part above is Beta(1, 99), whose mean is 1 %.
    law = count_of(0, 0.01).law()
    assert law.sum() == pytest.approx(1)
    assert law @ np.arange(11) == pytest.approx(10 * 0.01)
    assert law[0] == pytest.approx(99 / 109)  # no new row above the highest of 99: the highest of 109 is an old one
    assert count_of(0, 0.001).law().tolist() == [1] + [0] * 10  # no alarm could be raised at all


def test_more_false_alarms_than_chance_allows_are_noticed() -> None:
    assert judge_runs([count_of(0, 0.02)]).is_within
    assert not judge_runs([count_of(10, 0.02)]).is_within
    assert not judge_runs([count_of(1, 0.001)]).is_within
    once = judge_runs([count_of(1, 0.01)])
    assert once.is_within  # 10 of 109 such pools have one or more
    assert not once.is_below
    assert not judge_runs([count_of(1, 0.01)] * 4).is_within  # not all four of them


def test_an_exact_procedure_passes_as_often_as_is_said() -> None:
    """Simulated: new rows and references of one kind, tables of three runs; the test, not the arithmetic, is asked."""
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(2000):
        counts = []
        for n_new, n_reference in ((60, 149), (40, 99), (50, 120)):
            cut = np.sort(rng.random(n_reference))[-1]  # k = 1 at 1 %
            counts.append(count_of(int((rng.random(n_new) > cut).sum()), 0.01, n_new, n_reference))
        verdicts.append(judge_runs(counts))
    assert np.mean([each.is_within for each in verdicts]) == pytest.approx(verdicts[0].exact_within, abs=0.015)
    assert np.mean([each.is_below for each in verdicts]) == pytest.approx(verdicts[0].exact_below, abs=0.03)
    assert 1 - CHANCE <= verdicts[0].exact_within < 1
    assert verdicts[0].exact_below < 0.8  # the nominal rate itself is no test of one table: chance exceeds it often


def test_the_summary_says_how_many_tables_keep_the_rate() -> None:
    sources = [Source(Path("tables/a.npz"), "easy"), Source(Path("tables/b.npz"), "hard")]
    judged = [
        Judged(source, 1, Cell(0.1, 10), [Kept("false alarms", n / 10, most=0.01, count=count_of(n, 0.01))])
        for source, n in zip(sources, (0, 9), strict=True)
    ]
    line = next(line for line in summarise(judged).splitlines() if "false alarms" in line and " all " in line)
    assert "45.00%" in line
    assert "50.0% (" in line


def test_runs_are_made_apart_and_judged_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(tmp_path)
    words = ["--data-dir", str(tmp_path), "--runs", str(tmp_path / "runs"), "--passes", "1", "--jobs", "1"]
    assert main([*words, "--budgets", "2", "--make-only"]) == 0
    assert capsys.readouterr() == ("", "1 of 1 pools are there\n")
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    assert main([*words, "--budgets", "2"]) == 0
    assert "1 tables, 1 sessions" in capsys.readouterr().out
    again = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*") if path.name in made}
    assert {name: at for name, at in again.items() if name != "default"} == {
        name: at for name, at in made.items() if name != "default"
    }


def test_making_runs_needs_nothing_of_the_page() -> None:
    """So that a bare machine with many cores can make them."""
    words = (
        "import sys, benchmarks.promises.command; print([n for n in ('starlette', 'sqlalchemy') if n in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
