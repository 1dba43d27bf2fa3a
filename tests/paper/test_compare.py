from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from soel.errors import ConfigError, LabelError
from soel_paper.methods import Variant
from soel_paper.reproduce import compare
from tests.conftest import make_toy


@pytest.fixture
def table(tmp_path: Path) -> Path:
    toy = make_toy(n_rows=80, n_anomalies=20)
    with (tmp_path / "own.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "colour", "y"])
        for row, (x, anomaly) in enumerate(zip(toy.x.tolist(), toy.is_anomaly.tolist(), strict=True)):
            writer.writerow([x[0], x[3], x[4], "red" if row % 2 else "blue", "anomaly" if anomaly else "normal"])
    return tmp_path / "own.csv"


def test_profiles_and_peers_over_the_budget(table: Path, tmp_path: Path, quick: Variant) -> None:
    found = compare(table, "y", tmp_path / "out", (4, 8), (quick,), n_seeds=2, n_jobs=1)
    shown = found.results.where(measure="auroc")
    assert {"SOEL, authors", "no labels, authors", "isolation forest", "all labels known"} <= set(
        shown.values("method")
    )
    assert shown.values("budget") == [4, 8]
    assert shown.mean(method="LOF", budget=4) == shown.mean(method="LOF", budget=8)
    assert json.loads(Path(found.files["json"]).read_text())["points"]
    assert "| SOEL, authors |" in Path(found.files["markdown"]).read_text()
    assert "isolation forest" in Path(found.files["picture"]).read_text()


def test_the_truth_of_every_row_is_needed(table: Path, tmp_path: Path) -> None:
    table.write_text(table.read_text().replace(",anomaly", ",", 1))
    with pytest.raises(LabelError, match="empty in 1 rows"):
        compare(table, "y", tmp_path / "out", (4,), n_jobs=1)


def test_a_budget_is_a_number_of_labels(table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="from 1 on"):
        compare(table, "y", tmp_path / "out", (0,))
