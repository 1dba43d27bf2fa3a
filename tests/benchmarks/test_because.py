"""The benchmark of answers that say why: its expert names what is wrong, and a run that was cut off goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.because.command import main
from benchmarks.because.expert import NamingExpert, mistake


def make_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, truth = rng.normal(size=(160, 5)).astype(np.float32), np.arange(160) < 24
    x[:12, 1] += 6
    x[12:24, 3] -= 6
    return x, truth


def test_the_expert_names_the_column_that_is_why() -> None:
    x, truth = make_rows()
    expert = NamingExpert.of(x, truth)
    assert [expert.name(row) for row in x[[0, 5, 15, 20]]] == [1, 1, 3, 3]


def test_a_mistake_names_another_column() -> None:
    named = [(row, 2) for row in range(400)]
    wrong = mistake(named, 4, 0.2, seed=1)
    assert 0.1 < np.mean([columns != [2] for columns in wrong.values()]) < 0.3
    assert mistake(named, 4, 0.0, seed=1) == {row: [2] for row in range(400)}


def test_a_run_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, truth = make_rows()
    np.savez(tmp_path / "made.npz", X=x, y=truth)
    words = ["--data-dir", str(tmp_path), "--budgets", "4", "--out", str(tmp_path / "cells.jsonl")]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert "all tables, 20 % wrong names" in first
    written = (tmp_path / "cells.jsonl").read_text()
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert (tmp_path / "cells.jsonl").read_text() == written
