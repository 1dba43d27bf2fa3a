"""The data page in a real browser: names, more data, more questions, and what an annotator sees of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Route, expect

from soel.images import picture_pool
from tests.web.accessibility import violations
from tests.web.conftest import BUDGET, N_ITEMS, build_page
from tests.web.live_server import Live, serving
from tests.web.pictures import Brightness, draw_disc
from tests.web.test_data_page import more_pumps
from tests.web.test_media import build_pictures

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def trained(tmp_path: Path) -> Iterator[Live]:
    with serving(build_page(tmp_path)) as live:
        live.page.label_all()
        yield live


def test_the_owner_names_the_session_adds_a_month_and_asks_on(browser: Browser, trained: Live, tmp_path: Path) -> None:
    (tmp_path / "march.csv").write_bytes(more_pumps(tmp_path, 6))
    page = trained.open(browser)
    page.get_by_role("link", name="Data").click()
    page.get_by_label("Name").fill("Pumps, north")
    page.get_by_label("What it is about").fill("One row an hour")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    expect(page.locator("#changes tr")).to_have_count(1)
    page.locator("#files").set_input_files(tmp_path / "march.csv")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#adding")).to_have_text(f"The session has {N_ITEMS + 6} items now.")
    expect(page.locator("#changes tr").nth(1)).to_contain_text("march.csv")
    expect(page.locator("#changes tr").nth(1)).to_contain_text("6 added")
    expect(page.locator("#budget")).to_have_text(f"{BUDGET} of {BUDGET} labels are given.")
    assert violations(page) == []
    page.get_by_label("How many").fill("3")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url(re.compile(r"/$"))
    expect(page.locator("#labelling")).to_be_visible()
    expect(page.locator(".source")).to_have_text("Pumps, north")
    assert len(trained.page.view_model.session.state.open) == 3
    page.goto(f"{trained.address}/data")
    expect(page.locator("#budget")).to_contain_text("3 questions are open; answer them first.")
    expect(page.get_by_role("button", name="Ask")).to_be_disabled()
    page.goto(f"{trained.address}/items")
    expect(page.locator("#total")).to_have_text(f"{N_ITEMS + 6} items")


def test_what_is_typed_before_the_page_has_loaded_stays(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    held: list[Route] = []
    page.route("**/api/data", lambda route: held.append(route))
    page.goto(f"{trained.address}/data")
    page.get_by_label("Name").fill("Pumps, north")
    page.wait_for_timeout(100)
    for route in held:
        route.continue_()
    expect(page.locator("#changes tr")).to_have_count(1)
    expect(page.get_by_label("Name")).to_have_value("Pumps, north")


def test_what_is_wrong_with_a_file_is_said_beside_it(browser: Browser, trained: Live, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    page = trained.open(browser)
    page.goto(f"{trained.address}/data")
    page.locator("#files").set_input_files(tmp_path / "odd.csv")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#adding")).to_contain_text("odd.csv has no column 'pump'")
    expect(page.locator("#changes tr")).to_have_count(1)
    expect(page.get_by_role("button", name="Add", exact=True)).to_be_enabled()


def test_an_annotator_sees_the_data_and_no_forms_on_a_dark_phone(browser: Browser, trained: Live) -> None:
    trained.page.view_model.session.describe("Pumps", "One row an hour")
    look = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark", "locale": "de-DE"}
    page = trained.open(browser, "Ann", "annotator", **look)
    page.goto(f"{trained.address}/data")
    expect(page.locator("#name")).to_have_text("Pumps")
    expect(page.locator("#items")).to_have_text(f"Die Sitzung hat {N_ITEMS} Einträge.")
    expect(page.locator("form:not(.who)")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []


def test_pictures_are_added_several_at_once(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: Brightness())
    rng = np.random.default_rng(99)
    for number in range(3):
        Image.fromarray(draw_disc(rng, False)).save(tmp_path / f"new-{number}.png")
    with serving(build_pictures(tmp_path, "image")) as live:
        n_items = len(live.page.view_model.session.ids)
        page = live.open(browser)
        page.goto(f"{live.address}/data")
        page.locator("#files").set_input_files([tmp_path / f"new-{number}.png" for number in range(3)])
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("#adding")).to_have_text(f"The session has {n_items + 3} items now.")
        newest = live.page.view_model.session.ids[-1]
        assert live.page.client.get("/api/image", params={"id": newest}).status_code == 200
        assert live.page.view_model.items.title(newest) == "new-2.png"


def test_columns_labels_of_others_and_items_that_leave(browser: Browser, trained: Live, tmp_path: Path) -> None:
    session = trained.page.view_model.session
    free = [item for item in session.ids if item not in session.state.labels]
    (tmp_path / "labels.csv").write_text(f"item_id,label,note,who\n{free[0]},anomaly,,Bo\nelsewhere,normal,,Bo\n")
    page = trained.open(browser)
    page.goto(f"{trained.address}/data")
    page.locator("#reading-summary").click()
    expect(page.locator("#reading-rows")).to_contain_text("bearing temperature")
    page.locator("#take-file").set_input_files(tmp_path / "labels.csv")
    page.get_by_role("button", name="Take them in").click()
    expect(page.locator("#taken")).to_have_text("1 answer was taken in. 1 is about an item that is not here.")
    page.get_by_label("Their ids, one a line").fill(f"{free[1]}\n{free[2]}\n")
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#removed")).to_have_text(f"2 items were removed; {N_ITEMS - 2} are left.")
    expect(page.locator("#changes tr")).to_have_count(2)
    page.get_by_label("Their ids, one a line").fill("nobody")
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("#removed")).to_contain_text("no item 'nobody'")
    assert violations(page) == []


def test_on_a_phone_the_first_hint_stands_below_the_item(browser: Browser, tmp_path: Path) -> None:
    with serving(build_page(tmp_path)) as live:
        page = live.open(browser, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
        expect(page.locator("#hint")).to_be_visible()
        hint, item = page.locator("#hint").bounding_box(), page.locator(".panel.item").bounding_box()
        assert hint is not None
        assert item is not None
        assert item["y"] + item["height"] <= hint["y"]
        assert item["y"] < 400, "the item is seen without scrolling"
