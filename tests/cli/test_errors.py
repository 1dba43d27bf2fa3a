from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from soel.session import Session, create
from soel.tables.rows import write_rows
from tests.cli.conftest import Run, fill

INIT_ERRORS = [
    (["--budget", "0"], "at least one label, got 0"),
    (["--budget", "41"], "41 labels but the data has 40 items"),
    (["--budget", "many"], "invalid int value: 'many'"),
    (["--seed", "-1"], "must not be negative"),
    (["--profile", "nobody"], "no profile called 'nobody'"),
    (["--strategy", "best"], "no strategy called 'best'. Choose one of: "),
    (["--strategy", "random", "--goal", "find"], "a strategy of its own"),
    (["--engine", "cloud"], "--engine is local, ray or ray:HOST:PORT, got 'cloud'"),
    (["--workers", "2"], "say --engine ray"),
    (["--threshold", "sometimes"], "'sometimes' is not a threshold rule"),
    (["--contamination", "0.9"], "between 0 and 0.5"),
    (["--id-column", "nothing"], "no column 'nothing'"),
    (["--label-column", "nothing"], "no column 'nothing'"),
]


def stored(folder: Path) -> int:
    session = create.open_session(folder)
    n_answers = len(session.state.answers)
    session.close()
    return n_answers


@pytest.mark.parametrize(("options", "message"), INIT_ERRORS)
def test_a_session_that_cannot_start_leaves_no_folder(
    run: Run, table: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    said = run("init", tmp_path / "s", "--data", table, *options)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("soel: ")
    assert message in said.err
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == [table]


def test_a_missing_table_is_named(run: Run, tmp_path: Path) -> None:
    said = run("init", tmp_path / "s", "--data", tmp_path / "nothing.csv")
    assert said.code == 2
    assert "nothing.csv does not exist" in said.err


def test_a_session_is_never_started_over(run: Run, folder: Path, table: Path, tmp_path: Path) -> None:
    run("tell", folder, "=n1=anomaly")
    assert "is a session already" in run("init", folder, "--data", table).err
    assert "not empty" in run("init", tmp_path, "--data", table).err
    assert stored(folder) == 1


@pytest.mark.parametrize("verb", ["ask", "undo", "fit", "score", "report", "status"])
def test_a_folder_that_is_no_session(run: Run, tmp_path: Path, verb: str) -> None:
    said = run(verb, tmp_path)
    assert said.code == 2
    assert "not a session folder" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_lost_database_is_not_replaced_by_an_empty_one(run: Run, folder: Path) -> None:
    (folder / "events.sqlite").unlink()
    said = run("status", folder)
    assert said.code == 2
    assert "is missing, and with it every answer" in said.err


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (["nobody=anomaly"], "no item 'nobody'"),
        (["=n1=anomaly", "=n2=perhaps"], "'perhaps' is not an answer"),
        (["=n1=anomaly", "what"], "'what' is not an answer"),
        (["=n1=anomaly", "=n1=normal"], "at once"),
        (["nowhere.csv"], "nowhere.csv"),
    ],
)
def test_bad_answers_are_refused_whole(run: Run, folder: Path, answers: list[str], message: str) -> None:
    said = run("tell", folder, *answers)
    assert said.code == 2
    assert message in said.err
    assert stored(folder) == 0


def test_a_sheet_with_one_bad_row_is_refused_whole(run: Run, folder: Path) -> None:
    sheet = Path(run("ask", folder, "-n", 4, "--json").document["out"])
    fill(sheet, ["anomaly", "perhaps", "normal", "2"])
    said = run("tell", folder, sheet)
    assert said.code == 2
    assert "row 3" in said.err
    assert "row 5" in said.err
    assert stored(folder) == 0


def test_a_sheet_of_another_session_is_refused_with_both_names(
    run: Run, folder: Path, table: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run("init", other, "--data", table, "--id-column", "name")
    sheet = run("ask", other, "-n", 2, "--json").document
    fill(Path(sheet["out"]), ["anomaly", "normal"])
    said = run("tell", folder, sheet["out"])
    mine = run("status", folder, "--json").document["session"]
    assert said.code == 2
    assert sheet["session"] in said.err
    assert mine in said.err
    assert stored(folder) == 0


def test_a_table_that_is_no_sheet_is_refused(run: Run, folder: Path, table: Path) -> None:
    said = run("tell", folder, table)
    assert said.code == 2
    assert "lacks the column item, session" in said.err


def test_scoring_before_the_first_fit(run: Run, folder: Path) -> None:
    assert "fit before scoring" in run("score", folder).err


def test_scoring_other_columns_and_formats(run: Run, folder: Path, tmp_path: Path) -> None:
    run("fit", folder)
    other = tmp_path / "other.csv"
    write_rows(other, ["name", "width", "depth"], [["a", 1.0, 2.0], ["b", 2.0, 1.0]])
    said = run("score", folder, "--data", other)
    assert said.code == 2
    assert "yet now missing:\n- height" in said.err
    assert ".csv, .parquet, .json, .xlsx, got" in run("score", folder, "--out", tmp_path / "scores.ods").err
    assert "not a threshold rule" in run("score", folder, "--threshold", "often").err


def test_a_changed_source_is_refused(run: Run, folder: Path) -> None:
    source = folder / "source.csv"
    source.write_text(source.read_text().replace("width", "breadth"))
    assert "is not what it was when the session" in run("ask", folder).err


@pytest.mark.parametrize("words", [["status", "nowhere"], ["conjure"], ["ask"]])
def test_an_error_with_json_is_one_document(run: Run, words: list[str]) -> None:
    said = run(*words, "--json")
    assert said.code == 2
    assert said.err == f"soel: {json.loads(said.out)['error']}\n"


def test_traces_are_for_debug_only(run: Run, tmp_path: Path) -> None:
    assert "Traceback" not in run("status", tmp_path).err
    assert "Traceback" in run("status", tmp_path, "--debug").err


def test_a_bug_says_that_it_is_one(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(session: Session) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(Session, "status", fail)
    said = run("status", folder)
    assert said.code == 1
    assert said.err.startswith("soel: this is a bug: ZeroDivisionError: oh.")


def test_too_little_memory_is_no_bug(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(session: Session) -> None:
        raise MemoryError("malloc of size 9 failed")

    monkeypatch.setattr(Session, "status", fail)
    said = run("status", folder)
    assert (said.code, said.err) == (
        2,
        "soel: this takes more memory than there is (malloc of size 9 failed). Give fewer rows or columns.\n",
    )


def test_an_interrupt_ends_quietly(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(session: Session) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "status", stop)
    assert run("status", folder).code == 130


def test_a_reader_that_leaves_early_is_no_error() -> None:
    line = f"{sys.executable} -m soel.cli.main reproduce --list | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_name_in_a_reply_is_obeyed_by_no_terminal(run: Run, table: Path, tmp_path: Path) -> None:
    odd = table.rename(table.with_name("t\x1b[2J.csv"))
    assert run("init", tmp_path / "s", "--data", odd, "--id-column", "name").code == 0
    said = run("status", tmp_path / "s")
    assert "\x1b" not in said.out
    assert r"t\x1b[2J.csv" in said.out
