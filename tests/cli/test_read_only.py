"""`soel label` where nothing can be written: a session is there to look at, and the words say why it takes nothing."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from soel.session import SessionOptions, create
from tests.cli.conftest import Run, write_table
from tests.disks import small_disk
from tests.session.fake_learner import use_fake_learner

WORDS = {"mount": "the disk is read-only", "folder": "this account may not"}
Closed = tuple[Path, str]  # the folder, and why it takes nothing
COMMAND = [sys.executable, "-m", "soel.cli.main", "label", "--no-browser"]


@pytest.fixture(params=["mount", "folder"])
def closed_session(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Closed]:
    """A session with three labels and an open question, on a disk or in a folder that takes nothing."""
    with monkeypatch.context() as patch:
        use_fake_learner(patch)
        table = write_table(tmp_path / "table.csv")
        options = SessionOptions(id_column="name", label_column="truth", budget=8)
        with closing(create.create_session(tmp_path / "made", table, options)) as session:
            asked = session.ask(4).items
            session.tell(dict.fromkeys(asked[:3], "normal"), "expert")
    place = tmp_path / "closed"
    if request.param == "mount":
        with small_disk(place) as disk:
            shutil.copytree(tmp_path / "made", place / "session")
            shutil.copy(table, place / "table.csv")
            disk.make_read_only()
            yield place, WORDS["mount"]
        return
    place.mkdir()
    shutil.copytree(tmp_path / "made", place / "session")
    shutil.copy(table, place / "table.csv")
    if shutil.which("chattr") is None or subprocess.run(["chattr", "-R", "+i", place], capture_output=True).returncode:
        subprocess.run(["chattr", "-R", "-i", place], capture_output=True, check=False)
        pytest.skip("a folder cannot be made unchangeable here")
    try:
        yield place, WORDS["folder"]
    finally:
        subprocess.run(["chattr", "-R", "-i", place], check=True)


def test_the_page_of_a_closed_session_can_be_looked_at(closed_session: Closed) -> None:
    place, why = closed_session
    look_at_page(place / "session", why)


@pytest.mark.parametrize("state", ["read-only", "full"])
def test_the_page_comes_up_where_work_is_due_and_cannot_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    with monkeypatch.context() as patch:
        use_fake_learner(patch)
        options = SessionOptions(id_column="name", label_column="truth", budget=8)
        table = write_table(tmp_path / "table.csv")
        with closing(create.create_session(tmp_path / "made", table, options)) as session:
            session.tell(dict.fromkeys(session.ask(3).items, "normal"), "expert")
    with small_disk(tmp_path / "closed") as disk:
        shutil.copytree(tmp_path / "made", disk.path / "session")
        if state == "full":
            disk.fill()
        else:
            disk.make_read_only()
        look_at_page(disk.path / "session", f"the disk is {state}")


def look_at_page(folder: Path, why: str) -> None:
    with subprocess.Popen([*COMMAND, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            first = process.stdout.readline().decode()
            link = re.search(r"http://\S+", first)
            assert link is not None, first + process.stderr.read().decode()
            look(link[0], why)
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert b"bug" not in errors


def look(link: str, why: str) -> None:
    base, _, key = link.partition("/enter?key=")
    with httpx.Client(base_url=base, headers={"origin": base}, timeout=60) as client:
        assert client.post("/enter", data={"key": key}).status_code == 303
        for path in ("/", "/items", "/review", "/team"):
            assert client.get(path).status_code == 200
        status = client.get("/api/status").json()
        assert why in status["storage_problem"]
        assert status["n_labels"] == 3
        item = client.get("/api/items").json()["items"][0]["item"]
        refused = client.post("/api/answers", json={"item": item, "verdict": "normal"})
        assert 400 <= refused.status_code < 600
        assert why in refused.json()["error"]
        labels = client.get("/api/labels.csv")
        assert labels.status_code == 200
        assert labels.text.count("normal") == 3
        assert client.get("/api/status").json()["n_labels"] == 3


def test_verbs_that_read_work_and_those_that_write_say_why_not(
    closed_session: Closed, run: Run, tmp_path: Path
) -> None:
    place, why = closed_session
    said = run("status", place / "session", "--json")
    assert said.code == 0
    assert json.loads(said.out)["n_labels"] == 3
    assert run("export", place / "session", "--out", tmp_path / "labels.csv").code == 0
    assert (tmp_path / "labels.csv").read_text().count("normal") == 3
    refused = run("undo", place / "session")
    assert refused.code == 2
    assert why in refused.err


def test_a_new_session_is_refused_in_one_line(closed_session: Closed, run: Run) -> None:
    place, why = closed_session
    said = run("label", place / "table.csv", "--no-browser")
    assert (said.code, said.out) == (2, "")
    assert why in said.err
    assert str(place) in said.err
    assert said.err.count("\n") == 1
