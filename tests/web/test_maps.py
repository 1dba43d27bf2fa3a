"""Unusual places on the page: asked for by a key, drawn over the picture, never before."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from soel.images import picture_pool
from soel.report.facts import gather_report
from soel.report.page import write_report
from soel.text import ENGLISH
from tests.images.test_patches import PlaceExtractor
from tests.web.accessibility import violations
from tests.web.conftest import Page, build_page
from tests.web.live_server import serving
from tests.web.pictures import Brightness
from tests.web.test_media import build_pictures


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda _: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    built = build_pictures(tmp_path, "image")
    yield built
    built.view_model.session.close()


def test_a_map_is_drawn_over_the_picture_when_it_is_asked_for(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    assert page.get("/api/item", id=item)["has_map"] is True
    plain = page.client.get("/api/image", params={"id": item, "size": 256})
    mapped = page.client.get("/api/image", params={"id": item, "size": 256, "map": True})
    assert mapped.headers["content-type"] == "image/png"
    assert mapped.headers["cache-control"] == "private, no-cache"
    first, second = (np.asarray(Image.open(io.BytesIO(answer.content))) for answer in (plain, mapped))
    assert first.shape == second.shape


def test_rows_and_whole_pictures_have_no_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda _: Brightness())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "t").mkdir()
    for built in (build_pictures(tmp_path, "image"), build_page(tmp_path / "t")):
        item = built.view_model.session.ids[0]
        assert built.get("/api/item", id=item)["has_map"] is False
        assert built.client.get("/api/image", params={"id": item, "map": True}).status_code == 404
        built.view_model.session.close()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_the_key_m_switches_the_map(browser: Browser, page: Page, look: str) -> None:
    size = {"width": 390, "height": 844} if look == "phone" else {"width": 1280, "height": 900}
    with serving(page) as live:
        opened = live.open(browser, viewport=size, color_scheme="dark" if look == "dark" else "light")
        picture, button = opened.locator(".zoom .picture"), opened.get_by_role("button", name="Show unusual places")
        expect(picture).to_be_visible()
        assert "map" not in str(picture.get_attribute("src"))
        expect(button).to_have_attribute("aria-pressed", "false")
        opened.keyboard.press("m")
        expect(button).to_have_attribute("aria-pressed", "true")
        assert "map=true" in str(picture.get_attribute("src"))
        assert opened.evaluate("document.querySelector('.zoom .picture').decode().then(() => true)")
        expect(opened.locator(".map-words")).to_have_text(re.compile("can also lie where there is no colour"))
        assert violations(opened) == []
        if "SOEL_PICTURES" in os.environ:
            opened.screenshot(path=str(Path(os.environ["SOEL_PICTURES"]) / f"map-{look}.png"))
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        expect(opened.locator(".map-words")).to_have_text("")
        opened.keyboard.press("m")
        title = opened.locator("#item-title").inner_text()
        opened.keyboard.press("n")
        expect(opened.locator("#item-title")).not_to_have_text(title)
        assert "map" not in str(opened.locator(".zoom .picture").get_attribute("src"))  # off for every new picture


def test_the_owner_may_let_maps_wait_for_an_own_answer(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    assert page.get("/api/maps") == {"has_maps": True, "wait": False}
    page.post("/api/maps", wait=True)
    ann = page.user("ann")
    assert ann.get("/api/item", params={"id": item}).json()["has_map"] is False
    refused = ann.get("/api/image", params={"id": item, "map": True})
    assert refused.status_code == 409
    assert "after your own answer" in refused.json()["error"]
    assert ann.get("/api/image", params={"id": item}).status_code == 200
    ann.post("/api/answers", json={"item": item, "verdict": "normal"})
    assert ann.get("/api/item", params={"id": item}).json()["has_map"] is True
    assert ann.get("/api/image", params={"id": item, "map": True}).status_code == 200
    assert page.client.get("/api/image", params={"id": item, "map": True}).status_code == 409  # the owner too
    page.post("/api/maps", wait=False)
    assert page.client.get("/api/image", params={"id": item, "map": True}).status_code == 200


def test_the_choice_is_on_the_team_page_and_maps_are_in_the_gallery_of_alarms(browser: Browser, page: Page) -> None:
    page.label_all()
    with serving(page) as live:
        opened = live.open(browser)
        opened.goto(f"{live.address}/results")
        button = opened.get_by_role("button", name="Show unusual places in the pictures of the list")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(opened.locator("#top .thumb").first).to_have_attribute("src", re.compile("map=true"))
        words = opened.get_by_role("region", name="The alarms").get_by_text("A defect can also lie")
        expect(words).to_be_visible()
        assert violations(opened) == []
        if "SOEL_PICTURES" in os.environ:
            opened.locator("#top").screenshot(path=str(Path(os.environ["SOEL_PICTURES"]) / "gallery.png"))
        opened.goto(f"{live.address}/team")
        opened.get_by_label("Show it only after a person's own answer").check()
        expect(opened.locator("#saved")).to_contain_text("stored")
        assert page.view_model.session.state.maps_wait
        assert violations(opened) == []


def test_on_a_phone_the_report_shows_its_whole_legend_and_all_pictures(
    browser: Browser, page: Page, tmp_path: Path
) -> None:
    page.label_all()
    opened = browser.new_page(viewport={"width": 390, "height": 844})
    opened.goto(write_report(gather_report(page.view_model.session), tmp_path / "report.html").as_uri())
    legend = opened.locator("p.legend", has_text=ENGLISH("zoom.map_key")).bounding_box()
    assert legend is not None
    assert 0 <= legend["x"] < legend["x"] + legend["width"] <= 390
    place = opened.locator('[aria-labelledby="asked-title"] .scroll')
    assert place.evaluate("place => place.scrollHeight <= place.clientHeight + 1")
    opened.close()
