"""The process that follows answers: better questions while people label, and nothing lost when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from soel.files import take_lock
from soel.session import Session, worker
from soel.session.worker import Refiner, Refining
from tests.session.fake_learner import FakeLearner
from tests.session.jobs.waiting import wait_for
from tests.table_session import Make

SOURCES = str(Path(worker.__file__).parents[2])


def n_refines(session: Session) -> int:
    return len(session.state.rounds[0].refines)


def answer(session: Session) -> str:
    (item,) = session.next_items("expert")
    session.tell({item: "normal"})
    return item


def test_each_answer_is_heard_once(make: Make) -> None:
    session = make(goal="find", budget=6)
    session.ask(6)
    refiner = Refiner(session)
    assert not refiner.look(), "nothing was said"
    answer(session)
    assert refiner.look()
    assert not refiner.look(), "nothing was said since"
    assert n_refines(session) == 1


def test_new_questions_are_explained_when_nobody_waits_for_a_better_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, explained = make(goal="find", budget=6), list[tuple[str, ...]]()
    monkeypatch.setattr("soel.report.reasons.keep_reasons", lambda heard: explained.append(heard.state.open))
    session.ask(6)
    refiner = Refiner(session)
    refiner.look()
    assert explained == [], "they were when the round was drawn"
    answer(session)
    assert refiner.look()
    assert explained == [], "first the question"
    refiner.look()
    refiner.look()
    assert explained == [session.state.open], "once"


def test_it_waits_while_other_work_runs(make: Make) -> None:
    session = make(goal="find", budget=6)
    session.ask(6)
    answer(session)
    refiner, work = Refiner(session), take_lock(session.folder.path / worker.LOCK)
    assert work is not None
    assert not refiner.look()
    work.release()
    assert refiner.look()


def test_what_goes_wrong_leaves_the_round_as_it_was(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_options: object) -> None:
        raise MemoryError

    session = make(goal="find", budget=6)
    session.ask(6)
    answer(session)
    before, refiner = session.state.open, Refiner(session)
    monkeypatch.setattr(FakeLearner, "propose", fail)
    assert not refiner.look()
    assert session.state.open == before
    monkeypatch.undo()
    answer(session)
    assert refiner.look(), "the next answer is heard again"


def test_a_real_process_is_sequential_and_killing_it_loses_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    session = make(goal="find", budget=8)
    ask = [sys.executable, "-c", "import sys; from soel.cli.main import main; sys.exit(main(sys.argv[1:]))"]
    subprocess.run([*ask, "ask", str(session.folder.path), "-n", "8"], check=True, stdout=subprocess.DEVNULL)
    heard = Refining(session.folder.path)
    pid, asked = heard.start(), []
    for _ in range(3):  # one of these surprises it
        asked.append(answer(session))
        time.sleep(1)
    wait_for(lambda: n_refines(session))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: _pid(heard) != pid)
    follower = _pid(heard)
    heard.stop()
    assert not _lives(follower)
    while session.state.open:
        asked.append(answer(session))
    assert len(set(asked)) == len(session.state.labels) == 8


def test_it_dies_with_its_server(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    session = make(goal="find", budget=6)
    script = (
        "import sys, time; from pathlib import Path; from soel.session.worker import Refining;"
        "print(Refining(Path(sys.argv[1])).start(), flush=True); time.sleep(600)"
    )
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    server = subprocess.Popen([sys.executable, "-c", script, session.folder.path], stdout=subprocess.PIPE)
    assert server.stdout is not None
    with server.stdout as said:
        pid = int(said.readline())
    os.kill(pid, 0)
    server.kill()
    server.wait()
    wait_for(lambda: not _lives(pid))


def test_stop_without_a_start_does_nothing(tmp_path: Path) -> None:
    worker.Refining(tmp_path).stop()


def _pid(heard: Refining) -> int:
    assert heard._process is not None
    return heard._process.pid


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
