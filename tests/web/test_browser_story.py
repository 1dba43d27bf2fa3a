"""The whole story of a table in a real browser, with the real engine and the real command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from soel.data.csv_cells import read_rows
from tests.web.browser import LabelCommand
from tests.web.made_up import write_pumps

BUDGET, N_ROWS = 8, 120


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LabelCommand]:
    write_pumps(tmp_path / "pumps.csv", N_ROWS, 12)
    command = LabelCommand(tmp_path / "pumps.csv", ("--id-column", "pump", "--budget", str(BUDGET)))
    yield command
    command.stop()


def title(page: Page) -> str:
    expect(page.locator("#desk")).to_be_visible(timeout=40_000)
    expect(page.locator("#item-title")).not_to_have_text("")  # the desk is shown a moment before its first item
    return page.locator("#item-title").inner_text()


def press(page: Page, key: str) -> str:
    """Press a key, wait for the confirmation and the next item; returns the item that was on the page."""
    before = title(page)
    page.keyboard.press(key)
    expect(page.locator("#item-title")).not_to_have_text(before)
    return before


def test_a_table_from_the_link_to_the_download(browser: Browser, command: LabelCommand, tmp_path: Path) -> None:
    problems: list[str] = []
    page = browser.new_context(accept_downloads=True).new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(command.start())

    first = press(page, "n")
    expect(page.locator("#saved")).to_contain_text("Saved: normal")
    expect(page.locator("#progress-words")).to_contain_text(f"1 of {BUDGET} labels")

    page.keyboard.press("z")
    expect(page.locator("#item-title")).to_have_text(first)
    expect(page.locator("#progress-words")).to_contain_text(f"0 of {BUDGET} labels")
    press(page, "a")

    press(page, "s")
    expect(page.locator("#progress-words")).to_contain_text(f"1 of {BUDGET} labels")

    page.locator("#note").fill("a n u s z: typing gives no answers")
    expect(page.locator("#progress-words")).to_contain_text(f"1 of {BUDGET} labels")
    page.keyboard.press("Escape")
    noted = press(page, "n")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#item-title")).to_have_text(noted)
    expect(page.locator("#note")).to_have_value(re.compile("typing gives no answers"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("#item-title")).not_to_have_text(noted)

    current = title(page)
    page.reload()
    expect(page.locator("#item-title")).to_have_text(current)

    command.kill()
    page.keyboard.press("n")
    expect(page.locator("#saved")).to_contain_text("Trying again")
    command.start()
    expect(page.locator("#saved")).to_contain_text("Saved", timeout=20_000)
    expect(page.locator("#progress-words")).to_contain_text(f"3 of {BUDGET} labels")
    expect(page.locator("#item-title")).not_to_have_text(current)

    for _ in range(BUDGET - 4):
        press(page, "n")
    page.keyboard.press("a")
    expect(page.locator("#waiting-title")).to_have_text("Learning from your answers")
    page.wait_for_url("**/results", timeout=60_000)
    expect(page.locator("#headline")).to_contain_text(f"learned from {BUDGET} labels")

    handle = page.locator(".handle .grip").bounding_box()
    assert handle is not None
    n_before = int(page.locator("#alarms").input_value())
    page.mouse.move(handle["x"] + 7, handle["y"] + 10)
    page.mouse.down()
    page.mouse.move(handle["x"] - 400, handle["y"] + 10, steps=5)
    page.mouse.up()
    n_dragged = int(page.locator("#alarms").input_value())
    assert n_dragged > n_before

    page.locator("#alarms").fill("7")
    page.locator("#alarms").press("Tab")
    expect(page.locator("#threshold-words")).to_contain_text("7 alarms")
    with page.expect_download() as download:
        page.locator("#download-csv").click()
    download.value.save_as(tmp_path / "scores.csv")
    rows = read_rows(tmp_path / "scores.csv")
    assert (len(rows), sum(row["is_anomaly"] == "True" for row in rows)) == (N_ROWS, 7)

    unlabelled = page.locator("#top li", has_not=page.locator("[aria-pressed=true]")).first
    unlabelled.get_by_role("button", name="Anomaly").click()
    expect(page.locator("#saved")).to_contain_text("is anomaly")
    expect(page.locator("#stale")).to_be_visible()
    assert problems == []
