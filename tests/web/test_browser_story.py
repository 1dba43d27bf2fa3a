"""The whole story in a real browser, by the real command: real features, real training, a real video file.

On a table, a folder of pictures and a clip: open, label with keys, undo, skip, reload, kill -9 the server, go on,
train, drag the threshold, confirm a top item, download.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from soel.tables.rows import read_rows
from tests.web.browser import LabelCommand
from tests.web.pictures import N_DISCS, N_FRAMES, write_clip, write_discs
from tests.web.sample_data import write_pumps

BUDGET, N_ROWS, SLOW = 8, 120, 60_000  # milliseconds
KINDS = ("table", "image", "video")


@dataclass(frozen=True)
class Story:
    """What is labelled. look: checks what the expert sees of an item when one anomaly is labelled."""

    command: LabelCommand
    n_items: int
    look: Callable[[Page], None]


@pytest.fixture(params=KINDS)
def story(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    if request.param != "table":
        monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    story = MAKERS[request.param](tmp_path)
    yield story
    story.command.stop()


def of_table(place: Path) -> Story:
    write_pumps(place / "pumps.csv", N_ROWS, 12)
    return Story(LabelCommand(place / "pumps.csv", ("--id-column", "pump", *budget())), N_ROWS, look_at_row)


def of_pictures(place: Path) -> Story:
    write_discs(place / "discs")
    return Story(LabelCommand(place / "discs", budget()), N_DISCS, look_at_picture)


def of_clip(place: Path) -> Story:
    write_clip(place / "belt.mp4")
    return Story(LabelCommand(place / "belt.mp4", budget()), N_FRAMES, look_at_frame)


MAKERS = {"table": of_table, "image": of_pictures, "video": of_clip}


def budget() -> tuple[str, str]:
    return ("--budget", str(BUDGET))


def look_at_row(page: Page) -> None:
    expect(page.locator("#item-body .field")).to_have_count(10)
    expect(page.locator("#item-body svg.strip .mark")).to_have_count(10)


def look_at_picture(page: Page) -> None:
    assert page.evaluate("document.querySelector('.picture').decode().then(() => true)")
    expect(page.locator(".thumbs .anomaly img")).to_have_count(1)
    page.locator(".zoom").click()
    expect(page.locator(".zoom.zoomed")).to_have_count(1)


def look_at_frame(page: Page) -> None:
    look_at_picture(page)
    expect(page.locator(".thumbs .now img")).to_have_count(1)
    expect(page.locator("#item-title")).to_have_text(re.compile(r"^belt\.mp4 at \d\.\d+ s$"))
    around = page.locator(".thumbs").filter(has=page.locator(".now")).locator("img")
    assert around.count() > 1
    assert around.evaluate_all("(all) => Promise.all(all.map((each) => each.decode())).then(() => true)")


def title(page: Page) -> str:
    expect(page.locator("#labelling")).to_be_visible(timeout=SLOW)
    return page.locator("#item-title").inner_text()


def progress(page: Page, n_given: int) -> None:
    expect(page.locator("#progress-words")).to_contain_text(f"{n_given} of {BUDGET} labels")


def press(page: Page, key: str) -> str:
    """Press a key, wait for the next item; returns the item that was on the page."""
    before = title(page)
    page.keyboard.press(key)
    expect(page.locator("#item-title")).not_to_have_text(before)
    return before


def test_from_the_link_to_the_download(browser: Browser, story: Story, tmp_path: Path) -> None:
    problems: list[str] = []
    page = browser.new_context(accept_downloads=True).new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(story.command.start())
    label_undo_and_skip(page, story)
    reload_and_kill(page, story.command)
    train(page)
    drag_the_threshold(page)
    download(page, tmp_path / "scores.csv", story.n_items)
    confirm_one(page)
    page.context.close()
    assert problems == []


def label_undo_and_skip(page: Page, story: Story) -> None:
    first = press(page, "n")
    expect(page.locator("#saved")).to_contain_text("Saved: normal")
    progress(page, 1)
    page.keyboard.press("z")
    expect(page.locator("#item-title")).to_have_text(first)
    progress(page, 0)
    press(page, "a")
    story.look(page)
    press(page, "s")
    progress(page, 1)
    page.locator("#note").fill("a n u s z: typing gives no answers")
    progress(page, 1)
    page.keyboard.press("Escape")
    noted = press(page, "n")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#item-title")).to_have_text(noted)
    expect(page.locator("#note")).to_have_value(re.compile("typing gives no answers"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("#item-title")).not_to_have_text(noted)


def reload_and_kill(page: Page, command: LabelCommand) -> None:
    current = title(page)
    page.reload()
    expect(page.locator("#item-title")).to_have_text(current)
    command.kill()
    page.keyboard.press("n")
    expect(page.locator("#saved")).to_contain_text("Trying again")
    command.start()
    expect(page.locator("#saved")).to_contain_text("Saved", timeout=SLOW)
    progress(page, 3)
    expect(page.locator("#item-title")).not_to_have_text(current)


def train(page: Page) -> None:
    for _ in range(BUDGET - 4):
        press(page, "n")
    page.keyboard.press("a")
    expect(page.locator("#waiting-title")).to_have_text("Learning from your answers")
    page.wait_for_url("**/results", timeout=SLOW)
    expect(page.locator("#facts")).to_contain_text(re.compile(rf"Labels\s*{BUDGET}\b"))


def drag_the_threshold(page: Page) -> None:
    expect(page.locator(".handle")).to_have_attribute("aria-valuetext", re.compile("alarm"))
    handle = page.locator(".handle .grip").bounding_box()
    assert handle is not None
    n_before = int(page.locator("#alarms").input_value())
    page.mouse.move(handle["x"] + 6, handle["y"] + 10)
    page.mouse.down()
    page.mouse.move(handle["x"] - 600, handle["y"] + 10, steps=5)
    page.mouse.up()
    assert int(page.locator("#alarms").input_value()) > n_before
    page.locator("#alarms").fill("7")
    page.locator("#alarms").press("Tab")
    expect(page.locator(".handle")).to_have_attribute("aria-valuetext", re.compile(", 7 alarms$"))


def download(page: Page, path: Path, n_items: int) -> None:
    with page.expect_download() as download:
        page.locator(".menu summary").click()
        page.locator("#download-csv").click()
    download.value.save_as(path)
    rows = read_rows(path)
    assert (len(rows), sum(row["alarm"] == "True" for row in rows)) == (n_items, 7)


def confirm_one(page: Page) -> None:
    unlabelled = page.locator("#top li", has_not=page.locator("[aria-pressed=true]")).first
    unlabelled.get_by_role("button", name="Anomaly").click()
    expect(page.locator("#saved")).to_contain_text("is anomaly")
    expect(page.locator("#stale")).to_be_visible()
