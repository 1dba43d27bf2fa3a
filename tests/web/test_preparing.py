"""The page before there is a session: what it shows, to whom, and how it goes on."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from soel.errors import SessionError
from soel.session.worker import JobStatus
from soel.web.app import create_preparing_app
from soel.web.auth import FILE, Auth, User
from soel.web.prepare import Preparation, SwitchingApp
from tests.web.conftest import ORIGIN, SITE, Page, signed_in


@dataclass
class FakeMaker:
    """A creation that stands where it is put."""

    now: JobStatus = field(default_factory=lambda: JobStatus("create", True))
    is_done: bool = False
    starts: int = 0

    def start(self) -> None:
        self.starts += 1
        self.now = JobStatus("create", True)

    def progress(self) -> JobStatus:
        return self.now


class Preparing:
    """The page of a preparation, with a clock that is set by hand."""

    def __init__(self, place: Path, source: str = "discs <b>") -> None:
        self.making, self.time, self.auth = FakeMaker(), 0.0, Auth(place)
        self.preparation = Preparation(self.making, source, lambda: self.time)
        self.app = create_preparing_app(self.preparation, self.auth, SITE)
        self.client = signed_in(self.app, self.auth, User("expert", "owner"))

    def at(self, time: float, now: JobStatus) -> dict[str, Any]:
        self.time, self.making.now = time, now
        said: dict[str, Any] = self.client.get("/api/preparation").json()
        return said


@pytest.fixture
def preparing(tmp_path: Path) -> Preparing:
    return Preparing(tmp_path)


@pytest.mark.parametrize("path", ["/", "/review", "/results", "/team"])
def test_every_page_shows_the_preparation(preparing: Preparing, path: str) -> None:
    answer = preparing.client.get(path)
    assert answer.status_code == 200
    for part in ("<progress", 'aria-live="polite"', "/static/preparing.js", "discs &lt;b&gt;"):
        assert part in answer.text
    assert "<nav" not in answer.text, "the other pages need a session"
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_it_says_how_far_it_is_and_how_long_it_takes(preparing: Preparing) -> None:
    said = preparing.at(0, JobStatus("scan", True, 90, 100))
    assert (said["stage"], said["what"], said["done"], said["total"]) == ("preparing", "scan", 90, 100)
    assert said["seconds_left"] is None
    assert preparing.at(10, JobStatus("extract", True, 40, 100))["seconds_left"] is None, "40 are of an earlier run"
    assert preparing.at(14, JobStatus("extract", True, 60, 100))["seconds_left"] == 8
    assert preparing.at(22, JobStatus("extract", True, 100, 100))["seconds_left"] == 0
    assert preparing.at(23, JobStatus("write", True))["seconds_left"] is None


def test_a_failure_is_told_and_can_be_tried_again(preparing: Preparing) -> None:
    assert preparing.client.post("/api/preparation").status_code == 409, "it is at work"
    said = preparing.at(5, JobStatus("create", False, error="None of the pictures can be read."))
    assert (said["stage"], said["error"]) == ("failed", "None of the pictures can be read.")
    other = signed_in(preparing.app, preparing.auth, User("guest", "annotator"))
    assert other.post("/api/preparation").status_code == 403
    assert preparing.making.starts == 0
    assert preparing.client.post("/api/preparation").json()["stage"] == "preparing"
    assert preparing.making.starts == 1


def test_nobody_enters_without_a_key(preparing: Preparing) -> None:
    stranger = TestClient(preparing.app, base_url=ORIGIN, follow_redirects=False)
    assert stranger.get("/api/preparation").status_code == 401
    assert stranger.get("/", headers={"accept": "text/html"}).headers["location"] == "/welcome"
    assert stranger.post("/enter", data={"key": "guessed"}).status_code == 403
    assert preparing.client.post("/api/preparation", headers={"origin": "http://evil.example"}).status_code == 403
    assert preparing.client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_what_needs_a_session_has_to_wait(preparing: Preparing) -> None:
    for answer in (preparing.client.get("/api/status"), preparing.client.post("/api/answers", json={})):
        assert (answer.status_code, "still being prepared" in answer.json()["error"]) == (503, True)
    assert preparing.client.get("/health").status_code == 200


def test_a_session_that_is_there_says_so(page: Page) -> None:
    assert page.get("/api/preparation")["stage"] == "ready"


def test_the_app_of_the_session_takes_over(preparing: Preparing) -> None:
    seen: list[JobStatus | None] = []
    over = threading.Event()

    def tell(now: JobStatus | None) -> None:
        seen.append(now)
        if now is None:
            over.set()

    waiting = SwitchingApp(preparing.app, preparing.preparation, lambda: PlainTextResponse("the session"), tell)
    client = TestClient(waiting, base_url=ORIGIN, cookies=preparing.client.cookies)
    assert "preparing.js" in client.get("/").text
    preparing.making.is_done = True
    assert not over.wait(0.5), "its maker is still at work"
    preparing.making.now = JobStatus("create", False)
    assert over.wait(60)
    assert client.get("/").text == "the session"
    assert seen[0] == JobStatus("create", True)
    waiting.stop()


def test_a_session_that_cannot_be_opened_is_told(preparing: Preparing) -> None:
    seen = threading.Event()

    def fail() -> PlainTextResponse:
        raise SessionError("The store is away.")

    def tell(now: JobStatus | None) -> None:
        if now is not None and now.error:
            seen.set()

    waiting = SwitchingApp(preparing.app, preparing.preparation, fail, tell)
    preparing.making.is_done, preparing.making.now = True, JobStatus("create", False)
    assert seen.wait(60)
    waiting.stop()
    said = preparing.client.get("/api/preparation").json()
    assert (said["stage"], said["error"]) == ("failed", "The store is away.")
    assert preparing.client.post("/api/preparation").json()["stage"] == "preparing"
    assert preparing.making.starts == 0, "the session itself is there"


def test_those_who_are_in_stay_in_when_the_sign_ins_move(tmp_path: Path) -> None:
    auth = Auth(tmp_path / "before")
    cookie = auth.sign_in(auth.new_key(User("expert", "owner")))
    assert cookie is not None
    name = auth.cookie
    auth.move(tmp_path / "after")
    assert not (tmp_path / "before" / FILE).exists()
    again = Auth(tmp_path / "after")
    assert (again.user_of(cookie), again.cookie) == (User("expert", "owner"), name)
