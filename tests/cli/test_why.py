"""`soel score --why`: the reasons of alarms as columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.cli.main import main
from soel.tables.rows import read_rows, write_rows

N_ROWS = 120


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session that has learnt. Pressure follows the heat; machine 7 has too much, and machine 8 a city of its own."""
    folder = tmp_path_factory.mktemp("why")
    rng = np.random.default_rng(0)
    heat = rng.normal(60, 5, N_ROWS)
    pressure = heat / 10 + rng.normal(0, 0.05, N_ROWS)
    pressure[7] = 10.6
    cities = ["Ulm" if row % 2 else "Bonn" for row in range(N_ROWS)]
    cities[8] = "Rom"
    rows = [
        [f"m{row}", f"{heat[row]:.4f}", f"{pressure[row]:.4f}", cities[row], "anomaly" if row == 7 else "normal"]
        for row in range(N_ROWS)
    ]
    write_rows(folder / "machines.csv", ["name", "heat", "pressure", "why", "truth"], rows)
    session = folder / "session"
    options = ["--id-column", "name", "--label-column", "truth", "--threshold", "alarms=2"]
    assert main(["init", str(session), "--data", str(folder / "machines.csv"), "--budget", "5", *options]) == 0
    assert main(["ask", str(session), "-n", "5", "--out", str(folder / "sheet.csv")]) == 0
    sheet = read_rows(folder / "sheet.csv")
    filled = [{**row, "label": "anomaly" if row["item"] == "m7" else "normal"} for row in sheet]
    write_rows(folder / "sheet.csv", list(filled[0]), [list(row.values()) for row in filled])
    assert main(["tell", str(session), str(folder / "sheet.csv")]) == 0
    assert main(["fit", str(session)]) == 0
    return session


def test_reasons_are_columns_and_sentences(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = place.parent / "scores.csv"
    assert main(["score", str(place), "--why", "--with-columns", "--out", str(out)]) == 0
    rows = {row["name"]: row for row in read_rows(out)}
    assert rows["m7"]["why_1"] == "pressure"
    assert rows["m7"]["why_1_value"] == "10.6"
    assert 4 < float(rows["m7"]["why_1_usual"]) < 8
    assert (rows["m7"]["why_1_columns"], rows["m7"]["why_2"]) in (("pressure", ""), ("pressure; heat", ""))
    assert 0 < float(rows["m7"]["why_1_share"]) <= 1.5
    assert int(rows["m7"]["why_rank"]) > 2
    assert rows["m7"]["why_suffices"] == "yes"
    assert rows["m7"]["why_ordinary"] in rows
    assert rows["m7"]["why"].startswith(f"most like {rows['m7']['why_ordinary']}, but for pressure")
    assert f"pressure 10.6, usually {rows['m7']['why_1_usual']}" in rows["m7"]["why"]
    assert rows["m8"]["data why"] == "Rom"  # a column of the data that is called so, too
    explained = [row for row in rows.values() if row["why"]]
    assert len(explained) == 10
    assert max(int(row["rank"]) for row in explained) == 10
    assert "pressure 10.6, usually" in capsys.readouterr().out


def test_new_rows_are_explained_by_the_pool(place: Path) -> None:
    new, out = place.parent / "new.csv", place.parent / "new-scores.csv"
    write_rows(new, ["name", "heat", "pressure", "why"], [["a", "58", "5.8", "Ulm"], ["b", "58", "2", "Ulm"]])
    assert main(["score", str(place), "--why", "--data", str(new), "--out", str(out)]) == 0
    first = read_rows(out)[0]
    assert (first["name"], first["why_1"], first["why_1_value"]) == ("b", "pressure", "2")
    assert first["why_like"] in {f"m{row}" for row in range(N_ROWS)}
    assert first["why_like_label"] == ("anomaly" if first["why_like"] == "m7" else "normal")


def test_all_rows_are_explained_where_that_is_asked(place: Path) -> None:
    out = place.parent / "all.csv"
    assert main(["score", str(place), "--why", "all", "--out", str(out)]) == 0
    rows = read_rows(out)
    assert all(row["why"] for row in rows)
    assert all(row["why"].startswith(("most like", "unusual")) for row in rows[:2])
    assert rows[-1]["why"] == "ordinary: no alarm, and not near the threshold"
    assert all(bool(row["why_rank"]) == bool(row["why_ordinary"]) for row in rows)
    for row in rows:
        assert bool(row["why_like"]) == (not row["label"])  # what is labelled is not said to be like another
