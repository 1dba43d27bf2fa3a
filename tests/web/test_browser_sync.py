"""Changes in a real browser with late and lost replies, two tabs, two people: what is shown is what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from soel.images import picture_pool
from soel.session import SessionState
from soel.types import Verdict
from tests.images.test_patches import PlaceExtractor
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving
from tests.web.test_media import build_pictures
from tests.web.troubled import settle, trouble

pytestmark = pytest.mark.usefixtures("fake")
TROUBLES: dict[str, dict[str, Any]] = {"late": {}, "lost": {"lost": 0.5}, "failed": {"failed": 0.5}}


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with serving(build_page(tmp_path, answers_per_item=2)) as live:
        yield live


def state(live: Live) -> SessionState:
    return live.page.view_model.session.state


def verdict(live: Live, item: str, who: str = "expert") -> str | None:
    vote = state(live).vote_of(item, who)
    return None if vote is None else str(vote.verdict)


def answer_late(page: Page, path: str, ms: int) -> list[int]:
    """The first reply about a path waits, the later ones do not: an older one arrives last. Gives how many came."""
    seen: list[int] = []

    def hold(route: Route) -> None:
        seen.append(1)
        if len(seen) == 1:
            reply = route.fetch()
            page.wait_for_timeout(ms)
            route.fulfill(response=reply)
        else:
            route.continue_()

    page.route(path, hold)
    return seen


def in_list(page: Page, live: Live) -> None:
    page.goto(f"{live.address}/items?sort=row")
    for choice in ("anomaly", "normal"):
        page.locator(f"#top > li[data-item='P-1001'] [data-verdict={choice}]").click()


def in_review(page: Page, live: Live) -> None:
    live.page.post("/api/answers", item="P-1001", verdict="skip")
    page.goto(f"{live.address}/review")
    for choice in ("anomaly", "normal"):
        page.locator(f"#rows > li[data-item='P-1001'] [data-verdict={choice}]").click()


def write_note(page: Page, live: Live) -> None:
    live.page.post("/api/answers", item="P-1001", verdict="normal")
    page.goto(f"{live.address}/?item=P-1001")
    expect(page.locator("#item-title")).to_have_text("P-1001")
    for text in ("first", "second"):
        page.locator("#note").fill(text)
        page.locator("#note").blur()


def answer_and_take_back(page: Page, live: Live) -> None:
    page.goto(f"{live.address}/?item=P-1001")
    expect(page.locator("#item-title")).to_have_text("P-1001")
    page.keyboard.press("a")
    settle(page)
    page.keyboard.press("z")


def decide(page: Page, live: Live) -> None:
    disagree(live)
    page.goto(f"{live.address}/team")
    page.locator("#disagreements [data-verdict=normal]").click()


def assign(page: Page, live: Live) -> None:
    page.goto(f"{live.address}/team")
    page.locator("#assign-items li").first.get_by_role("button", name="expert").click()


def name_it(page: Page, live: Live) -> None:
    page.goto(f"{live.address}/data")
    expect(page.locator("#name")).to_have_value("")
    page.locator("#name").fill("Pumps of 2026")
    page.locator("#about button").click()


def write_guideline(page: Page, live: Live) -> None:
    page.goto(live.address)
    page.locator("#guideline-edit summary").click()
    page.locator("#guideline-text").fill("Be fair.")
    page.locator("#guideline-save").click()


def sign_out_all(page: Page, live: Live) -> None:
    live.page.user("ann")
    page.goto(f"{live.address}/team")
    page.get_by_role("button", name="Sign everybody else out").click()


def disagree(live: Live) -> None:
    live.page.post("/api/answers", item="P-1001", verdict="anomaly")
    live.page.user("ann").post("/api/answers", json={"item": "P-1001", "verdict": "normal"})


DONE: dict[Callable[[Page, Live], None], Callable[[Live], Any]] = {
    in_list: lambda live: verdict(live, "P-1001") == "normal",
    in_review: lambda live: verdict(live, "P-1001") == "normal",
    write_note: lambda live: state(live).note_of("P-1001", "expert") == "second",
    answer_and_take_back: lambda live: verdict(live, "P-1001") is None,
    decide: lambda live: state(live).answers["P-1001"].decision.verdict == Verdict.NORMAL,  # type: ignore[union-attr]
    assign: lambda live: list(state(live).assigned.values()) == [("expert",)],
    name_it: lambda live: state(live).name == "Pumps of 2026",
    write_guideline: lambda live: live.page.view_model.session.guidelines == "Be fair.",
    sign_out_all: lambda live: [held.name for held in live.page.auth.sign_ins().values()] == ["expert"],
}


@pytest.mark.parametrize("kind", TROUBLES)
@pytest.mark.parametrize("act", DONE, ids=lambda act: act.__name__)
def test_every_change_arrives_once(browser: Browser, live: Live, act: Callable[[Page, Live], None], kind: str) -> None:
    page = live.open(browser)
    trouble(page, seed=len(act.__name__), most=300, **TROUBLES[kind])
    act(page, live)
    settle(page)
    assert DONE[act](live), (act.__name__, kind)
    answers = [event.item for event in live.page.view_model.session.events if event.kind in ("label", "skip")]
    assert len(answers) <= 3, "nothing is stored twice"
    page.context.close()


def test_four_quick_points_are_four_marks(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda _: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    with serving(build_pictures(tmp_path, "image")) as live:
        page = live.open(browser)
        trouble(page, most=600, only="/api/marks")
        page.reload()
        expect(page.locator(".zoom .picture")).to_be_visible()
        box = page.locator(".zoom").bounding_box()
        assert box is not None
        page.keyboard.press("p")
        for step in range(4):
            page.mouse.click(box["x"] + box["width"] / 2 + 12 * step, box["y"] + box["height"] / 2)
        expect(page.locator("#saved")).to_contain_text("4 marks")
        settle(page)
        expect(page.locator(".marks .own")).to_have_count(4)
        assert [len(mark.regions) for own in state(live).marks.values() for mark in own] == [4]


def test_an_answer_that_was_on_its_way_survives_a_reload(browser: Browser, live: Live) -> None:
    page = live.open(browser)
    page.route("**/api/answers", lambda route: route.abort())
    item = page.locator("#item-title").inner_text() if page.locator("#labelling").is_visible() else ""
    expect(page.locator("#labelling")).to_be_visible()
    item = page.locator("#item-title").inner_text()
    page.locator("#note").fill("leaks")
    page.locator("#note").blur()
    page.keyboard.press("a")
    expect(page.locator("#saved")).to_contain_text("Trying again")
    page.locator("#note").fill("leaks, and hums")  # while the server is away
    page.unroute("**/api/answers")
    page.reload()
    expect(page.locator("#item-title")).not_to_have_text(item)
    page.wait_for_function("() => !Object.keys(localStorage).some((name) => name.startsWith('draft'))")
    assert verdict(live, item) == "anomaly"
    assert state(live).note_of(item, "expert") == "leaks, and hums"


def test_a_note_outlives_arrow_keys_and_a_reload(browser: Browser, live: Live) -> None:
    page = live.open(browser)
    expect(page.locator("#labelling")).to_be_visible()
    page.keyboard.press("n")
    expect(page.locator("#saved")).to_contain_text("Saved")
    item = page.locator("#item-title").inner_text()
    page.locator("#note").fill("not stored yet")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#item-title")).not_to_have_text(item)
    expect(page.locator("#note")).to_have_value("")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#note")).to_have_value("not stored yet")
    page.reload()
    expect(page.locator("#note")).to_have_value("not stored yet")


def test_a_second_tab_takes_back_its_own_answers_only(browser: Browser, live: Live) -> None:
    one = live.open(browser)
    expect(one.locator("#labelling")).to_be_visible()
    first = one.locator("#item-title").inner_text()
    one.keyboard.press("a")
    expect(one.locator("#saved")).to_contain_text("Saved")
    other = one.context.new_page()
    other.goto(live.address)
    expect(other.locator("#labelling")).to_be_visible()
    expect(other.locator("#undo")).to_be_disabled()
    second = other.locator("#item-title").inner_text()
    other.keyboard.press("z")
    other.keyboard.press("n")
    expect(other.locator("#saved")).to_contain_text("Saved")
    one.keyboard.press("z")  # it does not know of the second answer
    expect(one.locator("#saved")).to_contain_text("not the newest answer")
    assert (verdict(live, first), verdict(live, second)) == ("anomaly", "normal")
    other.keyboard.press("z")
    expect(other.locator("#saved")).to_have_text(f"✓ Taken back: {second}")
    expect(other.locator("#item-title")).to_have_text(second)
    assert (verdict(live, first), verdict(live, second)) == ("anomaly", None)


def test_two_tabs_keep_both_texts_of_the_guideline(browser: Browser, live: Live) -> None:
    one = live.open(browser)
    other = one.context.new_page()
    other.goto(live.address)
    for page in (one, other):
        expect(page.locator("#labelling")).to_be_visible()
    for page, text in ((one, "mine"), (other, "theirs")):
        page.locator("#guideline-edit").evaluate("(edit) => { edit.open = true; }")  # a draft may have opened it
        page.locator("#guideline-text").fill(text)
        with page.expect_response("**/api/guideline"):  # the first is stored before the second is sent
            page.locator("#guideline-save").click()
    expect(other.locator("#guideline-theirs")).to_contain_text("mine")
    expect(other.locator("#guideline-text")).to_have_value("theirs")
    assert live.page.view_model.session.guidelines == "mine"
    other.reload()
    expect(other.locator("#guideline-text")).to_have_value("theirs")  # it was typed, and is not stored


def test_a_tab_of_another_user_stores_nothing_and_loses_nothing(browser: Browser, live: Live) -> None:
    from soel.web.auth import User

    page = live.open(browser)
    expect(page.locator("#labelling")).to_be_visible()
    item = page.locator("#item-title").inner_text()
    other = page.context.new_page()
    other.goto(f"{live.address}/enter?key={live.page.auth.new_key(User('bob', 'annotator'))}")
    expect(other.get_by_role("button", name="Go on as bob")).to_be_visible()
    page.keyboard.press("u")  # still the owner
    expect(page.locator("#saved")).to_contain_text("Saved")
    item = page.locator("#item-title").inner_text()
    other.get_by_role("button", name="Go on as bob").click()
    other.wait_for_url(f"{live.address}/")
    page.keyboard.press("a")
    expect(page.locator("#saved")).to_contain_text("now signed in as 'bob'")
    assert (verdict(live, item), verdict(live, item, "bob")) == (None, None)
    assert page.evaluate("JSON.parse(sessionStorage.getItem('outbox')).length") == 1


def test_the_page_of_a_second_annotator_goes_on_when_the_owner_has_decided(browser: Browser, live: Live) -> None:
    ann = live.page.user("ann")
    items = state(live).open
    for number, item in enumerate(items):
        live.page.post("/api/answers", item=item, verdict="normal")
        ann.post("/api/answers", json={"item": item, "verdict": "normal" if number else "anomaly"})
    page = live.open(browser, "ann", "annotator")
    expect(page.locator("#waiting-title")).to_have_text("People disagree on 1 item")
    live.page.post("/api/decisions", item=items[0], verdict="normal")
    expect(page.locator("#waiting-title")).to_have_text("All open items are answered")
    expect(page.get_by_role("link", name="Look at the results")).to_be_visible()


@pytest.mark.parametrize("place", ["list", "card"])
def test_of_two_searches_the_newer_one_is_shown(browser: Browser, live: Live, tmp_path: Path, place: str) -> None:
    page = live.open(browser)
    if place == "list":
        page.goto(f"{live.address}/items")
        expect(page.locator("#total")).to_have_text("80 items")
        page.evaluate(SLOW_FIRST, "/api/items")
        page.locator("[name=search]").fill("P-10")
        page.get_by_role("button", name="Show").click()
        page.locator("[name=search]").fill("P-1001")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#total")).to_have_text("1 item")
        page.wait_for_timeout(900)
        expect(page.locator("#total")).to_have_text("1 item")
    else:
        page.goto(f"{live.address}/review")
        found = page.evaluate(
            """async () => { const { read } = await import("/static/sync.js");
            const real = window.fetch; let n = 0;
            window.fetch = async (...all) => { const late = n++ === 0; const reply = await real(...all);
              if (late) await new Promise((done) => setTimeout(done, 500)); return reply; };
            const both = [read("fields", "/api/item", { id: "P-1001", search: "flow" }),
                          read("fields", "/api/item", { id: "P-1001", search: "speed" })];
            return (await Promise.all(both)).map((each) => each && each.fields[0].name); }"""
        )
        assert found == [None, "speed (rpm)"]


SLOW_FIRST = """(path) => { const real = window.fetch; let n = 0;
window.fetch = async (...all) => { const late = all[0].includes(path) && n++ === 0; const reply = await real(...all);
if (late) await new Promise((done) => setTimeout(done, 600)); return reply; }; }"""


def test_trouble_is_said_until_each_read_is_answered(browser: Browser, live: Live) -> None:
    """Else the page shows an older answer beside a newer one on the server, and says nothing about it."""
    page = in_review_with(browser, live, 0, "P-1001", "P-1002")
    page.evaluate(FAILING, [1, 2])  # the reads after each of two answers fail; a repeated first read does not
    for item in ("P-1001", "P-1002"):
        page.locator(f"#rows > li[data-item='{item}'] [data-verdict=anomaly]").click()
        expect(page.locator("#saved")).to_contain_text("Trying again")
        page.wait_for_timeout(300 if item == "P-1001" else 50)
    settle(page)
    for item in ("P-1001", "P-1002"):
        pressed = page.locator(f"#rows > li[data-item='{item}'] [aria-pressed=true]")
        assert pressed.evaluate_all("(all) => all.map((each) => each.dataset.verdict)") == [verdict(live, item)]


def test_a_button_that_is_being_pressed_stays_where_it_is(browser: Browser, live: Live) -> None:
    """The reply to an earlier answer redraws the entry; a button replaced under the finger would get no click."""
    page = in_review_with(browser, live, 100, "P-1001")
    row = page.locator("#rows > li[data-item='P-1001']")
    row.locator("[data-verdict=anomaly]").click()
    box = row.locator("[data-verdict=normal]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    expect(row.locator("[data-verdict=anomaly]")).to_have_attribute("aria-pressed", "true")
    page.mouse.up()
    settle(page)
    assert verdict(live, "P-1001") == "normal"


def in_review_with(browser: Browser, live: Live, most: int, *items: str) -> Page:
    for item in items:
        live.page.post("/api/answers", item=item, verdict="skip")
    page = live.open(browser)
    trouble(page, most=most)
    page.goto(f"{live.address}/review")
    expect(page.locator("#rows > li")).to_have_count(len(items))
    return page


FAILING = """(failing) => { const real = window.fetch; let n = 0;
window.fetch = (...all) => all[0].includes("/api/decisions") && failing.includes(++n)
    ? Promise.reject(new TypeError("lost")) : real(...all); }"""


def test_a_note_that_is_stored_does_not_hide_that_an_answer_is_on_its_way(browser: Browser, live: Live) -> None:
    live.page.post("/api/answers", item="P-1001", verdict="anomaly")
    page = live.open(browser)
    page.goto(f"{live.address}/?item=P-1001")
    expect(page.locator("#item-title")).to_have_text("P-1001")
    page.evaluate(HELD, "/api/answers")
    page.locator("#note").fill("hums")
    with page.expect_response("**/api/notes"):
        page.locator("#note").blur()
        page.locator("[data-verdict=normal]").click()
    page.wait_for_timeout(200)
    expect(page.locator("#saved")).to_have_attribute("data-state", "saving")
    page.evaluate("window.release()")
    expect(page.locator("#saved")).to_contain_text("Saved")
    assert (verdict(live, "P-1001"), state(live).note_of("P-1001", "expert")) == ("normal", "hums")


HELD = """(path) => { const real = window.fetch; const held = new Promise((go) => { window.release = go; });
window.fetch = async (...all) => { if (all[0].includes(path)) await held; return real(...all); }; }"""
