"""New stories in a real browser: the alarms by key, the list by link, help, languages, leaving, wide rows, disputes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from soel.tables.rows import read_rows, write_rows
from tests.web.accessibility import violations
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with serving(build_page(tmp_path)) as live:
        yield live


@pytest.fixture
def trained(live: Live) -> Live:
    live.page.label_all()
    return live


def test_alarms_are_confirmed_by_key_and_page_by_page(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.goto(f"{trained.address}/results")
    expect(page.locator("#top > li").first).to_be_visible()  # the first list is there, and the next one is ours
    page.locator("#alarms").fill("30")
    with page.expect_response(re.compile("/api/items")):
        page.locator("#alarms").press("Tab")
    expect(page.locator("#pager")).to_contain_text("page 1 of 2")
    rows = page.locator("#top > li[tabindex]")
    expect(rows).to_have_count(20)
    expect(rows.first.locator("[aria-pressed=true]")).to_have_count(0)
    expect(rows.first.locator(".chance")).to_contain_text("%")
    rows.first.focus()
    shown(page, rows.first)
    page.keyboard.press("a")
    expect(rows.first.locator(".chance")).to_have_text("▲ anomaly")  # no guess beside an answer
    expect(rows.first.get_by_role("button", name="Anomaly")).to_have_attribute("aria-pressed", "true")
    expect(rows.nth(1)).to_be_focused()
    shown(page, rows.nth(1))
    page.keyboard.press("n")
    expect(rows.nth(1).get_by_role("button", name="Normal")).to_have_attribute("aria-pressed", "true")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("z")
    expect(rows.nth(1).locator("[aria-pressed=true]")).to_have_count(0)
    expect(rows.nth(1)).to_be_focused()
    expect(page.locator("#stale")).to_be_visible()
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#pager")).to_contain_text("page 2 of 2")
    expect(rows).to_have_count(10)


def shown(page: Page, row: Locator) -> None:
    """Wait until the row stands beside the list: nothing is answered unseen."""
    expect(page.locator("#chosen h2")).to_have_text(row.locator(".item-link").inner_text())


def test_alarms_are_sorted_and_filtered(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.goto(f"{trained.address}/results")
    rows, tools = page.locator("#top > li[data-item]"), page.locator("#tools")
    ranks = rows.locator(".rank")
    expect(rows.first).to_be_visible()
    tools.locator("[name=sort]").select_option("score")
    expect(ranks.first).to_have_text("1")
    tools.locator("[name=label]").select_option("labelled")
    expect(page.locator("#top > li[data-verdict='']")).to_have_count(0)
    expect(rows.first).to_be_visible()
    tools.locator("[name=label]").select_option("")
    tools.locator("[name=p]").select_option("0.02")
    expect(rows).to_have_count(1)  # of 80 items
    tools.locator("[name=p]").select_option("")
    page.locator("#groups [data-pattern]").first.click()
    expect(tools.locator("[name=pattern]")).to_have_value("1")
    n = int(re.findall(r"(\d+) alarm", page.locator("#groups li").first.inner_text())[0])
    expect(rows).to_have_count(min(n, 20))


HEIGHTS = """() => {
  const saved = document.getElementById("saved"), height = () => document.documentElement.scrollHeight;
  const tall = height();
  saved.style.display = "none";
  return [tall, height()];
}"""


def test_an_answer_is_told_of_wherever_the_list_is_scrolled_to(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.goto(f"{trained.address}/results")
    row = page.locator("#top > li[tabindex]").last
    row.scroll_into_view_if_needed()
    row.get_by_role("button", name="Normal").click()
    expect(page.locator("#saved")).to_contain_text("is normal")
    expect(page.locator("#saved")).to_be_in_viewport()
    tall, without = page.evaluate(HEIGHTS)
    assert tall == without, "it lies over the page and moves nothing"


def test_words_of_every_language_have_room(browser: Browser, trained: Live) -> None:
    for locale in ("en", "de", "fr"):
        page = trained.open(browser, locale=locale, viewport={"width": 1440, "height": 900})
        for path, words in (("/results", "#tools select"), ("/review", "#rows li:first-child .choices button")):
            page.goto(f"{trained.address}{path}")
            expect(page.locator(words).first).to_be_visible()
            tops = page.locator(words).evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().top)")
            assert max(tops) - min(tops) < 2, (locale, path)
        page.context.close()


def test_answered_alarms_stand_under_a_heading_of_their_own(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.goto(f"{trained.address}/items?sort=unlabelled")
    expect(page.get_by_role("heading", name="Answered already")).to_have_count(0)  # they are on a later page
    page.goto(f"{trained.address}/items?sort=unlabelled&label=labelled")
    heading = page.get_by_role("heading", name="Answered already")
    expect(heading).to_be_visible()
    rows = page.locator("#top > li[tabindex]")
    assert heading.bounding_box()["y"] < rows.first.bounding_box()["y"]  # type: ignore[index]
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(rows.first).to_be_focused()  # a heading is nothing to answer
    assert violations(page) == []


def test_every_view_of_the_list_has_a_link_and_a_file(browser: Browser, trained: Live, tmp_path: Path) -> None:
    page = trained.open(browser, accept_downloads=True)
    page.goto(f"{trained.address}/items")
    expect(page.locator("#total")).to_have_text("80 items")
    page.locator("#column").select_option("site")
    page.locator("[name=value]").fill("Yard")
    page.locator("[name=label]").select_option("unlabelled")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile("column=site"))
    expect(page.locator("#total")).not_to_have_text("80 items")
    shown = page.locator("#total").inner_text()
    with page.expect_download() as download:
        page.locator(".menu summary").click()
        page.locator("#export-csv").click()
    download.value.save_as(tmp_path / "items.csv")
    assert {row["site"] for row in read_rows(tmp_path / "items.csv")} == {"Yard"}
    address = page.url
    page.goto(f"{trained.address}/items?label=anomaly")
    expect(page.locator("#top > li [aria-pressed=true]").first).to_be_visible()
    page.goto(address)
    expect(page.locator("#total")).to_have_text(shown)
    expect(page.locator("[name=value]")).to_have_value("Yard")
    page.locator("[name=search]").fill("nobody")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#none")).to_be_visible()
    page.go_back()
    expect(page.locator("#total")).to_have_text(shown)
    assert violations(page) == []


def test_help_hint_and_what_was_found_so_far(browser: Browser, live: Live) -> None:
    page = live.open(browser)
    expect(page.locator("#hint")).to_be_visible()
    page.get_by_role("button", name="Got it").click()
    page.reload()
    expect(page.locator("#labelling")).to_be_visible()
    expect(page.locator("#hint")).to_be_hidden()
    expect(page.locator("#insight")).to_contain_text("Nothing is labelled yet")
    title = page.locator("#item-title").inner_text()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("a")
    expect(page.locator("#item-title")).to_have_text(title)
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#insight")).to_contain_text("1 anomaly found in 1 label")
    expect(page.locator("#insight")).to_contain_text("Go on")
    words = page.locator("#insight").evaluate("(list) => list.textContent")
    assert "%" in words
    assert " %" not in words, "a number and its percent sign stay on one line"


def test_the_language_is_chosen_and_kept(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.locator("#language").select_option("de")
    expect(page.locator("nav")).to_contain_text("Ergebnisse")
    for path, text in (("/results", "Die Alarme"), ("/items", "Einträge"), ("/team", "Wer urteilt")):
        page.goto(trained.address + path)
        expect(page.locator("main")).to_contain_text(text)
        assert violations(page) == []
    page.locator("#language").select_option("fr")
    expect(page.locator("nav")).to_contain_text("Résultats")
    expect(page.locator("html")).to_have_attribute("lang", "fr")


def test_leaving_and_being_sent_away(browser: Browser, live: Live) -> None:
    owner, ann = live.open(browser), live.open(browser, "ann", "annotator")
    owner.goto(f"{live.address}/team")
    row = owner.locator("#sign-ins li", has_text="ann")
    row.get_by_role("button", name="Sign out").click()
    expect(row).to_have_count(0)
    ann.reload()
    expect(ann.locator("h1")).to_have_text("You are not signed in")
    owner.get_by_role("button", name="Sign out", exact=True).first.click()
    expect(owner.locator("h1")).to_have_text("You are not signed in")


def test_an_unknown_address_leads_back(browser: Browser, live: Live) -> None:
    page = live.open(browser)
    page.goto(f"{live.address}/nothing/here")
    expect(page.locator("h1")).to_have_text("There is nothing here")
    assert violations(page) == []
    page.get_by_role("link", name="Go to the labelling page").click()
    expect(page.locator("#labelling")).to_be_visible()


def test_a_wide_row_is_folded_and_searched(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [[f"r{row}", *rng.normal(size=200).round(3).tolist()] for row in range(30)]
    write_rows(tmp_path / "wide.csv", ["pump", *(f"sensor {at}" for at in range(200))], rows)
    with serving(build_page(tmp_path, table=tmp_path / "wide.csv")) as live:
        page = live.open(browser)
        expect(page.locator("#item-body .field")).to_have_count(30)
        page.locator(".field-search").fill("sensor 19")
        expect(page.locator("#item-body .field")).to_have_count(11)
        page.locator(".field-search").fill("")
        page.get_by_role("button", name="Show all 200 values").click()
        expect(page.locator("#item-body .field")).to_have_count(200)
        assert violations(page) == []


def test_a_session_fitted_elsewhere_has_results(browser: Browser, live: Live) -> None:
    session = live.page.view_model.session
    session.tell(dict.fromkeys(session.state.open, "normal"))
    session.fit()
    page = live.open(browser, "ann", "annotator")
    page.goto(f"{live.address}/results")
    expect(page.locator("#facts")).to_contain_text(re.compile(r"Labels\s*6\b"))
    expect(page.locator("#download-csv")).to_have_count(0)


def test_a_second_opinion_is_waited_for_and_disputes_before_training(browser: Browser, tmp_path: Path) -> None:
    with serving(build_page(tmp_path, answers_per_item=2)) as live:
        items, ann = live.page.get("/api/status")["open"], live.page.user("ann")
        for item in items:
            live.page.post("/api/answers", item=item, verdict="normal")
        page = live.open(browser)
        expect(page.locator("#waiting-title")).to_have_text("Waiting for a second opinion on 6 items")
        for item in items:
            ann.post("/api/answers", json={"item": item, "verdict": "anomaly" if item == items[0] else "normal"})
        expect(page.locator("#waiting-title")).to_have_text("People disagree on 1 item")
        assert violations(page) == []
        page.get_by_role("link", name="Decide them").click()
        expect(page.locator("#disagreements .field")).to_have_count(6)
        page.get_by_role("button", name="Normal").click()
        expect(page.locator("#agreed")).to_be_visible()
        assert live.page.work.steps == ["ask", "fit"], "the last decision starts the training"


def test_alarms_are_there_before_the_points_of_the_map(browser: Browser, trained: Live) -> None:
    page, held = trained.open(browser), []
    page.route("**/api/map", lambda route: held.append(route))  # the points do not come
    page.goto(f"{trained.address}/results")
    expect(page.locator("#top > li").first).to_be_visible()
    expect(page.locator("#chosen .compared")).to_be_visible()
    page.wait_for_timeout(500)
    assert len(held) == 1
    held[0].continue_()
    pick(page)
    expect(page.locator("#map-item h2")).to_be_visible()


def test_a_second_training_leaves_one_map(browser: Browser, trained: Live) -> None:
    page, rows = trained.open(browser), []
    page.on("request", lambda request: rows.append(request.url) if "/api/row" in request.url else None)
    page.goto(f"{trained.address}/results")
    pick(page)
    expect(page.locator("#map-item h2")).to_be_visible()
    assert len(rows) == 1
    page.locator("#map-item [aria-pressed=false]").first.click()
    expect(page.locator("#map-item [aria-pressed=true]")).to_have_count(1)
    with page.expect_response("**/api/map"):
        page.locator("#train").click()
    pick(page)
    page.wait_for_timeout(500)
    assert len(rows) == 2, "the points of the first training are still listening"


def pick(page: Page) -> None:
    """The item in the middle of the map, by one key. A key for what is still hidden goes to nobody."""
    expect(page.locator("#live")).to_have_text("The results are shown.")
    page.locator("#map").press("Enter")
