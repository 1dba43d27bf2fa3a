"""A session made in a process of its own: what is said of it, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from soel.api import background, creation_task
from soel.api.background import Progress
from soel.api.creation import Creation, session_folder
from soel.errors import DataError
from soel.session import SessionFolder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("name,width\n" + "".join(f"i{n},{n}\n" for n in range(12)))
    return path


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Processes that sleep in place of those that work."""
    launch, started = background._launch, []

    def sleep(_command: list[str], *rest: object) -> subprocess.Popen[bytes]:
        started.append(launch(["sleep", "60"], *rest))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(background, "_launch", sleep)
    return started


def carry_out(creation: Creation, **options: object) -> int:
    """Do in this process what the other one does."""
    creation.place.mkdir(exist_ok=True)
    order = {"folder": str(creation.folder), "data": str(creation.data), "options": options}
    return creation_task.main([str(creation.place), json.dumps(order), "", ""])


def test_the_session_is_there_when_it_is_done(table: Path) -> None:
    creation = Creation(table, {})
    assert not creation.is_done
    assert carry_out(creation, id_column="name", budget=3) == 0
    assert creation.is_done
    assert not creation.progress().running
    assert SessionFolder(creation.folder).config.budget == 3
    assert session_folder(creation.folder) == session_folder(Path(f"{table}/")) == creation.folder


def test_a_failure_is_in_words_and_leaves_no_session(table: Path) -> None:
    creation = Creation(table, {})
    assert carry_out(creation, id_column="nome") == 1
    assert "nome" in creation.progress().error
    assert not creation.folder.exists()
    creation.stop()
    assert not creation.place.exists()


def test_the_parts_follow_one_another(table: Path) -> None:
    place = SessionFolder(table.parent)
    part = creation_task.Part(place, "extract", "write")
    part(1, 2)
    assert Progress(**json.loads(place.progress.read_text())) == Progress("extract", True, 1, 2)
    part(2, 2)
    assert Progress(**json.loads(place.progress.read_text())) == Progress("write", True)


def test_one_process_makes_it_and_only_who_began_it_ends_it(
    table: Path, sleeping: list[subprocess.Popen[bytes]]
) -> None:
    first, second = Creation(table, {}), Creation(table, {})
    first.start()
    second.start()
    assert len(sleeping) == 1, "the second one joins"
    second.stop()
    assert second.progress() == Progress("create", True)
    first.stop()
    until = time.monotonic() + 10
    while second.progress().running:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert second.progress().error == background.DIED
    second.start()
    assert len(sleeping) == 2, "it can be begun again"
    os.kill(sleeping[1].pid, signal.SIGKILL)


def test_data_that_are_not_there_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.csv does not exist"):
        Creation(tmp_path / "nothing.csv", {})
    assert list(tmp_path.iterdir()) == []
