"""Checking the result on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
    parts = ("Spot check", "items are anomalies", "alarms are real", "is not sure", "are not sure")
    shown = [line for line in status.splitlines() if any(part in line for part in parts)]
    assert len(shown) == 4
    plain = report.replace("&#39;", "'").replace("\u00a0", " ")
    assert all(line in plain for line in shown)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("-n", 3, "--spot-check", 3), "choose one"),
        (("--not-sure", "--spot-check", 3), "choose one"),
        (("--no-cover", "--next"), "leave it out"),
        (("--who", "ann"), "ask with --next"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(
    run: Run, folder: Path, options: tuple[Any, ...], why: str
) -> None:
    said = run("ask", folder, *options)
    assert said.code == 2
    assert why in said.err


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
