"""The endpoint is killed in each phase of its work: nothing that it acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from soel.cli.main import main
from soel.session.alarms import find_kept, open_rows
from soel.session.create import open_session
from tests.serve.conftest import HEADERS, serving

ROW = {"part": "killed", "width": -12.0, "height": 0.5, "shop": "north"}
DYING = """
import os, signal, sys
from soel.cli.main import main
from soel.serve import service, session_link
from soel.session import Session, alarms
import soel.session.feedback

where, when = {phase!r}

def dying(call):
    def made(*given, **named):
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        call(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)
    return made

if where == "alarm":
    session_link.keep_served = dying(session_link.keep_served)
elif where == "line":  # a part of it has reached the disk
    def unfinished(file):
        with os.fdopen(os.dup(file), "r+b") as copy:
            copy.truncate(copy.seek(0, os.SEEK_END) // 2)
        os.kill(os.getpid(), signal.SIGKILL)
    alarms.os.fsync = unfinished
elif where == "answer":
    Session.take_in = dying(Session.take_in)
else:  # the second load is that of the newer model
    first, service.Looking.__init__.__defaults__ = [service.load_newest], (0.2,)
    service.load_newest = lambda *given: (first.pop() if first else dying(type(given)))(*given)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def place(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "work"))


def score(address: str) -> Any:
    return httpx.post(f"{address}/v1/score", json={"rows": [ROW]}, headers=HEADERS, timeout=60).json()["rows"][0]


def say(address: str) -> Any:
    said = {"id": "killed", "label": "anomaly"}
    return httpx.post(f"{address}/v1/feedback", json=said, headers=HEADERS, timeout=60).json()


def begin(place: Path, *phase: str) -> Any:
    return serving(place, "-c", DYING.format(phase=phase))


def check(place: Path, n_stored: int) -> None:
    """The endpoint that begins after a kill does all of it, and the answer is there once."""
    with serving(place) as (address, process):
        assert score(address)["alarm"]
        assert say(address)["stored"] == n_stored
        process.kill()
    session = open_session(place)
    assert session.state.labels["killed"] == 1
    assert [event.item for event in session.events if event.kind == "label"].count("killed") == 1
    (kept,) = find_kept(session.folder, session.state, ["killed"], ["cells"]).values()
    assert json.loads(kept["cells"])["width"] == "-12"
    assert open_rows(session.folder, session.state, []) == []
    session.close()
    assert main(["fit", str(place)]) == 0
    assert "killed" in open_session(place).ids


@pytest.mark.parametrize("phase", [("alarm", "before"), ("line", ""), ("alarm", "after")])
def test_killed_while_an_alarm_is_kept(place: Path, phase: tuple[str, str]) -> None:
    with begin(place, *phase) as (address, process):
        with pytest.raises(httpx.TransportError):
            score(address)
        assert process.wait(30) == -signal.SIGKILL
    check(place, 1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_while_an_answer_is_stored(place: Path, when: str) -> None:
    with begin(place, "answer", when) as (address, process):
        assert score(address)["alarm"]
        with pytest.raises(httpx.TransportError):
            say(address)
        assert process.wait(30) == -signal.SIGKILL
    check(place, 1 if when == "before" else 0)


def test_killed_while_a_newer_model_is_loaded(place: Path) -> None:
    with begin(place, "load", "before") as (address, process):
        assert score(address)["alarm"]
        assert say(address)["stored"] == 1  # acknowledged
        assert main(["tell", str(place), "p60=normal"]) == 0
        assert main(["fit", str(place)]) == 0
        assert process.wait(30) == -signal.SIGKILL
    session = open_session(place)
    assert session.state.labels["killed"] == 1
    assert "killed" in session.ids
    newest = session.state.fit
    assert newest is not None
    with serving(place) as (address, _):
        document = httpx.get(f"{address}/v1/model", headers=HEADERS).json()
        assert document["version"] == newest.model.fingerprint
        assert httpx.get(f"{address}/health/ready").status_code == 200


def test_what_was_acknowledged_survives_a_kill_at_rest(place: Path) -> None:
    with serving(place) as (address, process):
        assert score(address)["alarm"]
        assert say(address)["stored"] == 1
        process.kill()
    check(place, 0)
