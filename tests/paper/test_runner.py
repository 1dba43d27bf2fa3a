from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from soel.errors import DataError
from soel_paper.cell import Cell, CellSetting
from soel_paper.methods import NINE, Variant
from soel_paper.runner import QUIET, TOGETHER, CellStore, _pool, pending, run, write_raw
from soel_paper.sources import DataSource

SCRIPT = """
import sys, time, types
from pathlib import Path
from soel_paper.cell import Cell, CellSetting
from soel_paper.methods import NINE
from soel_paper.runner import run
from soel_paper.sources import DataSource
from soel_paper.runner import CellStore
from soel_paper.methods import VARIANTS

def slow(cells, protocol, content):
    time.sleep(0.15)
    return [{"f1": 0.5} for _ in cells]

# In place of the training, which only takes time here; workers import this file too.
sys.modules["soel_paper.experiment"] = types.SimpleNamespace(run_cells=slow)

if __name__ == "__main__":
    cells = [Cell("breastw", method, VARIANTS["authors"], CellSetting(budget=5), 40) for method in NINE]
    run(cells, DataSource(Path(sys.argv[1])), CellStore(Path(sys.argv[2])), int(sys.argv[3]))
"""


def cells(variant: Variant, n_seeds: int = 2) -> list[Cell]:
    return [
        Cell("breastw", m, variant, CellSetting(budget=5), seed) for m in NINE[:2] for seed in range(40, 40 + n_seeds)
    ]


def start(data_dir: Path, out: Path, n_jobs: int) -> subprocess.Popen[bytes]:
    script = out.parent / "script.py"
    script.write_text(SCRIPT)
    words = [sys.executable, str(script), str(data_dir), str(out), str(n_jobs)]
    return subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE)


def finished(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.json")}


def test_seeds_go_together_in_small_groups(quick: Variant, tmp_path: Path) -> None:
    groups = pending(cells(quick, 7), CellStore(tmp_path))
    assert [len(group) for group in groups] == [TOGETHER["cpu"], 2] * 2


def test_finished_cells_are_skipped(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    store, wanted, seen = CellStore(tmp_path), cells(quick), []
    store.write(wanted[0], {"f1": 0.123}, 1.0)
    run(wanted, source, store, 1, lambda done, total: seen.append((done, total)))
    assert store.read(wanted[0]) == {"f1": 0.123}
    assert all(store.has(cell) for cell in wanted)
    assert (seen[0], seen[-1]) == ((1, 4), (4, 4))
    assert pending(wanted, store) == []


def test_a_run_ends_in_time_and_goes_on(source: DataSource, quick: Variant, tmp_path: Path) -> None:
    store, wanted = CellStore(tmp_path), cells(quick)
    run(wanted, source, store, 1, minutes=0)
    assert not any(map(store.has, wanted))
    run(wanted, source, store, 1, minutes=9)
    assert all(map(store.has, wanted))


def test_classes_go_together_where_one_model_can_learn_them(quick: Variant, tmp_path: Path) -> None:
    of_classes = [
        Cell("cifar10", NINE[0], quick, CellSetting(budget=5), seed, normal) for seed in (40, 41) for normal in (0, 1)
    ]
    assert [len(group) for group in pending(of_classes, CellStore(tmp_path))] == [4]


def test_every_seed_s_figures_become_one_file(quick: Variant, tmp_path: Path) -> None:
    store = CellStore(tmp_path / "out" / "cells")
    for number, cell in enumerate(cells(quick)):
        store.write(cell, {"f1": number / 10, "delta": None}, 1.0)
    assert write_raw([tmp_path / "out"], tmp_path / "figures.csv") == 4
    rows = list(csv.DictReader((tmp_path / "figures.csv").read_text().splitlines()))
    found = {(row["method"], row["seed"]): row["value"] for row in rows if row["measure"] == "f1"}
    assert found == {("Mar", "40"): "0.0", ("Mar", "41"): "0.1", ("Hybr1", "40"): "0.2", ("Hybr1", "41"): "0.3"}
    assert [row["value"] for row in rows if row["measure"] == "delta"] == [""] * 4
    assert {(row["dataset"], row["budget"], row["expert"]) for row in rows} == {("breastw", "5", "perfect")}
    with pytest.raises(DataError, match="no finished cells"):
        write_raw([tmp_path / "nowhere"], tmp_path / "figures.csv")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_killed_run_loses_only_what_it_was_in(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells"
    process = start(data_dir, out, 1)
    while len(finished(out)) < 3 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = finished(out)
    assert 3 <= len(kept) < len(NINE)
    again = start(data_dir, out, 1)
    assert again.wait() == 0, again.stderr.read() if again.stderr else ""
    again.communicate()
    done = finished(out)
    assert len(done) == len(NINE)
    assert all(done[name] == content for name, content in kept.items())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_workers_end_with_a_killed_parent(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells"
    process = start(data_dir, out, 2)
    while not finished(out) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()  # returns when the workers have closed their standard error too
    n_done = len(finished(out))
    time.sleep(0.5)
    assert len(finished(out)) == n_done


def test_an_error_ends_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in QUIET:
        monkeypatch.delenv(name, raising=False)
    futures: list[Future[None]] = []

    def begin_and_fail() -> None:
        with _pool(1) as pool:
            assert os.environ["OMP_NUM_THREADS"] == "1"
            futures.extend(pool.submit(time.sleep, 0.3) for _ in range(9))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        begin_and_fail()
    assert futures[-1].cancelled()
    assert not QUIET.keys() & os.environ.keys()
