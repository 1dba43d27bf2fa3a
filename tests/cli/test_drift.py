"""What `soel score` says of rows that are not like the pool, and how commands end."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soel.cli.reply import Exit
from soel.session.config import read_config, write_config
from tests.cli.conftest import HEADER, Run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"


def write_new(path: Path, shift: float = 0.0, n_rows: int = 60) -> Path:
    """Rows as the pool's, `width` moved by `shift`."""
    values = np.random.default_rng(8).normal(size=(n_rows, 3)).clip(-1.5, 1.5)
    values[:, 0] += shift
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([HEADER, *([f"m{row}", *cells, 0] for row, cells in enumerate(values.tolist()))])
    return path


@pytest.fixture
def fitted(run: Run, folder: Path) -> Path:
    assert run("fit", folder).code == 0
    return folder


def test_rows_like_the_pools_pass(run: Run, fitted: Path, tmp_path: Path) -> None:
    said = run("score", fitted, "--data", write_new(tmp_path / "new.csv"), "--fail-on-drift")
    assert (said.code, said.err) == (Exit.DONE, "")
    assert "The rows are like the pool." in said.out


def test_drift_is_said_and_written_and_can_fail(run: Run, fitted: Path, tmp_path: Path) -> None:
    command = ("score", fitted, "--data", write_new(tmp_path / "new.csv", 40.0), "--out", tmp_path / "out.csv")
    said = run(*command)
    assert said.code == Exit.DONE
    assert "The rows are not like the pool:\n  alarms: 60 of 60 rows (100 %)" in said.out
    assert "  width: 60 rows (100 %) above the pool's range of " in said.out
    failed = run(*command, "--fail-on-drift", "--json")
    assert failed.code == Exit.DRIFTED
    drift = failed.document["drift"]
    assert drift["found"]
    assert failed.document["promise"]["is_withdrawn"]
    assert drift["lines"][0] == "The rows are not like the pool:"
    assert [each["column"] for each in drift["findings"] if each["is_drift"] and each["what"] == "range"] == ["width"]
    assert (tmp_path / "out.csv").exists(), "the scores are there nevertheless"


def test_the_pool_itself_cannot_drift(run: Run, fitted: Path) -> None:
    assert run("score", fitted, "--json").document["drift"] is None
    said = run("score", fitted, "--fail-on-drift")
    assert (said.code, "name them with --data" in said.err) == (Exit.REFUSED, True)


def test_a_session_of_before_looks_into_its_table(run: Run, fitted: Path, tmp_path: Path) -> None:
    config, encoder = fitted / "config.json", fitted / "encoder.json"
    old = json.loads(encoder.read_text())
    assert old.pop("baseline")
    encoder.write_text(json.dumps(old))
    without_digests = replace(read_config(config), digests={})
    config.unlink()
    write_config(config, without_digests)
    said = run("score", fitted, "--data", write_new(tmp_path / "new.csv", 40.0), "--fail-on-drift")
    assert said.code == Exit.DRIFTED, said.err
    assert "width: 60 rows" in said.out


def test_rows_in_parts_are_compared_too(run: Run, fitted: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    rng = np.random.default_rng(3)
    for number in range(3):
        names = [f"p{number}-{row}" for row in range(30)]
        columns = {"width": rng.normal(size=30) + 40, "height": rng.normal(size=30), "label": rng.normal(size=30)}
        pq.write_table(pa.table({"name": names} | columns), parts / f"{number}.parquet")
    said = run("score", fitted, "--data", parts, "--out", tmp_path / "out.parquet", "--fail-on-drift", "--json")
    assert said.code == Exit.DRIFTED, said.err
    (found,) = [each for each in said.document["drift"]["findings"] if each["what"] == "range" and each["is_drift"]]
    assert (found["column"], found["n_rows"]) == ("width", 90)


def test_every_exit_code_is_in_the_table() -> None:
    rows = re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(Exit)
