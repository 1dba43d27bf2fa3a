"""The line about how the table was read, on the first page and in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.web.accessibility import violations
from tests.web.browser import LabelCommand
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving
from tests.web.test_columns import write_doubtful
from tests.web.test_reading_view import write_sure

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def sure(tmp_path: Path) -> Iterator[Live]:
    with serving(build_page(tmp_path, table=write_sure(tmp_path / "sure.csv"), id_column=None)) as live:
        yield live


def test_the_first_page_of_soel_label_says_how_a_sure_table_was_read(browser: Browser, tmp_path: Path) -> None:
    command = LabelCommand(write_sure(tmp_path / "sure.csv"))
    page = browser.new_page()
    try:
        page.goto(command.start())
        expect(page.locator("#reading-words")).to_contain_text("5 columns: 3 numbers, 1 yes or no")
        expect(page.locator("#labelling")).to_be_visible(timeout=60_000)
        expect(page.locator("#reading-words")).to_contain_text("5 columns: 3 numbers, 1 yes or no")
        expect(page.locator("#reading-rows")).to_be_hidden()
    finally:
        command.stop()
        page.close()


def test_it_unfolds_by_key_and_stays_as_it_was_left(browser: Browser, sure: Live) -> None:
    page = sure.open(browser)
    expect(page.locator("#reading-words")).to_contain_text("5 columns")
    page.locator("#help-open").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "reading-summary"
    page.keyboard.press("Enter")
    row = page.locator("#reading-rows tr").filter(has_text="Kosten")
    expect(row).to_contain_text("number, decimal comma, thousands by point, in €")
    expect(row).to_contain_text('categorical = ["Kosten"]')
    expect(page.locator("#reading-rows tr").filter(has_text="Stufe")).to_contain_text("20 % empty")
    assert violations(page) == []
    page.reload()
    expect(page.locator("#reading-rows tr")).to_have_count(5)
    page.locator("#reading-summary").press("Enter")
    page.reload()
    expect(page.locator("#reading-words")).to_contain_text("5 columns")
    expect(page.locator("#reading-rows")).to_be_hidden()
    page.goto(f"{sure.address}/data")
    page.locator("#reading-summary").click()
    expect(page.locator("#reading-rows tr")).to_have_count(5)
    assert violations(page) == []
    page.context.close()


def test_nobody_waits_for_it(browser: Browser, sure: Live) -> None:
    page = sure.open(browser)
    page.route("**/api/reading", lambda route: None)
    page.reload()
    expect(page.locator("#labelling")).to_be_visible()
    first = page.locator("#item-title").inner_text()
    page.keyboard.press("n")
    expect(page.locator("#item-title")).not_to_have_text(first)
    expect(page.locator("#progress-words")).to_contain_text("1 of 6")
    page.context.close()


@pytest.mark.parametrize(("language", "scheme"), [("de", "dark"), ("fr", "light")])
def test_an_unsure_reading_is_open_below_the_item_of_a_phone(
    browser: Browser, tmp_path: Path, language: str, scheme: str
) -> None:
    with serving(build_page(tmp_path, table=write_doubtful(tmp_path / "doubtful.csv"), id_column=None)) as live:
        page = live.open(
            browser, viewport={"width": 375, "height": 700}, locale=language, color_scheme=scheme, has_touch=True
        )
        expect(page.locator("#reading-rows tr")).to_have_count(4)
        expect(page.locator("#reading-rows tr.doubtful").first).to_contain_text("id_column = ")
        top = "place => place.getBoundingClientRect().top"
        assert page.locator("#labelling").evaluate(top) < page.locator("#reading").evaluate(top)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        assert violations(page) == []
        page.context.close()


def test_a_thousand_columns_are_found_by_name(browser: Browser, tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(60, 1000)).round(3)
    head = ",".join(f"sensor {at}" for at in range(1000))
    np.savetxt(tmp_path / "wide.csv", numbers, "%.3f", ",", header=head, comments="")
    with serving(build_page(tmp_path, table=tmp_path / "wide.csv", id_column=None)) as live:
        page = live.open(browser)
        expect(page.locator("#reading-words")).to_contain_text("1,000 columns: 1,000 numbers.")
        page.locator("#reading-summary").click()
        page.get_by_label("Find a column").fill("sensor 99")
        expect(page.locator("#reading-found")).to_have_text("11 columns found")
        expect(page.locator("#reading-rows tr:visible")).to_have_count(11)
        assert page.locator("#reading").evaluate("place => place.offsetHeight") < 800, "the item is not far"
        page.context.close()
