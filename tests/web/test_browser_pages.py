"""The pages in a real browser: two people, a phone, the dark, a screen reader's needs, a large map."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from soel.images import picture_pool
from soel.report.facts import gather_report
from soel.report.page import write_report
from soel.settings import PAPER
from soel.tables.rows import write_rows
from tests.web.accessibility import violations
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving
from tests.web.pictures import Brightness
from tests.web.sample_data import HOSTILE
from tests.web.test_media import build_pictures

N_MANY, PATIENCE = 100_000, 100.0  # milliseconds


@pytest.fixture
def live(fake: None, tmp_path: Path) -> Iterator[Live]:
    with serving(build_page(tmp_path)) as live:
        yield live


@pytest.fixture(scope="module")
def done(fake: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A page with results and a disagreement, for tests that only look."""
    with serving(build_page(tmp_path_factory.mktemp("done"), answers_per_item=2)) as live:
        ann = live.page.user("ann")
        for item in live.page.get("/api/status")["open"]:
            live.page.post("/api/answers", item=item, verdict="normal", note="as usual")
            ann.post("/api/answers", json={"item": item, "verdict": "anomaly"})
        live.page.post("/api/decisions", item=item, verdict="anomaly")
        if not live.page.get("/api/status")["has_results"]:
            live.page.post("/api/train", despite_disputes=True)
        yield live


def settled(page: Page, path: str) -> None:
    """Wait until a page shows what it is for."""
    shows = {
        "/": "#labelling, #waiting",
        "/review": "#rows li",
        "/results": "#results",
        "/team": "#annotators tr",
        "/items": "#top li",
    }
    page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + path)
    page.locator(shows[path]).filter(visible=True).first.wait_for()


def test_two_people_at_once_never_see_the_same_item(browser: Browser, live: Live) -> None:
    ann, bob = live.open(browser, "ann"), live.open(browser, "bob", "annotator")
    seen: list[str] = []
    for person in (ann, bob, ann, bob):
        expect(person.locator("#labelling")).to_be_visible()
        item = person.locator("#item-title").inner_text()
        seen.append(item)
        person.keyboard.press("n")
        expect(person.locator("#item-title")).not_to_have_text(item)
    assert len(set(seen)) == 4
    expect(bob.locator("#progress-words")).to_contain_text("4 of 6 labels")
    assert {answer.who for answer in live.page.view_model.session.state.answers.values()} == {"ann", "bob"}
    bob.goto(f"{live.address}/team")
    expect(bob.locator("#annotators tr")).to_have_count(2)
    expect(bob.locator("#invite")).to_have_count(0)


def test_a_disagreement_is_decided_and_the_decision_taken_back(browser: Browser, fake: None, tmp_path: Path) -> None:
    with serving(build_page(tmp_path, answers_per_item=2)) as live:
        page = live.open(browser)
        expect(page.locator("#labelling")).to_be_visible()
        item = page.locator("#item-title").inner_text()
        told = {"item": item, "verdict": "anomaly", "note": "it leaks"}
        assert live.page.user("Ann").post("/api/answers", json=told).status_code == 200
        page.reload()
        expect(page.locator("#item-title")).to_have_text(item)
        expect(page.locator("#notes li")).to_have_count(0)  # another's note must not sway an answer
        page.keyboard.press("n")
        expect(page.locator("#item-title")).not_to_have_text(item)
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#notes li")).to_have_text("Ann: it leaks")
        page.goto(f"{live.address}/team")
        expect(page.locator("#disagreements > li")).to_contain_text(re.compile("anomaly . it leaks"))
        page.get_by_role("group", name=f"Answer for {item}").get_by_role("button", name="Anomaly").click()
        expect(page.locator("#agreed")).to_be_visible()
        page.goto(f"{live.address}/review")
        expect(page.locator("#rows li")).to_contain_text("counts as anomaly: the owner decided")
        page.get_by_role("button", name="Take the decision back").click()
        expect(page.locator("#rows li")).to_contain_text("people disagree")
        expect(page.locator("#summary")).to_contain_text("1 disagreement")
        page.get_by_role("button", name="Anomaly").click()  # the owner changes their own mind
        expect(page.locator("#summary")).to_contain_text("1 anomaly")
        expect(page.locator("#rows li")).not_to_contain_text("disagree")
        expect(page.get_by_role("button", name="Anomaly")).to_be_focused()


