"""Scores of streams: the same as at once, whole or absent, and resumed by part after a kill."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import soel
from soel.assess.threshold import parse_threshold
from soel.errors import ConfigError, DataError, NoPermissionError, SessionError
from soel.scoring.score import Scorer
from soel.scoring.score_table import COLUMNS, ScoreTable
from soel.scoring.stream import Beside, RowReasons, score_stream
from soel.tables import rows
from soel.tables.batches import Stream, open_stream
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.tables.open import read_table
from soel.types import Estimate, Floats, Progress

N_ROWS, N_FILES = 600, 6


class Counting:
    """A model that scores rows by their sum and remembers how many it saw."""

    estimate, threshold = Estimate(0.1, 0.0, 0.2, "fixed"), 2.0

    def __init__(self, pause: float = 0.0) -> None:
        self.n_rows, self.pause = 0, pause

    def score(self, x: Floats, patches: None = None) -> Floats:
        self.n_rows += len(x)
        time.sleep(self.pause)
        return np.asarray(x.sum(axis=1).round(1), np.float64)

    def alarms(self, scores: Floats) -> np.ndarray:
        return np.asarray(scores > self.threshold)

    def probabilities(self, scores: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-scores)))

    def p_values(self, scores: Floats) -> Floats:
        return np.asarray(np.exp(-np.maximum(scores, 0)))


class Broken(Counting):
    """Gives a row no score."""

    def score(self, x: Floats, patches: None = None) -> Floats:
        return np.where(np.arange(len(x)) == 3, np.nan, 0.0)


def write_folder(place: Path) -> Path:
    x = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    place.mkdir()
    for number, part in enumerate(np.split(x, N_FILES)):
        keys = [f"={number}-{row}" for row in range(len(part))]
        columns = {"key": keys, **{name: part[:, at] for at, name in enumerate("abc")}}
        pq.write_table(pa.table(columns), place / f"{number}.parquet")
    return place


def encoder_for(folder: Path) -> Encoder:
    return Encoder.fit(read_table(folder / "0.parquet", "key").frame, "standard")


def scorer_for(model: Counting, name: str = "m", rule: str = "contamination") -> Scorer:
    return Scorer(model, name, np.linspace(-3, 3, 50), parse_threshold(rule))


def run(
    folder: Path,
    out: Path,
    model: Counting | None = None,
    name: str = "m",
    rule: str = "contamination",
    beside: Beside | None = None,
    progress: Progress | None = None,
    stream: Stream | None = None,
) -> dict[str, Any]:
    """Score the folder. stream: it as it was opened before."""
    stream, scorer = stream or open_stream(folder, "key"), scorer_for(model or Counting(), name, rule)
    return score_stream(stream, encoder_for(folder), scorer, out, beside, progress)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "data")


@pytest.fixture
def expected(folder: Path) -> list[dict[str, object]]:
    """By reading and ranking everything at once."""
    tables = [read_table(folder / f"{number}.parquet", "key") for number in range(N_FILES)]
    encoder, scorer = encoder_for(folder), scorer_for(Counting())
    values = np.concatenate([scorer.score(encoder.encode(table.frame)) for table in tables])
    scores = scorer.judge([name for table in tables for name in table.ids], values)
    return ScoreTable.of(scores, {"key": scores.ids}, {}).rows()


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """No file may grow beyond this, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_parquet_in_parquet_out(folder: Path, expected: list[dict[str, object]], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    out = tmp_path / "scores.parquet"
    said = run(folder, out, progress=lambda *now: told.append(now))
    assert pq.read_table(out).to_pylist() == expected
    assert told[-1] == (N_ROWS, N_ROWS)
    assert said["n_items"] == N_ROWS
    assert said["n_alarms"] == sum(row["alarm"] is True for row in expected)
    assert said["top"] == expected[:10]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "scores.parquet"]


def test_as_csv_and_as_a_folder(folder: Path, expected: list[dict[str, object]], tmp_path: Path) -> None:
    from soel.tables.rows import read_rows

    run(folder, tmp_path / "scores.csv")
    run(folder, tmp_path / "scores")
    assert read_rows(tmp_path / "scores.csv") == [
        {k: "" if v is None else str(v) for k, v in row.items()} for row in expected
    ]
    parts = sorted((tmp_path / "scores").iterdir())
    assert [row for part in parts for row in pq.read_table(part).to_pylist()] == expected
    with pytest.raises(ConfigError, match="exists already"):
        run(folder, tmp_path / "scores")


