"""Steps in a process of their own: they go on, they say how far they are, and killing them loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest

from soel.errors import ConfigError, SessionError, StorageError
from soel.session import Session, SessionOptions, create, worker
from soel.session.request import Creation
from soel.session.worker import Background, JobStatus, progress
from tests.disks import small_disk
from tests.session.jobs.waiting import wait_for
from tests.table_session import Make


def quiet(session: Session) -> bool:
    found = progress(session.folder.path)
    return found is None or not found.running


@pytest.fixture
def sleeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that never ends, quick to start."""
    monkeypatch.setattr(worker, "MODULE", "tests.session.jobs.sleeper")


def test_a_real_round_a_killed_fit_and_a_finished_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make(profile="paper", budget=6)
    log = session.folder.path / worker.LOG
    monkeypatch.setenv("PYTHONPATH", str(Path(worker.__file__).parents[2]))
    work = Background(session.folder.path)
    assert work.progress() is None
    work.start("ask")
    found = work.progress()
    assert found is not None
    assert (found.what, found.running) == ("ask", True)
    wait_for(lambda: quiet(session))
    assert work.progress() is None, log.read_text()
    assert len(session.state.open) == 6, "the whole budget is one round"
    session.tell(dict.fromkeys(session.state.open, "normal"))
    process = Background(session.folder.path).start("fit")
    wait_for(lambda: session.state.estimate is not None)  # stored when the training begins
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: quiet(session))
    assert len(session.state.labels) == 6, "killing the training loses no label"
    work.start("fit")
    wait_for(lambda: quiet(session))
    assert work.progress() is None, log.read_text()
    assert session.state.fit_is_current
    assert session.stopping_advice() is not None


@pytest.mark.usefixtures("sleeper")
def test_one_step_at_a_time_and_a_killed_one_is_noticed(make: Make) -> None:
    session = make()
    folder = session.folder.path
    process = Background(folder).start("fit")
    assert progress(folder) == JobStatus("fit", True)
    with pytest.raises(SessionError, match="at work on this session already"):
        Background(folder).start("ask")
    os.kill(process, signal.SIGKILL)
    wait_for(lambda: quiet(session))
    assert progress(folder) == JobStatus("fit", False, error=worker.DIED)
    again = Background(folder).start("fit")
    assert progress(folder) == JobStatus("fit", True)
    os.kill(again, signal.SIGKILL)
    wait_for(lambda: quiet(session))


def test_a_copied_folder_is_not_taken_for_a_running_one(make: Make) -> None:
    session = make()
    worker.write_progress(session.folder.path, JobStatus("fit", True, 3, 10))
    assert progress(session.folder.path) == JobStatus("fit", False, 3, 10, worker.DIED)
    session.folder.progress.write_text("{")
    assert progress(session.folder.path) is None


def test_the_task_says_how_far_it_is_and_how_it_ended(make: Make) -> None:
    session = make()
    place = session.folder
    assert worker.run(place.path, "ask", '{"n": 3}', None) == 0
    assert len(session.state.open) == 3
    assert json.loads(place.progress.read_text()) == {
        "what": "ask",
        "running": False,
        "done": 0,
        "total": 0,
        "error": "",
    }
    report = worker.Reporter(place.path, "fit")
    report(1, 10)
    report(2, 10)  # too soon after the first
    assert json.loads(place.progress.read_text())["done"] == 1
    report(10, 10)
    assert json.loads(place.progress.read_text())["done"] == 10


def test_a_step_that_fails_says_why(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make(budget=3)
    session.tell({"=n1": "normal", "=n2": "normal", "=n3": "normal"})
    assert worker.run(session.folder.path, "ask", '{"n": null}', None) == 1
    found = progress(session.folder.path)
    assert found is not None
    assert "budget of 3 labels is used up" in found.error

    def fail(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(Session, "fit", fail)
    assert worker.run(session.folder.path, "fit", '{"n": null}', None) == 1
    found = progress(session.folder.path)
    assert found is not None
    assert found.error == "This is a bug: RuntimeError: out of luck."


def test_unknown_steps_and_folders_are_refused(make: Make, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Use one of: ask, check, unsure, fit"):
        Background(make().folder.path).start("dance")
    with pytest.raises(SessionError, match="not a session folder"):
        Background(tmp_path).start("fit")


def test_a_check_and_what_is_not_sure_are_drawn_within_the_budget(make: Make) -> None:
    session = make(budget=9)
    session.tell(dict.fromkeys(session.ask(4).items, "normal"))
    session.fit()
    report = worker.Reporter(session.folder.path, "check")
    worker.take_step(session, "check", {"n": 3}, report)
    assert (len(session.state.open), session.state.rounds[-1].strategy) == (3, "spot-check")
    session.tell(dict.fromkeys(session.state.open, "normal"))
    worker.take_step(session, "unsure", {"n": 5}, report)
    assert len(session.state.open) == 2, "no more than the budget leaves"
    assert session.state.rounds[-1].options["not_sure"]


@pytest.mark.parametrize("state", ["read-only", "full"])
def test_a_disk_that_takes_nothing_is_named_to_who_starts_a_step(make: Make, tmp_path: Path, state: str) -> None:
    session = make(profile="paper", budget=6)
    with small_disk(tmp_path / "disk") as disk:
        shutil.copytree(session.folder.path, disk.path / "session")
        if state == "full":
            disk.fill()
        else:
            disk.make_read_only()
        with pytest.raises(StorageError, match=f"cannot be written: the disk is {state}"):
            Background(disk.path / "session").start("ask")


def test_a_session_below_a_folder_whose_name_is_no_text_is_made_asked_and_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / os.fsdecode(b"na\xefve")
    try:
        place.mkdir()
    except OSError:
        pytest.skip("this disk takes no such name")
    monkeypatch.setenv("PYTHONPATH", str(Path(worker.__file__).parents[2]))
    (place / "table.csv").write_text("name,width\n" + "".join(f"i{n},{n * n}\n" for n in range(40)))
    creation = Creation(place / "table.csv", SessionOptions(id_column="name", budget=6))
    creation.start()
    wait_for(lambda: creation.is_done and not creation.progress().running)
    with closing(create.open_session(creation.folder)) as session:
        Background(creation.folder).start("ask")
        wait_for(lambda: quiet(session))
        session.tell(dict.fromkeys(session.state.open, "normal"))
        Background(creation.folder).start("fit")
        wait_for(lambda: quiet(session))
        assert session.state.fit_is_current, (creation.folder / worker.LOG).read_text()
