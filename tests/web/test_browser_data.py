"""The data page in a real browser: names, more data, more questions, and what an annotator sees of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Route, expect

from soel.media import picture_pool
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
