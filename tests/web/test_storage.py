"""A disk that is full or cannot be written to: the page is there to look at, and says so."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from soel.errors import DiskFullError, NoPermissionError, SessionError
from soel.files import is_marked, mark, private_folder, write_whole
from soel.session.request import Creation
from soel.web import view_model
from soel.web.auth import FILE, Auth, User
from soel.web.launch import open_auth
from soel.web.view_model import SECONDS, Storage
from tests.web.conftest import Page

FULL = "events.sqlite cannot be written: the disk is full. Free some space and try again."


def refuse(*_: object, **__: object) -> None:
    raise DiskFullError(FULL)


def test_the_page_can_be_looked_at_and_says_why_nothing_is_stored(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    page.view_model._storage._tried = -SECONDS
    monkeypatch.setattr(view_model, "write_whole", refuse)
    monkeypatch.setattr(page.view_model.session._store, "append", refuse)
    status = page.get("/api/status")
    assert status["storage_problem"] == FULL
    assert page.get("/api/item", id=status["open"][0])["fields"]
    for path in ("/", "/review", "/team", "/results"):
        assert page.client.get(path).status_code == 200
    said = page.post("/api/answers", 507, item=status["open"][0], verdict="normal")
    assert said == {"error": f"{FULL} Nothing was stored."}


def test_a_disk_with_room_again_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    disk = Storage(tmp_path, lambda: now)
    with monkeypatch.context() as patch:
        patch.setattr(view_model, "write_whole", refuse)
        assert disk.problem() == FULL
    assert disk.problem() == FULL, "not asked again at once"
    now = SECONDS
    assert disk.problem() == ""
    assert list(tmp_path.iterdir()) == []


def test_requests_at_the_same_moment_try_one_after_the_other(tmp_path: Path) -> None:
    disk, started = Storage(tmp_path, lambda: 0.0), threading.Barrier(8)

    def look(_: int) -> str:
        started.wait()
        return disk.problem()

    for _ in range(20):
        disk._tried = -SECONDS
        with ThreadPoolExecutor(8) as people:
            assert set(people.map(look, range(8))) == {""}


def test_another_server_of_the_session_may_try_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_and_lose(path: Path, *given: Any, **options: Any) -> None:
        write_whole(path, *given, **options)
        path.unlink()

    monkeypatch.setattr(view_model, "write_whole", write_and_lose)
    assert Storage(tmp_path).problem() == ""


@pytest.fixture
def creation(tmp_path: Path) -> Creation:
    (tmp_path / "d.csv").write_text("a\n1\n2\n")
    made = Creation(tmp_path / "d.csv")
    made.folder.mkdir()
    return made


def plant(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    Auth(folder).remember_port(666)


def test_a_planted_page_json_is_not_believed(creation: Creation) -> None:
    plant(creation.place)
    assert not is_marked(creation.place)
    assert open_auth(creation).port == 0, "a folder without our mark is nobody's word"


def test_what_a_server_left_in_its_own_folder_is_taken_over(creation: Creation) -> None:
    private_folder(creation.place)
    mark(creation.place)
    left = Auth(creation.place)
    cookie = left.sign_in(left.new_key(User("expert", "owner")))
    assert cookie is not None
    assert open_auth(creation).user_of(cookie) == User("expert", "owner")
    assert not creation.place.exists()


def test_a_page_json_that_others_could_read_is_refused_there_too(creation: Creation) -> None:
    private_folder(creation.place)
    mark(creation.place)
    plant(creation.place)
    (creation.place / FILE).chmod(0o644)
    with pytest.raises(SessionError, match="can be read by other accounts"):
        open_auth(creation)


def test_a_preparing_folder_that_is_a_link_is_refused(creation: Creation, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    creation.place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoPermissionError, match="is a link"):
        private_folder(creation.place)


def test_the_preparing_folder_is_private(creation: Creation) -> None:
    creation.place.mkdir(mode=0o777)
    creation.place.chmod(0o777)
    private_folder(creation.place)
    assert creation.place.stat().st_mode & 0o077 == 0
