"""Tasks beside real tables: what is compared, and that the tasks are as real tables are where it matters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pretraining.__main__ import main

from pretraining import compare


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of which the first has its anomalies far out in its only column."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    for number in range(2):
        x, y = rng.normal(size=(200, 1 + number)), np.zeros(200, int)
        y[:20] = 1
        x[:20, 0] += 9 * (1 - number)
        np.savez(folder / f"{number}.npz", X=x, y=y)
    return folder


def test_real_tables_are_told_by_their_scores(tables: Path) -> None:
    real = compare.of_tables(tables)
    assert real.columns.shape == (2, len(compare.COLUMNS))
    assert real.scores.shape == (2, len(compare.SCORES))
    at = compare.SCORES.index("far out")
    assert real.scores[0, at] > 0.99
    assert 0.2 < real.scores[1, at] < 0.8


def test_tasks_lean_to_where_real_anomalies_lie() -> None:
    """As in 118 public tables: columns are skewed to the right, tails tell more than local density."""
    made_up = compare.of_tasks(25)
    columns = dict(zip(compare.COLUMNS, made_up.columns.mean(0), strict=True))
    scores = dict(zip(compare.SCORES, made_up.scores.mean(0), strict=True))
    assert columns["skewed"] > 0.1
    assert scores["tails"] > scores["local density"]
    assert scores["rare values"] > 0.48  # equal values do not give broken rows away


def test_the_command_shows_both(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", str(tables), "--batches", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(compare.COLUMNS) + len(compare.SCORES)
    assert lines[0] == "| | real tables | made-up tasks |"
