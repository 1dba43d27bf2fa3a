"""A page over a table of made-up pumps, in this process, with the fake learner in place of the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from soel.report.outcome import keep_outcome
from soel.report.reasons import keep_reasons
from soel.session import Session, SessionOptions, create
from soel.session.worker import JobStatus, take_step
from soel.web.app import create_app
from soel.web.auth import Auth, User
from soel.web.launch import view_of
from soel.web.security import Site
from soel.web.view_model import ViewModel
from tests.session.fake_learner import use_fake_learner
from tests.web.browser import ARGUMENTS, find_chromium
from tests.web.sample_data import write_pumps

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def fake() -> Iterator[None]:
    """Sessions that compute without torch, for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        use_fake_learner(patch)
        yield


PATIENCE = 60_000  # milliseconds; a busy machine is slow, and a test that waits less fails there
ORIGIN = "http://127.0.0.1:8000"
SITE = Site(frozenset({"127.0.0.1:8000", "localhost:8000"}), "soel-test")
N_ITEMS, BUDGET = 80, 6


class PromptWork:
    """Does each step at once, in this process."""

    def __init__(self, session: Session) -> None:
        self.session, self.state = session, None
        self.steps: list[str] = []
        self.fails = False

    state: JobStatus | None

    def start(self, what: str, n: int | None = None) -> None:
        self.steps.append(what)
        if self.fails:
            self.state = JobStatus(what, False, error="The disk is full.")
            return
        self.state = None
        if what == "check":
            self.session.spot_check(n)
        elif what in ("ask", "unsure"):
            self.session.ask(n, not_sure=what == "unsure")
        else:
            if what == "fit":
                self.session.fit()
            keep_outcome(self.session)
        keep_reasons(self.session)

    def add(self, upload: str, replace: bool, who: str) -> None:
        self.steps.append("add")
        options = {"upload": upload, "replace": replace, "who": who}
        take_step(self.session, "add", options, lambda *_: None)

    def progress(self) -> JobStatus | None:
        return self.state


@dataclass
class Page:
    """The page with a client that is signed in as its owner."""

    view_model: ViewModel
    auth: Auth
    work: PromptWork
    client: TestClient
    app: Any

    def user(self, name: str, role: Any = "annotator") -> TestClient:
        """A second browser."""
        return signed_in(self.app, self.auth, User(name, role))

    def get(self, path: str, **parameters: Any) -> Any:
        answer = self.client.get(path, params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, status: int = 200, **body: Any) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def undo(self, tab: str = "", **body: Any) -> Any:
        """Take the newest answer back, by the number that the status names."""
        return self.post("/api/undo", tab=tab, event=self.get("/api/status")["undo"]["event"], **body)

    def label_all(self) -> None:
        """Answer every open item, whoever it is reserved for."""
        while items := self.view_model.session.state.open:
            self.post("/api/answers", item=items[0], verdict="normal" if len(items) % 2 else "anomaly")


def signed_in(app: Any, auth: Auth, user: User) -> TestClient:
    client = TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
    answer = client.post("/enter", data={"key": auth.new_key(user)})
    assert answer.status_code == 303
    return client


MakePage = Callable[..., Page]


def build_page(place: Path, table: Path | None = None, prepared: bool = True, **options: Any) -> Page:
    """A page over a session in `place`."""
    if table is None:
        table = place / "pumps.csv"
        write_pumps(table, N_ITEMS, 8)
    chosen: dict[str, Any] = {"id_column": "pump", "budget": BUDGET} | options
    media = chosen.pop("media", None)
    session = create.create_session(place / "session", table, SessionOptions(**chosen), media=media)
    work, auth = PromptWork(session), Auth(session.folder.path)
    view_model = ViewModel(session, view_of, work)
    app = create_app(view_model, auth, SITE)
    if prepared:
        view_model.go_on()
    return Page(view_model, auth, work, signed_in(app, auth, User("expert", "owner")), app)


@pytest.fixture
def make_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePage]:
    """Pages over sessions of their own."""
    use_fake_learner(monkeypatch)
    opened: list[Page] = []

    def make(table: Path | None = None, prepared: bool = True, **options: Any) -> Page:
        opened.append(build_page(tmp_path, table, prepared, **options))
        return opened[-1]

    yield make
    for page in opened:
        page.view_model.session.close()


@pytest.fixture
def page(make_page: MakePage) -> Page:
    return make_page()


@contextmanager
def page_with_results(folder: Path) -> Iterator[Page]:
    """A page with results, for as long as a module's tests run."""
    with pytest.MonkeyPatch.context() as patch:
        use_fake_learner(patch)
        page = build_page(folder)
        page.label_all()
        yield page
        page.view_model.session.close()


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with results, for tests that change nothing."""
    with page_with_results(tmp_path_factory.mktemp("still")) as page:
        yield page
