"""Every state of every page, as a screen reader meets it: before, while and after something is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.session.fake_learner import use_fake_learner
from tests.web.accessibility import violations
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving

PAGES = ("/", "/items", "/review", "/results", "/team")
WORK = {"what": "fit", "running": True, "done": 3, "total": 10, "error": ""}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A page with a few answers and open items, which no test here changes."""
    with pytest.MonkeyPatch.context() as patch:
        use_fake_learner(patch)
        with serving(build_page(tmp_path_factory.mktemp("states"))) as live:
            for item in live.page.get("/api/status")["open"][:2]:
                live.page.post("/api/answers", item=item, verdict="anomaly", note="hot")
            yield live


@pytest.fixture
def page(browser: Browser, live: Live) -> Iterator[Page]:
    page = live.open(browser)
    yield page
    page.unroute_all(behavior="ignoreErrors")
    page.context.close()


def hold(_: Route) -> None:
    """Never answer."""


def fail(route: Route) -> None:
    route.fulfill(status=500, content_type="application/json", body='{"error": "This is a bug: KeyError."}')


def overview(live: Live, **change: Any) -> Callable[[Route], None]:
    """Answer with where the session stands, as if it stood elsewhere."""
    body = json.dumps(live.page.get("/api/status") | {"open": []} | change)
    return lambda route: route.fulfill(content_type="application/json", body=body)


@pytest.mark.parametrize("path", PAGES)
def test_before_the_server_has_answered(page: Page, live: Live, path: str) -> None:
    page.route("**/api/**", hold)
    page.goto(live.address + path, wait_until="domcontentloaded")
    page.wait_for_timeout(500)  # what waits says so only after a moment
    assert violations(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_when_the_server_cannot_answer(page: Page, live: Live, path: str) -> None:
    page.route("**/api/**", fail)
    page.goto(live.address + path)
    expect(page.locator("main")).to_contain_text("This is a bug")
    assert violations(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_when_all_is_there(page: Page, live: Live, path: str) -> None:
    page.goto(live.address + path)
    page.wait_for_load_state("networkidle")
    assert violations(page) == []


def test_an_item_is_shown_whole_or_not_at_all(page: Page, live: Live) -> None:
    page.route("**/api/item*", hold)
    with page.expect_request("**/api/item*"):
        page.goto(live.address)
    expect(page.locator("#waiting-title")).to_have_text("Opening the session")
    expect(page.locator("#labelling")).to_be_hidden()
    assert violations(page) == []


def test_while_an_answer_is_on_its_way_and_when_it_cannot_be_stored(page: Page) -> None:
    expect(page.locator("#labelling")).to_be_visible()
    page.route("**/api/answers", hold)
    page.keyboard.press("n")
    expect(page.locator("#saved")).to_have_text("Saving …")
    assert violations(page) == []
    page.route("**/api/answers", lambda route: route.abort())  # before the first route goes: nothing may slip through
    page.reload()
    expect(page.get_by_text("Trying again")).to_be_visible()  # before another item is shown
    assert violations(page) == []
    page.unroute("**/api/answers")
    expect(page.locator("#labelling")).to_be_visible()


@pytest.mark.parametrize(
    ("title", "change"),
    [
        ("Preparing the items", {"stage": "preparing", "work": WORK | {"what": "ask", "total": 0}}),
        ("Learning from your answers", {"stage": "training", "work": WORK}),
        ("One moment", {"stage": "preparing", "work": WORK | {"what": ""}}),
        ("One moment", {"stage": "preparing", "work": None}),
        ("The work stopped early", {"stage": "done", "work": WORK | {"running": False, "error": "It was killed."}}),
        ("Others are busy", {"stage": "waiting", "work": None}),
        ("All open items are answered", {"stage": "done", "work": None}),
    ],
)
def test_while_there_is_nothing_to_label(page: Page, live: Live, title: str, change: dict[str, Any]) -> None:
    page.route("**/api/turn", overview(live, **change))
    page.goto(live.address)
    expect(page.locator("#waiting-title")).to_contain_text(title)
    assert violations(page) == []


@pytest.mark.parametrize(
    ("title", "work"),
    [
        ("Learning from your answers", WORK),
        ("The work stopped early", WORK | {"running": False, "error": "It was killed."}),
        ("There are no results yet", None),
    ],
)
def test_while_there_are_no_results(page: Page, live: Live, title: str, work: dict[str, Any] | None) -> None:
    page.route("**/api/status", overview(live, work=work))
    page.goto(f"{live.address}/results")
    expect(page.locator("#waiting-title")).to_have_text(title)
    assert violations(page) == []


@pytest.mark.parametrize("path", ["/enter", "/enter?key=used", "/welcome"])
def test_where_one_signs_in(browser: Browser, live: Live, path: str) -> None:
    page = browser.new_context().new_page()
    page.goto(live.address + path)
    expect(page.locator("h1")).to_be_visible()
    assert violations(page) == []
    page.context.close()


def test_an_answer_that_is_undone_leaves_its_note_in_the_field(browser: Browser, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        use_fake_learner(patch)
        with serving(build_page(tmp_path)) as live:
            page = live.open(browser)
            title = page.locator("#item-title")
            expect(title).to_have_text(re.compile(r"P-\d+"))
            first = title.inner_text()
            page.locator("#note").fill("leaks at the seal")
            page.locator("#note").blur()
            page.keyboard.press("a")
            expect(title).not_to_have_text(first)
            page.keyboard.press("z")
            expect(title).to_have_text(first)
            expect(page.locator("#note")).to_have_value("leaks at the seal")
            page.context.close()


def test_answers_come_back_when_the_disk_takes_them_again(page: Page, live: Live) -> None:
    known = live.page.get("/api/status")
    broken = json.dumps(known | {"storage_problem": "The disk is full."})
    page.route("**/api/turn", lambda route: route.fulfill(content_type="application/json", body=broken))
    page.clock.install()
    page.goto(f"{live.address}/")
    expect(page.locator("#storage")).to_contain_text("The disk is full.")
    anomaly = page.locator(".actions .answer").first
    expect(anomaly).to_be_disabled()
    page.unroute("**/api/turn")
    page.clock.fast_forward(5000)
    expect(anomaly).to_be_enabled()
    expect(page.locator("#storage")).to_be_hidden()