@pytest.mark.parametrize("n_sorted", [1, 7, 250, N_ROWS])
def test_rows_are_sorted_by_rank_whatever_is_in_memory(
    folder: Path,
    expected: list[dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n_sorted: int,
) -> None:
    monkeypatch.setattr("soel.scoring.scored_parts.PART_ROWS", n_sorted)
    monkeypatch.setattr("soel.scoring.scored_parts.MOST_RUNS", N_ROWS)
    monkeypatch.setattr("soel.scoring.scored_parts.BATCH_ROWS", 9)
    run(folder, tmp_path / "scores")
    parts = sorted((tmp_path / "scores").iterdir())
    assert len(parts) == -(-N_ROWS // n_sorted)
    assert [row for part in parts for row in pq.read_table(part).to_pylist()] == expected


def test_json_and_excel_hold_the_same(folder: Path, expected: list[dict[str, object]], tmp_path: Path) -> None:
    for suffix in (".json", ".xlsx"):
        run(folder, tmp_path / f"scores{suffix}")
    assert json.loads((tmp_path / "scores.json").read_text()) == expected
    header, *rows = openpyxl.load_workbook(tmp_path / "scores.xlsx")["scores"].iter_rows(values_only=True)
    assert list(header) == list(expected[0])
    assert [row[:2] for row in rows] == [(row["key"], row["rank"]) for row in expected]
    assert [row[2] for row in rows] == pytest.approx([row["score"] for row in expected])  # a sheet keeps 16 digits


def test_the_rows_own_columns(folder: Path, tmp_path: Path) -> None:
    run(folder, tmp_path / "s.parquet", beside=Beside(with_columns=True))
    written = pq.read_table(tmp_path / "s.parquet")
    assert written.column_names == ["key", *COLUMNS, "a", "b", "c"]
    source = {row["key"]: row for row in pq.read_table(folder).to_pylist()}
    assert all(source[row["key"]].items() <= row.items() for row in written.to_pylist())


def test_more_rows_than_a_sheet_holds(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "EXCEL_ROWS", N_ROWS - 1)
    with pytest.raises(ConfigError, match="room for 599 rows, and there are 600"):
        run(folder, tmp_path / "s.xlsx")


def test_a_number_of_alarms_is_kept_exactly(folder: Path, tmp_path: Path) -> None:
    said = run(folder, tmp_path / "s.parquet", rule="alarms=7")
    assert said["n_alarms"] == 7
    flagged = pq.read_table(tmp_path / "s.parquet").filter(pa.compute.field("alarm")).column("rank").to_pylist()
    assert sorted(flagged) == list(range(1, 8))


def test_an_unreadable_part_is_named_and_the_others_are_not_scored_again(
    folder: Path, expected: list[dict[str, object]], tmp_path: Path
) -> None:
    stream, bad = open_stream(folder, "key"), folder / "4.parquet"
    _ = stream.fingerprint
    content = bad.read_bytes()
    bad.write_bytes(content[:30] + bytes(400) + content[430:])
    with pytest.raises(DataError, match=r"4\.parquet cannot be read as a table.*Write it again as Parquet"):
        run(folder, tmp_path / "s.parquet", stream=stream)
    assert not (tmp_path / "s.parquet").exists()
    bad.write_bytes(content)
    again = Counting()
    run(folder, tmp_path / "s.parquet", again, stream=stream)
    assert again.n_rows == 200
    assert pq.read_table(tmp_path / "s.parquet").to_pylist() == expected


@pytest.mark.parametrize("limit", [0, 2000, 4000])  # no part, some parts but not the ranks, not the last file
def test_a_full_disk_is_named_and_the_command_goes_on(
    folder: Path, expected: list[dict[str, object]], tmp_path: Path, limit: int
) -> None:
    with (
        largest_file(limit),
        pytest.raises(SessionError, match=r"cannot be written to .*s\.parquet: .*File too large.*make room"),
    ):
        run(folder, tmp_path / "s.parquet")
    assert not (tmp_path / "s.parquet").exists()
    again = Counting()
    run(folder, tmp_path / "s.parquet", again)
    assert again.n_rows == (0 if limit else N_ROWS)
    assert pq.read_table(tmp_path / "s.parquet").to_pylist() == expected


def test_another_model_starts_afresh(folder: Path, tmp_path: Path) -> None:
    with largest_file(4000), pytest.raises(SessionError):
        run(folder, tmp_path / "s.parquet")
    other = Counting()
    run(folder, tmp_path / "s.parquet", other, "another")
    assert other.n_rows == N_ROWS


def test_a_folder_of_somebody_else_is_left_alone(folder: Path, tmp_path: Path) -> None:
    theirs = tmp_path / ".s.parquet.parts" / "thesis.txt"
    theirs.parent.mkdir()
    theirs.write_text("the only copy")
    with pytest.raises(SessionError, match=r"\.s\.parquet\.parts holds files that soel did not write"):
        run(folder, tmp_path / "s.parquet")
    assert theirs.read_text() == "the only copy"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make another's folder")
def test_parts_in_a_folder_of_another_account_are_not_believed(folder: Path, tmp_path: Path) -> None:
    planted = tmp_path / ".scores.csv.parts"
    planted.mkdir()
    os.chown(planted, 65534, 65534)
    with pytest.raises(NoPermissionError, match="belongs to another account"):
        run(folder, tmp_path / "scores.csv")


def test_a_score_that_is_no_number_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 3 of 0\.parquet is nan"):
        run(folder, tmp_path / "s.parquet", Broken())


@pytest.mark.parametrize("name", ["s.xls", "s.txt"])
def test_other_suffixes_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"\.xlsx, or as a folder without a suffix, got"):
        run(folder, tmp_path / name)


SLOW = """
import sys
from pathlib import Path
from tests.scoring.test_stream import Counting, run

run(Path(sys.argv[1]), Path(sys.argv[2]), Counting(pause=0.3))
"""


@pytest.fixture
def slow(folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has finished some parts of its scores, and not all."""
    roots = [str(Path(soel.__file__).parents[1]), str(Path(__file__).parents[2])]
    command = [sys.executable, "-c", SLOW, str(folder), str(tmp_path / "s.parquet")]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(roots)}) as process:
        until = time.monotonic() + 60
        while not (tmp_path / ".s.parquet.parts" / "part-000001.parquet").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        yield process
        process.kill()


def test_killed_in_the_middle_it_goes_on_after_the_last_finished_part(
    slow: subprocess.Popen[bytes], folder: Path, expected: list[dict[str, object]], tmp_path: Path
) -> None:
    slow.send_signal(signal.SIGKILL)
    assert slow.wait() == -signal.SIGKILL
    n_kept = len(list((tmp_path / ".s.parquet.parts").glob("part-*.parquet")))
    assert 2 <= n_kept < N_FILES
    assert not (tmp_path / "s.parquet").exists()
    again = Counting()
    run(folder, tmp_path / "s.parquet", again)
    assert again.n_rows == N_ROWS - 100 * n_kept
    assert pq.read_table(tmp_path / "s.parquet").to_pylist() == expected


def test_two_commands_do_not_write_the_same_scores(slow: subprocess.Popen[bytes], folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="Another command is writing"):
        run(folder, tmp_path / "s.parquet")


class Telling:
    """Explains rows by their ids, and remembers which."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def __call__(self, frame: Frame, features: Floats, ids: Sequence[str]) -> dict[str, list[object]]:
        assert frame.n_rows == len(features) == len(ids)
        self.ids += ids
        sums = features.sum(axis=1).tolist()
        return {"why": [f"because of {name}" for name in ids], "why_1_share": sums, "why_1_rank": [7] * len(ids)}


def explainer(telling: Telling, most: int = 8) -> RowReasons:
    count = lambda n_alarms, n_rows: min(max(n_alarms, 3), most, n_rows)  # noqa: E731 - as short as it gets
    return RowReasons(("why", "why_1_share", "why_1_rank"), telling, count)


@pytest.mark.parametrize(
    ("rule", "n_explained"), [("alarms=5", 5), ("alarms=0", 3), ("alarms=50", 8), ("contamination", 8)]
)
def test_the_most_anomalous_rows_are_explained_in_a_second_look(
    folder: Path, tmp_path: Path, rule: str, n_explained: int
) -> None:
    telling, out = Telling(), tmp_path / "scores.parquet"
    document = run(folder, out, rule=rule, beside=Beside(explainer=explainer(telling)))
    rows = pq.read_table(out).to_pylist()
    assert document["n_explained"] == n_explained == len(telling.ids)
    for row in rows:
        assert row["why"] == (f"because of {row['key']}" if row["rank"] <= n_explained else None)
        if row["why"]:
            assert round(row["why_1_share"], 1) == pytest.approx(row["score"], abs=1e-6)
    assert [row["why"] for row in document["top"]] == [row["why"] for row in rows[:10]]
    assert list(rows[0])[-3:] == ["why", "why_1_share", "why_1_rank"]


def test_reasons_come_before_the_rows_own_columns_and_into_a_folder_of_parts(folder: Path, tmp_path: Path) -> None:
    beside = Beside(with_columns=True, explainer=explainer(Telling()))
    run(folder, tmp_path / "scores", rule="alarms=4", beside=beside)
    tables = [pq.read_table(path) for path in sorted((tmp_path / "scores").glob("*.parquet"))]
    assert all(table.schema == tables[0].schema for table in tables)
    assert tables[0].column_names[-6:] == ["why", "why_1_share", "why_1_rank", "a", "b", "c"]
    assert tables[0].schema.field("why_1_rank").type == pa.int64()
