"""`soel score --why`: the reasons of alarms as columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soel.cli.main import main
from soel.explain.words import NO_REASON
from soel.tables.csv_cells import read_rows, write_rows
from soel.text import ordinal

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
    assert float(rows["m7"]["why_1_usual"]) == pytest.approx(float(rows["m7"]["heat"]) / 10, abs=0.4)
    assert 0 < float(rows["m7"]["why_1_share"]) <= 1
    assert int(rows["m7"]["why_1_rank"]) > int(rows["m7"]["rank"])
    place_else = ordinal(int(rows["m7"]["why_1_rank"]))
    said = f"with pressure at {rows['m7']['why_1_usual']} instead of 10.6 it would rank {place_else} instead of 1st ("
    assert rows["m7"]["why"].startswith(said)
    assert int(rows["m7"]["why_rank_together"]) > 12
    assert rows["m8"]["data why"] == "Rom"  # a column of the data that is called so, too
    assert rows["m8"]["why_1"] == "why"
    explained = [row for row in rows.values() if row["why"]]
    assert len(explained) == 10
    assert max(int(row["rank"]) for row in explained) == 10
    assert "instead of 10.6 it would rank" in capsys.readouterr().out


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
    assert sum(row["why"].startswith("with ") for row in rows) > N_ROWS / 3
    assert all(row["why"].startswith("with ") or row["why"] == NO_REASON for row in rows)
    assert all(row["why"].startswith("with ") for row in rows[:10])
    for row in rows:
        shares = [float(row[f"why_{n}_share"]) for n in (1, 2, 3) if row[f"why_{n}_share"]]
        assert (not shares and not row["why_rest_share"]) or sum(shares) + float(
            row["why_rest_share"]
        ) == pytest.approx(1)
    for row in rows:
        assert bool(row["why_like"]) == (not row["label"])  # what is labelled is not said to be like another


@pytest.mark.parametrize(
    ("n", "said"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (1112, "1,112th"), (1023, "1,023rd")]
)
def test_places_are_said_as_people_say_them(n: int, said: str) -> None:
    assert ordinal(n) == said
