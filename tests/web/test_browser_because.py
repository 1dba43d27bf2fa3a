"""Why an item is an anomaly, said by keys alone in a real browser, in three languages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from soel.text import LANGUAGES, texts_in
from tests.web.accessibility import violations
from tests.web.conftest import build_page
from tests.web.live_server import Live, serving

pytestmark = pytest.mark.usefixtures("fake")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with serving(build_page(tmp_path, answers_per_item=2)) as live:
        yield live


def names_in(found: Locator) -> list[str]:
    return [str(name) for name in found.evaluate_all("(all) => all.map((each) => each.dataset.name)")]


def names_of(page: Page, group: int = 0) -> list[str]:
    return names_in(page.locator(".pressable").nth(group).locator(".press"))


def pressed(page: Page) -> list[str]:
    return names_in(page.locator('.press[aria-pressed="true"]'))


def answer(page: Page, key: str) -> None:
    """Press a key that leads to another item."""
    before = page.locator("#item-title").inner_text()
    page.keyboard.press(key)
    expect(page.locator("#item-title")).not_to_have_text(before)


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("SOEL_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_by_keys_from_the_value_to_the_export(browser: Browser, live: Live) -> None:
    page = live.open(browser, viewport={"width": 1280, "height": 900})
    session = live.page.view_model.session
    expect(page.locator("#labelling")).to_be_visible()
    first, item = names_of(page), page.locator("#item-title").inner_text()
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("2")
    assert pressed(page) == first[:1], "the second press takes it back"
    expect(page.locator("#because")).to_contain_text(first[0])
    assert not session.state.answers, "nothing is stored before the answer"
    second_group = names_of(page, 1)
    page.keyboard.press("Tab")
    page.keyboard.press("1")
    assert set(pressed(page)) == {first[0], second_group[0]}
    page.keyboard.press("1")
    assert violations(page) == []
    picture(page, "pressed")
    answer(page, "a")
    [(known, names)] = session.state.named.items()
    assert names == (first[0],)
    assert pressed(page) == [], "the next item has none"
    answer(page, "n")
    assert len(session.state.answers) == 2
    assert len(session.state.named) == 1, "who presses nothing says nothing"
    answer(page, "ArrowLeft")
    answer(page, "ArrowLeft")
    expect(page.locator("#item-title")).to_have_text(item)
    assert pressed(page) == [first[0]]
    page.locator("#item-title").click()  # the focus leaves the group
    page.keyboard.press("3")
    expect(page.locator("#saved")).to_contain_text(first[2])
    assert session.state.named[known] == (first[0], first[2])
    page.keyboard.press("z")
    expect(page.locator("#saved")).to_contain_text("Taken back")
    assert session.state.named[known] == (first[0],)
    page.goto(f"{live.address}/review")
    expect(page.locator("#rows")).to_contain_text(f"Because of: {first[0]}")
    picture(page, "review")
    page.goto(f"{live.address}/items?search={item}")
    expect(page.locator("#top")).to_contain_text(f"Because of: {first[0]}")
    picture(page, "items")
    assert first[0] in page.request.get(f"{live.address}/api/labels.csv").text()
    page.context.close()


def test_nobody_sees_it_before_an_own_answer(browser: Browser, live: Live) -> None:
    ann = live.page.get("/api/status")["open"][0]
    name = live.page.get("/api/item", id=ann)["fields"][0]["name"]
    live.page.post("/api/answers", item=ann, verdict="anomaly", because=[name])
    bob = live.page.user("bob")
    assert bob.get("/api/item", params={"id": ann}).json()["named"] == []
    bob.post("/api/answers", json={"item": ann, "verdict": "normal"})
    assert bob.get("/api/item", params={"id": ann}).json()["named"] == [{"who": "expert", "text": name}]


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_said_in_every_language(browser: Browser, live: Live, language: str) -> None:
    page = live.open(browser, locale=language, viewport={"width": 1280, "height": 900})
    expect(page.locator("#labelling")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#because")).to_have_text(texts_in(language)("because.shown", names=names_of(page)[0]))
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text(texts_in(language)("help.because"))
    picture(page, f"help-{language}")
    page.context.close()