def test_a_finger_on_a_phone_of_320_pixels(browser: Browser, live: Live) -> None:
    page = live.open(browser, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    expect(page.locator("#labelling")).to_be_visible()
    first = page.locator("#item-title").inner_text()
    for verdict in ("anomaly", "normal", "unsure", "skip"):
        box = page.locator(f".actions [data-verdict={verdict}]").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 640, "all answers are in reach without scrolling"
        assert min(box["width"], box["height"]) >= 44
    page.locator(".actions [data-verdict=anomaly]").tap()
    expect(page.locator("#item-title")).not_to_have_text(first)
    live.page.label_all()
    for path in ("/", "/items", "/review", "/results", "/team"):
        settled(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
    page.goto(f"{live.address}/results")
    line = page.locator("#top > li").nth(1)
    line.locator(".item-link").tap()
    expect(line.locator("#chosen h2")).to_have_text(line.locator(".item-link").inner_text())  # below its line
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/items", "/review", "/results", "/team"])
def test_axe_finds_nothing_serious(browser: Browser, done: Live, path: str, scheme: Any) -> None:
    page = done.open(browser, color_scheme=scheme)
    settled(page, path)
    assert violations(page) == []


def test_a_link_to_an_item_that_does_not_exist_goes_on_with_the_open_ones(browser: Browser, live: Live) -> None:
    page = live.open(browser)
    page.goto(f"{live.address}/?item=nobody")
    expect(page.locator("#item-title")).to_contain_text("P-")
    before = page.locator("#item-title").inner_text()
    page.keyboard.press("n")
    expect(page.locator("#item-title")).not_to_have_text(before)


def shifts(page: Page) -> None:
    page.add_init_script(
        """window.shift = 0; new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shift += entry.value; }).observe({type: "layout-shift"})"""
    )


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_moves_while_a_page_loads(browser: Browser, done: Live, width: int) -> None:
    page = done.open(browser, viewport={"width": width, "height": 900})
    shifts(page)
    for path in ("/items", "/review", "/team", "/results"):
        settled(page, path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.shift") < 0.01, path


def test_the_first_screen_of_the_results_leads_with_alarms(browser: Browser, done: Live) -> None:
    page = done.open(browser, viewport={"width": 1440, "height": 900})
    settled(page, "/results")
    tops = {name: page.locator(name).first.bounding_box()["y"] for name in ("#facts", "#handle", "#top > li")}  # type: ignore[index]
    assert tops["#facts"] < tops["#handle"] < tops["#top > li"] < 400
    height = page.locator(".histogram").bounding_box()["height"]  # type: ignore[index]
    assert height <= 80


def test_the_report_prints_with_its_settings_and_without_what_asks_for_a_click(
    browser: Browser, done: Live, tmp_path: Path
) -> None:
    page = browser.new_page()
    page.goto(write_report(gather_report(done.page.view_model.session), tmp_path / "report.html").as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    expect(page.locator("#settings table").first).to_be_visible()
    expect(page.locator("#map-words")).to_contain_text("Items that lie close are alike")
    expect(page.locator("#map-hint")).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("#settings table").first).to_be_hidden()
    page.close()


def test_dark_is_dark(browser: Browser, done: Live) -> None:
    shades = []
    for scheme in ("light", "dark"):
        page = done.open(browser, color_scheme=scheme)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades.append(sum(int(part) for part in colour[4:-1].split(",")))
    assert shades[0] > 600 > 150 > shades[1]


def test_the_keyboard_alone_reaches_everything(browser: Browser, done: Live) -> None:
    page = done.open(browser)
    settled(page, "/results")
    handle = page.locator(".handle")
    expect(handle).to_have_attribute("aria-valuetext", re.compile("alarm"))  # the scores are there
    handle.focus()
    n_alarms = int(page.locator("#alarms").input_value())
    page.keyboard.press("ArrowRight")
    expect(page.locator("#alarms")).to_have_value(str(n_alarms - 1))
    expect(handle).to_have_attribute("aria-valuetext", re.compile(f", {n_alarms - 1} alarms$"))
    first, second = (page.locator("#top > li[data-item]").nth(at) for at in (0, 1))
    expect(first).to_have_attribute("aria-current", "true")
    first.focus()
    page.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    expect(page.locator("#chosen h2")).to_have_text(second.locator(".item-link").inner_text())
    page.locator("#map").focus()
    for key in ("+", "ArrowLeft", "0", "Enter"):
        page.keyboard.press(key)


def test_answers_are_announced(browser: Browser, live: Live) -> None:
    page = live.open(browser)
    expect(page.locator("#labelling")).to_be_visible()
    expect(page.locator("#live")).to_contain_text(page.locator("#item-title").inner_text())
    assert page.locator("#live").get_attribute("aria-live") == "polite"
    expect(page.locator("#meter")).to_have_attribute("aria-valuetext", "0 of 6 labels given")


def test_hostile_text_is_only_text(browser: Browser, fake: None, tmp_path: Path) -> None:
    rows = [[f"{HOSTILE}{row}", HOSTILE, float(row % 7)] for row in range(12)]
    write_rows(tmp_path / "hostile.csv", ["pump", f"<b>{HOSTILE}", "x"], rows)
    with serving(build_page(tmp_path, table=tmp_path / "hostile.csv")) as live:
        page = live.open(browser, HOSTILE)
        alerts: list[str] = []

        def note(dialog: Dialog) -> None:
            alerts.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", note)
        expect(page.locator("#item-title")).to_contain_text("<img src=x")
        page.locator("#note").fill(HOSTILE)
        page.locator("#guideline-edit summary").click()
        page.locator("#guideline-text").fill(f"{HOSTILE} <script>alert(2)</script>")
        page.locator("#guideline-save").click()
        expect(page.locator("#guideline")).to_contain_text("<script>")
        page.locator(".actions [data-verdict=normal]").click()
        expect(page.locator("#progress-words")).to_contain_text("1 of")
        live.page.label_all()
        for path in ("/", "/review", "/results", "/team"):
            settled(page, path)
            assert page.locator("main img").count() == 0
        assert alerts == []


def look_closer(page: Page) -> None:
    """Zoom by click, keys and buttons, move the picture, and look at the labelled one beside it."""
    frame, picture = page.locator(".zoom"), page.locator(".zoom .picture")
    frame.click(position={"x": 40, "y": 40})
    expect(frame).to_have_class(re.compile("zoomed"))
    assert page.evaluate("document.querySelector('.zoom .picture').src").endswith("size=2048")
    held = picture.get_attribute("style")
    box = frame.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 90, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] + 60, steps=3)
    page.mouse.up()
    dragged = picture.get_attribute("style")
    assert dragged != held
    frame.press("ArrowRight")
    assert picture.get_attribute("style") != dragged, "the arrow moves the picture, not to another item"
    page.keyboard.press("0")
    expect(frame).not_to_have_class(re.compile("zoomed"))
    page.get_by_role("button", name="Zoom in").click()
    expect(frame).to_have_class(re.compile("zoomed"))
    other = page.locator(".alike .thumb-button").first
    other.click()
    expect(page.locator(".caption")).to_contain_text("labelled anomaly")
    expect(frame).not_to_have_class(re.compile("zoomed"))
    other.click()
    expect(page.locator(".caption")).to_be_hidden()


@pytest.mark.parametrize("kind", ["image", "video"])
def test_pictures_and_frames_from_the_first_key_to_a_new_label(
    browser: Browser, fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda _: Brightness())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    with serving(build_pictures(tmp_path, kind)) as live:
        page = live.open(browser)
        picture = page.locator("#item-body .picture")
        title = page.locator("#item-title")
        for number, key in enumerate("ansnnn"):
            expect(picture).to_be_visible()
            assert page.evaluate("document.querySelector('.picture').decode().then(() => true)")
            if number == 1:
                expect(page.locator(".thumbs .anomaly img")).to_have_count(1)
                expect(page.locator(".thumbs .now")).to_have_count(int(kind == "video"))
                look_closer(page)
            before = title.inner_text()
            page.keyboard.press(key)
            expect(title).not_to_have_text(before)
        page.keyboard.press("n")  # the last one of the budget: the training follows at once
        expect(page.locator("#waiting-title")).to_have_text("All open items are answered")
        page.goto(f"{live.address}/results")
        unlabelled = page.locator("#top li", has_not=page.locator("[aria-pressed=true]")).first
        expect(unlabelled.locator("img")).to_be_visible()
        unlabelled.get_by_role("button", name="Normal").click()
        expect(page.locator("#saved")).to_contain_text(re.compile(r"✓ Saved: \S+ \d+\.png is normal"))
        expect(page.locator("#stale")).to_be_visible()
        page.goto(f"{live.address}/review")
        expect(page.locator("#rows li img")).to_have_count(len(live.page.view_model.session.state.answers))
        expect(page.locator("#rows .item-link").first).to_have_text(re.compile(r"\d+\.png$"))


def test_a_map_of_100000_items_pans_within_100_ms(browser: Browser, fake: None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    quick = PAPER.with_parts(strategy="random")
    np.savez(tmp_path / "many.npz", X=rng.normal(size=(N_MANY, 3)).astype(np.float32))
    many = build_page(tmp_path, table=tmp_path / "many.npz", id_column=None, budget=2, profile=quick)
    with serving(many) as live:
        live.page.label_all()
        page = live.open(browser)
        settled(page, "/results")
        page.evaluate(
            """() => { const map = document.getElementById("map"); window.waits = []; let asked = 0;
            map.addEventListener("pointermove", (event) => { asked = event.timeStamp; });
            map.addEventListener("drawn", () => { if (asked) window.waits.push(performance.now() - asked); }); }"""
        )
        page.locator("#map").scroll_into_view_if_needed()
        box = page.locator("#map").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 300, box["y"] + 200)
        page.mouse.down()
        for step in range(40):
            page.mouse.move(box["x"] + 300 + 4 * step, box["y"] + 200 + step)
            page.wait_for_timeout(15)
        page.mouse.up()
        waits = page.evaluate("window.waits")
        assert len(waits) >= 20
        assert float(np.quantile(waits, 0.95)) < PATIENCE
