"""A session made in a process of its own: what is said of it, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from soel.errors import ConfigError, DataError, NoPermissionError, SchemaError, SessionError
from soel.files import mark
from soel.images.picture_pool import MediaOptions
from soel.images.source import Reading
from soel.session import SessionFolder, SessionOptions, request, worker
from soel.session.request import Creation, Request, session_folder
from soel.session.worker import JobStatus


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("name,width\n" + "".join(f"i{n},{n}\n" for n in range(12)))
    return path


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Processes that sleep in place of those that work."""
    launch, started = worker.launch, list[subprocess.Popen[bytes]]()

    def sleep(*given: Any) -> subprocess.Popen[bytes]:
        started.append(launch(*given))
        return started[-1]

    monkeypatch.setattr(worker, "MODULE", "tests.session.jobs.sleeper")
    monkeypatch.setattr(worker, "launch", sleep)
    return started


def carry_out(creation: Creation, **options: Any) -> int:
    """Do in this process what the other one does."""
    creation.place.mkdir(exist_ok=True)
    mark(creation.place)
    request = Request(creation.folder, creation.data, SessionOptions(**options))
    return worker.run(creation.place, worker.CREATE, request.to_text(), None)


def test_the_session_is_there_when_it_is_done(table: Path) -> None:
    creation = Creation(table)
    assert not creation.is_done
    assert carry_out(creation, id_column="name", budget=3) == 0
    assert creation.is_done
    assert not creation.progress().running
    assert SessionFolder(creation.folder).config.budget == 3
    assert session_folder(creation.folder) == session_folder(Path(f"{table}/")) == creation.folder


def test_a_failure_is_in_words_and_leaves_no_session(table: Path) -> None:
    creation = Creation(table)
    assert carry_out(creation, id_column="nome") == 1
    assert "nome" in creation.progress().error
    assert not creation.folder.exists()
    creation.stop()
    assert not creation.place.exists()


def test_the_parts_follow_one_another(table: Path) -> None:
    place = SessionFolder(table.parent)
    part = worker.Reporter(place.path, "extract", "write")
    part(1, 2)
    assert JobStatus(**json.loads(place.progress.read_text())) == JobStatus("extract", True, 1, 2)
    part(2, 2)
    assert JobStatus(**json.loads(place.progress.read_text())) == JobStatus("write", True)


def test_one_process_makes_it_and_only_who_began_it_ends_it(
    table: Path, sleeping: list[subprocess.Popen[bytes]]
) -> None:
    first, second = Creation(table), Creation(table)
    first.start()
    second.start()
    assert len(sleeping) == 1, "the second one joins"
    second.stop()
    assert second.progress() == JobStatus("create", True)
    first.stop()
    until = time.monotonic() + 60
    while second.progress().running:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert second.progress().error == worker.DIED
    second.start()
    assert len(sleeping) == 2, "it can be begun again"
    os.kill(sleeping[1].pid, signal.SIGKILL)


def test_what_a_killed_process_left_half_written_is_cleared(table: Path) -> None:
    creation = Creation(table)
    half, backup = table.with_name(".table.csv.soel-0123abcd"), table.with_name(".table.csv.soel-backup")
    other = table.with_name(".table.csv.soel-89abcdef")
    for folder in (half, backup, other):
        folder.mkdir()
        (folder / "source.csv").write_text("name,wid")
    mark(half)
    assert carry_out(creation, id_column="name", budget=3) == 0
    assert creation.is_done
    assert not half.exists()
    assert backup.exists(), "a folder without our mark is somebody's own"
    assert other.exists(), "whatever its name"


def test_a_folder_of_the_user_in_its_place_is_left_alone(table: Path) -> None:
    creation = Creation(table)
    creation.place.mkdir()
    (creation.place / "own.txt").write_text("mine")
    with pytest.raises(NoPermissionError, match="holds other files; move it away"):
        creation.make_place()
    creation.clear()
    assert (creation.place / "own.txt").read_text() == "mine"


def test_an_order_travels_whole() -> None:
    media = MediaOptions("net.onnx", Reading(5, 12.5, True, 9), "file", "good", Path("known.csv"))
    request = Request(Path("/a.soel"), Path("/a"), SessionOptions(budget=3, id_column="ü'"), media)
    assert Request.from_text(request.to_text()) == request


LARGE = "name,width\n" + "".join(f"i{n},{n}\n" for n in range(500_000))


@pytest.mark.parametrize("text", ["name,width\na,1\nb,2\n", LARGE], ids=["small", "large"])
def test_a_column_that_is_missing_is_known_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(SchemaError, match=r"t\.csv has no column 'nome'. Choose among its columns: name, width"):
        Creation(tmp_path / "t.csv", SessionOptions(id_column="nome")).check()
    Creation(tmp_path / "t.csv", SessionOptions(id_column="name", budget=2)).check()


def test_a_column_of_a_large_parquet_file_is_looked_up_in_its_footer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(pyarrow.table({"name": ["a", "b"], "width": [1.0, 2.0]}), tmp_path / "t.parquet")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 and nothing else")
    monkeypatch.setattr(request, "SMALL", 1)
    Creation(tmp_path / "t.parquet", SessionOptions(id_column="name")).check()
    with pytest.raises(SchemaError, match="no column 'nome'"):
        Creation(tmp_path / "t.parquet", SessionOptions(id_column="nome")).check()
    with pytest.raises(DataError, match=r"no\.parquet cannot be read"):
        Creation(tmp_path / "no.parquet").check()


def test_pictures_are_looked_at_before_they_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    with pytest.raises(DataError, match="holds neither pictures nor clips"):
        Creation(folder).check()
    (folder / "a.png").write_bytes(b"whatever it holds is seen later")
    Creation(folder).check()
    for extractor, words in (("nobody", "no extractor called 'nobody'"), ("no.onnx", "no network no.onnx")):
        with pytest.raises((ConfigError, DataError), match=words):
            Creation(folder, media=MediaOptions(extractor)).check()
    with pytest.raises(DataError, match=r"a\.png \(it is not a picture"):
        Creation(folder / "a.png").check()


def test_a_name_that_is_taken_is_known_at_once(table: Path) -> None:
    Creation(table, SessionOptions(budget=12)).check()
    table.with_name("table.csv.soel").mkdir()
    (table.with_name("table.csv.soel") / "mine.txt").write_text("not a session")
    with pytest.raises(SessionError, match="is no session and not empty"):
        Creation(table).check()


def test_data_that_are_not_there_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.csv does not exist"):
        Creation(tmp_path / "nothing.csv")
    assert list(tmp_path.iterdir()) == []
