"""Checking the result in a real browser: from the button to the ranges, with the same keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.session.fake_learner import use_fake_learner
from tests.web.accessibility import violations
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Live]:
    use_fake_learner(monkeypatch)
    with serving(build_page(tmp_path)) as live:
        live.page.label_all()
        yield live


def test_a_check_from_the_button_to_the_ranges(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.goto(f"{trained.address}/results")
    expect(page.locator("#check")).to_contain_text("Not checked yet")
    page.locator("#check summary").click()
    expect(page.locator("#check li").first).to_contain_text("A check of 10 items")
    assert violations(page) == []
    page.get_by_label("How many", exact=True).fill("10")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#check-notice")).to_be_visible()
    expect(page.locator("#labelling")).to_be_visible()
    assert violations(page) == []
    for left in range(9, -1, -1):
        item = page.locator("#item-title").inner_text()
        page.keyboard.press("n" if left % 2 else "a")
        if left:
            expect(page.locator("#item-title")).not_to_have_text(item)
    page.get_by_role("link", name="Look at the results").click()
    expect(page.locator("#check")).to_contain_text("alarms are real")
    expect(page.locator("#facts")).to_contain_text("by a spot check of 10")
    page.locator("#check summary").click()
    expect(page.locator("#check li").first).to_have_text(re.compile("^Spot check of 10 items drawn by chance"))


def test_what_is_not_sure_is_looked_at_and_asked(browser: Browser, trained: Live) -> None:
    page = trained.open(browser)
    page.goto(f"{trained.address}/results")
    expect(page.locator("#unsure")).to_contain_text("items without a label are not sure")
    page.locator("#unsure-items").click()
    expect(page.locator("input[name=unsure]")).to_be_checked()
    expect(page.locator("#top li").first).to_be_visible()
    page.goto(f"{trained.address}/results")
    page.get_by_role("button", name="Ask ten questions, these first").click()
    expect(page.locator("#labelling")).to_be_visible()
    expect(page.locator("#check-notice")).to_be_hidden()
    assert trained.page.work.steps[-1] == "unsure"


def test_what_alarms_promise_stands_beside_the_line(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_learner(monkeypatch)
    with serving(build_page(tmp_path, threshold="false-alarms=0.02")) as live:
        live.page.label_all()
        page = live.open(browser)
        page.goto(f"{live.address}/results")
        page.locator(".scores summary").click()
        expect(page.locator(".scores li")).to_contain_text("At most 2 % of new normal items raise an alarm")
        assert violations(page) == []
