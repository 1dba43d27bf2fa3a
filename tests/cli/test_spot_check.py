"""Checking the result on the command line."""

from __future__ import annotations

from pathlib import Path

from soel.assess.spot_check import SpotCheck, Stratum
from soel.report.quality_words import quality_lines
from soel.tables.rows import read_rows
from tests.cli.conftest import N_FAR, N_ROWS, Run, fill
from tests.cli.test_loop import label_round, truth


def test_a_spot_check_from_draw_to_sentence(run: Run, folder: Path) -> None:
    label_round(run, folder)
    run("fit", folder)
    assert run("status", folder, "--json").document["quality"] is None
    sheet = Path(run("ask", folder, "--spot-check", 8, "--json").document["out"])
    rows = read_rows(sheet)
    assert len(rows) == 8
    fill(sheet, [truth(row["item"]) for row in rows])
    said = run("tell", folder, sheet).out
    assert "Spot check of 8 items drawn by chance" in said
    quality = run("status", folder, "--json").document["quality"]
    assert quality["n_checked"] == 8
    assert quality["share"]["low"] <= N_FAR / N_ROWS <= quality["share"]["high"]
    status = run("status", folder).out
    assert "by the last fit roughly" in status
    assert "in 1,000 items" in status
    report = Path(run("report", folder, "--json").document["out"]).read_text()
    assert "How sure the numbers are" in report
    shown = [
        line for line in status.splitlines() if line.startswith(("Spot check", "Anomalies:", "Alarms:", "Not sure"))
    ]
    assert len(shown) == 4
    plain = report.replace("&#39;", "'").replace("\u00a0", " ")
    assert all(line in plain for line in shown)


def test_learning_and_checking_are_two_things(run: Run, folder: Path) -> None:
    said = run("ask", folder, "-n", 3, "--spot-check", 3)
    assert said.code == 2
    assert "choose one" in said.err


def test_what_is_not_sure_is_asked_next(run: Run, folder: Path) -> None:
    assert run("ask", folder, "--not-sure").code == 2
    label_round(run, folder)
    run("fit", folder)
    assert "choose one" in run("ask", folder, "--not-sure", "--spot-check", 3).err
    out = folder / "scores.csv"
    run("score", folder, "--out", out)
    listed = [row for row in read_rows(out) if row["not_sure"] == "True"]
    assert not any(row["label"] for row in listed)
    open_rows = {next(iter(row.values())) for row in listed}  # the id comes first
    assert open_rows
    sheet = Path(run("ask", folder, "-n", 2, "--not-sure", "--json").document["out"])
    assert {row["item"] for row in read_rows(sheet)} <= open_rows


def test_before_a_fit_there_is_nothing_to_check(run: Run, folder: Path) -> None:
    said = run("ask", folder, "--spot-check", 3)
    assert said.code == 2
    assert "fit before" in said.err


def test_the_sentences() -> None:
    quality = SpotCheck(Stratum(8, 2, 2, 3, 3), Stratum(12, 2, 0, 5, 0)).quality()
    lines = quality_lines(quality)
    assert lines[0] == "Spot check of 8 items drawn by chance; each range holds in at least 80 % of such checks."
    assert lines[1:5] == [
        "Anomalies: 25 to 55 % of 20 items.",
        "Alarms: 6 to 8 of 8 are real (precision 75 to 100 %).",
        "The alarms hold 66 to 100 % of all anomalies (recall).",
        "False alarms: 0 to 100 in 1,000 items.",
    ]
    assert len(quality_lines(SpotCheck(Stratum(0), Stratum(50, 0, 0, 10, 0)).quality())) == len(lines) - 1
    promised = SpotCheck(Stratum(8, 2, 2, 3, 3, 1.2), Stratum(12, 2, 0, 5, 0, 1.4)).quality()
    assert quality_lines(promised)[5:7] == [
        "Probabilities: of the alarms they promise 3 to be real, the check proves 6 to 8: they are too low.",
        "Probabilities: of the others they promise 1 to be anomalies, the check proves 0 to 2: as they say, as far as "
        "it can tell.",
    ]
