"""One pass through the verbs with the engine that users get."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.cli.main import main
from soel.tables.rows import read_rows
from tests.cli.conftest import N_FAR, N_ROWS, fill, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session after one round of six answers and a fit."""
    place = tmp_path_factory.mktemp("real")
    table, session, sheet = write_table(place / "table.csv"), place / "session", place / "sheet.csv"
    options = ["--id-column", "name", "--label-column", "truth", "--profile", "paper"]
    assert main(["init", str(session), "--data", str(table), *options]) == 0
    assert main(["ask", str(session), "-n", "6", "--out", str(sheet)]) == 0
    names = [row["item"] for row in read_rows(sheet)]
    fill(sheet, ["a" if int(name.removeprefix("=n")) < N_FAR else "n" for name in names])
    assert main(["tell", str(session), str(sheet)]) == 0
    assert main(["fit", str(session)]) == 0
    return session


def test_scores_rules_and_report(folder: Path, tmp_path: Path) -> None:
    assert main(["score", str(folder)]) == 0
    assert main(["score", str(folder), "--threshold", "alarms=3", "--out", str(tmp_path / "three.csv")]) == 0
    usual, three = read_rows(folder / "scores.csv"), read_rows(tmp_path / "three.csv")
    assert [row["score"] for row in usual] == [row["score"] for row in three]
    assert sorted(int(row["rank"]) for row in three if row["alarm"] == "True") == [1, 2, 3]
    assert len(usual) == N_ROWS
    assert main(["report", str(folder)]) == 0
    assert "table.csv" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["manifest.json", "weights.safetensors"])
def test_a_half_written_model_folder_is_an_error(folder: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "models" / "fit-0001" / file
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    try:
        assert main(["score", str(folder)]) == 2
    finally:
        path.write_bytes(content)
    assert capsys.readouterr().err.startswith("soel: ")
    assert main(["score", str(folder)]) == 0
