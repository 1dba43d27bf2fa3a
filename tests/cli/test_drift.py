"""What `soel score` says of rows that are not like the pool, and how commands end."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soel.cli.arguments import Exit
from soel.tables.rows import read_rows
from tests.cli.conftest import HEADER, N_ROWS, Run

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
    assert "No drift detected." in said.out


def test_drift_is_said_and_written_and_can_fail(run: Run, fitted: Path, tmp_path: Path) -> None:
    command = ("score", fitted, "--data", write_new(tmp_path / "new.csv", 40.0), "--out", tmp_path / "out.csv")
    said = run(*command)
    assert said.code == Exit.DONE
    assert "Drift detected:\n  alarms: 60 of 60 rows (100 %)" in said.out
    assert "  width: 60 rows (100 %) above the pool's range of " in said.out
    failed = run(*command, "--fail-on-drift", "--json")
    assert failed.code == Exit.DRIFTED
    drift = failed.document["drift"]
    assert drift["found"]
    assert failed.document["promise"]["is_withdrawn"]
    assert drift["lines"][0] == "Drift detected:"
    assert [each["column"] for each in drift["findings"] if each["is_drift"] and each["what"] == "range"] == ["width"]
    assert (tmp_path / "out.csv").exists(), "the scores are there nevertheless"


def test_the_pool_itself_cannot_drift(run: Run, fitted: Path) -> None:
    assert run("score", fitted, "--json").document["drift"] is None
    said = run("score", fitted, "--fail-on-drift")
    assert (said.code, "name them with --data" in said.err) == (Exit.REFUSED, True)


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


def test_a_column_more_is_left_out_and_said(run: Run, fitted: Path, tmp_path: Path) -> None:
    new = write_new(tmp_path / "new.csv")
    plain = run("score", fitted, "--data", new, "--json", "--out", tmp_path / "plain.csv").document
    wider = new.with_name("wider.csv")
    wider.write_text("".join(f"{line},{at}\n" for at, line in enumerate(new.read_text().splitlines())))
    said = run("score", fitted, "--data", wider, "--json", "--out", tmp_path / "out.csv")
    assert (said.code, said.err) == (Exit.DONE, "")
    assert said.document["notes"] == ["A column that the pool does not have is left out: '0'."]
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "plain.csv").read_text()
    assert said.document["n_alarms"] == plain["n_alarms"]


def test_a_strict_session_refuses_a_column_more(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "columns.toml").write_text("strict = true\n")
    place = tmp_path / "strict"
    assert run("init", place, "--data", table, "--id-column", "name", "--columns", tmp_path / "columns.toml").code == 0
    assert run("fit", place).code == 0
    wider = tmp_path / "wider.csv"
    wider.write_text("".join(f"{line},{at}\n" for at, line in enumerate(table.read_text().splitlines())))
    said = run("score", place, "--data", wider)
    assert said.code == Exit.REFUSED
    assert "no more and no fewer" in said.err


def test_a_header_alone_is_an_empty_night(run: Run, fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(",".join(HEADER) + "\n")
    said = run("score", fitted, "--data", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert (said.code, said.err) == (Exit.EMPTY, "")
    assert "has no rows: nothing to score" in said.out
    assert not (tmp_path / "out.csv").exists()


def test_a_recognised_id_column_names_rows_without_being_told(run: Run, table: Path, tmp_path: Path) -> None:
    lines = table.read_text().splitlines()
    named = ["order_id," + lines[0], *(f"A-{1000 + at}," + line for at, line in enumerate(lines[1:]))]
    table.write_text("\n".join(named))
    place = tmp_path / "named"
    assert run("init", place, "--data", table, "--ignore", "name", "--label-column", "truth").code == 0
    assert run("fit", place).code == 0
    run("score", place, "--data", table, "--out", tmp_path / "out.csv")
    assert {row["order_id"] for row in read_rows(tmp_path / "out.csv")} == {f"A-{1000 + at}" for at in range(N_ROWS)}


def test_every_exit_code_is_in_the_table() -> None:
    rows = re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(map(int, rows)) == sorted(Exit)
