"""Data larger than a pool through the verbs: thinned at the start, scored whole."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import soel.session.score_file  # noqa: F401 - before a test changes what it reads
from soel.tables.rows import read_rows
from tests.cli.conftest import Run, fill

N_ROWS, N_POOL = 500, 60


def table() -> pa.Table:
    x = np.random.default_rng(2).normal(size=(N_ROWS, 3))
    x[::50] += 9
    words = ["left" if row % 2 else "right" for row in range(N_ROWS)]
    truth = [int(row % 50 == 0) for row in range(N_ROWS)]
    keys = [f"k{row}" for row in range(N_ROWS)]
    return pa.table({"key": keys, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "side": words, "truth": truth})


def as_parquet(place: Path) -> Path:
    pq.write_table(table(), place / "t.parquet", row_group_size=100)
    return place / "t.parquet"


def as_folder(place: Path) -> Path:
    for start in range(0, N_ROWS, 125):
        (place / "t").mkdir(exist_ok=True)
        pq.write_table(table().slice(start, 125), place / "t" / f"{start:03d}.parquet")
    return place / "t"


def as_csv(place: Path) -> Path:
    pyarrow.csv.write_csv(table(), place / "t.csv")
    return place / "t.csv"


def as_packed(place: Path) -> Path:
    with gzip.open(place / "t.csv.gz", "wb") as file:
        pyarrow.csv.write_csv(table(), file)
    return place / "t.csv.gz"


def as_database(place: Path) -> Path:
    with closing(sqlite3.connect(place / "t.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE t (key TEXT, a REAL, b REAL, c REAL, side TEXT, truth INTEGER)")
        rows = zip(*table().to_pydict().values(), strict=True)
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    return place / "t.sqlite"


FORMS: dict[str, Callable[[Path], Path]] = {"parquet": as_parquet, "folder": as_folder, "csv": as_csv}
COPIED = {"packed": as_packed, "database": as_database}
OPTIONS = ("--id-column", "key", "--label-column", "truth", "--pool-rows", N_POOL)


@pytest.fixture
def session(run: Run, tmp_path: Path) -> Path:
    """A thinned session after a round and a fit."""
    folder = tmp_path / "session"
    assert run("init", folder, "--data", as_parquet(tmp_path), *OPTIONS).code == 0
    assert run("ask", folder, "-n", 6).code == 0
    fill(folder / "round-0001.csv", ["a", "n", "n", "n", "n", "n"])
    assert run("tell", folder, folder / "round-0001.csv").code == 0
    assert run("fit", folder).code == 0
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_a_pool_is_drawn_and_everything_is_scored(run: Run, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "session"
    said = run("init", folder, "--data", FORMS[form](tmp_path), *OPTIONS)
    assert said.code == 0, said.err
    assert f"{N_POOL} of {N_ROWS} rows were drawn" in said.out
    assert run("ask", folder, "-n", 4).code == 0
    sheet = read_rows(folder / "round-0001.csv")
    assert {"a", "b", "c", "side"} <= set(sheet[0])
    assert "truth" not in sheet[0]
    assert all(row["item"].startswith("k") for row in sheet)
    fill(folder / "round-0001.csv", ["n", "a", "n", "n"])
    assert run("tell", folder, folder / "round-0001.csv").code == 0
    assert run("fit", folder).code == 0
    said = run("score", folder)
    assert said.code == 0, said.err
    assert f"of {N_ROWS} items raise an alarm; scores are in {folder / 'scores.parquet'}" in said.out
    scores = pq.read_table(folder / "scores.parquet")
    assert sorted(scores.column("key").to_pylist()) == sorted(f"k{row}" for row in range(N_ROWS))
    assert scores.column("rank").to_pylist() == list(range(1, N_ROWS + 1))


def test_every_form_draws_the_same_rows(run: Run, tmp_path: Path) -> None:
    drawn = []
    for form, make in FORMS.items():
        assert run("init", tmp_path / form, "--data", make(tmp_path), *OPTIONS).code == 0
        drawn.append((tmp_path / form / "ids.json").read_text())
    assert drawn[0] == drawn[1] == drawn[2]
    features = [np.load(tmp_path / form / "features.npy") for form in FORMS]
    np.testing.assert_allclose(features[0], features[1])
    np.testing.assert_allclose(features[0], features[2], rtol=1e-5, atol=1e-6)


def test_an_array_by_its_row_numbers(run: Run, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(N_ROWS, 3)).astype(np.float32)
    np.save(tmp_path / "t.npy", x)
    folder = tmp_path / "session"
    assert run("init", folder, "--data", tmp_path / "t.npy", "--pool-rows", N_POOL).code == 0
    assert run("fit", folder).code == 0
    assert run("score", folder, "--out", tmp_path / "parts").code == 0
    scores = pq.read_table(tmp_path / "parts")
    assert sorted(scores.column("id").to_pylist(), key=int) == [str(row) for row in range(N_ROWS)]


def test_an_address(run: Run, tmp_path: Path) -> None:
    fsspec.filesystem("memory").put(str(as_folder(tmp_path)), f"/{tmp_path.name}/t", recursive=True)
    folder = tmp_path / "session"
    said = run("init", folder, "--data", f"memory://{tmp_path.name}/t", *OPTIONS)
    assert said.code == 0, said.err
    assert run("fit", folder).code == 0
    said = run("score", folder, "--json")
    assert said.document["n_items"] == N_ROWS


def test_a_row_outside_the_pool_cannot_be_labelled(run: Run, session: Path) -> None:
    ids = (session / "ids.json").read_text()
    outside = next(f"k{row}" for row in range(N_ROWS) if f'"k{row}"' not in ids)
    said = run("tell", session, f"{outside}=anomaly")
    assert said.code == 2
    assert f"a sample of {N_POOL} of the {N_ROWS} rows" in said.err


def test_a_number_of_alarms_is_meant_of_the_rows_that_are_scored(run: Run, session: Path, tmp_path: Path) -> None:
    pq.write_table(table().slice(10, 20), tmp_path / "new.parquet")
    other = ("score", session, "--data", tmp_path / "new.parquet", "--out", tmp_path / "new.csv", "--json")
    assert run(*other, "--threshold", "alarms=5").document["n_alarms"] == 5
    assert [row["rank"] for row in read_rows(tmp_path / "new.csv") if row["alarm"] == "True"] != []


def test_a_whole_that_changed_is_refused(run: Run, session: Path, tmp_path: Path) -> None:
    pq.write_table(table().slice(1), tmp_path / "t.parquet", row_group_size=100)
    said = run("score", session)
    assert said.code == 2
    assert "was changed after the session started" in said.err


def test_a_pool_of_nothing_is_refused(run: Run, tmp_path: Path) -> None:
    said = run("init", tmp_path / "session", "--data", as_parquet(tmp_path), "--pool-rows", 0)
    assert said.code == 2
    assert "--pool-rows 0" in said.err


@pytest.mark.parametrize("form", COPIED)
def test_what_cannot_be_read_in_parts_is_kept_in_the_session(run: Run, tmp_path: Path, form: str) -> None:
    place, moved = tmp_path / "session", tmp_path / "elsewhere"
    said = run("init", place, "--data", COPIED[form](tmp_path), *OPTIONS)
    assert said.code == 0, said.err
    shutil.move(place, moved)  # a copy of the folder is the session
    assert run("ask", moved, "-n", 8, "--no-cover").code == 0
    fill(moved / "round-0001.csv", ["anomaly", "normal"])
    run("tell", moved, moved / "round-0001.csv")
    assert run("fit", moved).code == 0
    said = run("score", moved, "--out", tmp_path / "scores.csv")
    assert said.code == 0, said.err
    assert len(read_rows(tmp_path / "scores.csv")) == N_ROWS
    more = tmp_path / "more.parquet"
    pq.write_table(table().set_column(0, "key", [[f"m{row}" for row in range(N_ROWS)]]), more)
    assert run("add", moved, "--data", more).code == 0
    assert f"of {2 * N_ROWS} rows" in run("status", moved).out


@pytest.mark.parametrize("form", FORMS)
def test_alarms_among_all_rows_are_explained_too(
    run: Run, session: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soel.session.score_file.MOST_EXPLAINED", 12)
    monkeypatch.setattr("soel.session.score_file.FEWEST_EXPLAINED", 4)
    (tmp_path / "other").mkdir()
    data, out = FORMS[form](tmp_path / "other"), tmp_path / "scores.csv"
    said = run("score", session, "--data", data, "--out", out, "--why", "--threshold", "alarms=20", "--with-columns")
    assert said.code == 0, said.err
    rows = read_rows(out)
    assert [bool(row["why"]) for row in rows] == [True] * 12 + [False] * (N_ROWS - 12)
    named = {name for row in rows[:10] for n in range(1, 6) for name in row[f"why_{n}_columns"].split("; ") if name}
    assert named
    assert named <= {"a", "b", "c"}
    assert all(int(row["why_rank"]) > 0 and row["why_ordinary"] for row in rows[:10])
    assert all(
        row["why_like"] and row["why_like_label"] in ("anomaly", "normal") for row in rows[:12] if not row["label"]
    )
    assert "The 12 most anomalous rows are explained; 8 alarms below them are not." in said.out
    assert "one among the session's own rows" in said.out


def test_reasons_do_not_depend_on_what_stands_beside_a_row(run: Run, session: Path, tmp_path: Path) -> None:
    """The most anomalous rows among all, and in a file of their own."""
    out, few = tmp_path / "scores.csv", tmp_path / "few.parquet"
    assert run("score", session, "--out", out, "--why").code == 0
    rows = read_rows(out)[:5]
    keys = [row["key"] for row in rows]
    pq.write_table(table().filter(pa.compute.is_in(table()["key"], pa.array(keys))), few)
    assert run("score", session, "--data", few, "--out", tmp_path / "few.csv", "--why").code == 0
    again = {row["key"]: row for row in read_rows(tmp_path / "few.csv")}
    for row in rows:
        assert {name: row[name] for name in row if name.startswith("why") and not name.endswith("share")} == {
            name: again[row["key"]][name] for name in row if name.startswith("why") and not name.endswith("share")
        }


def test_not_all_rows_of_a_stream_are_explained(run: Run, session: Path, tmp_path: Path) -> None:
    said = run("score", session, "--out", tmp_path / "scores.csv", "--why", "all")
    assert said.code == 2
    assert "alarms are explained, at most 1,000; ask with --why alone" in said.err
