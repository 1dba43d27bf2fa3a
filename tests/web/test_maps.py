"""Unusual places on the page: asked for by a key, drawn over the picture, never before."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from soel.media import picture_pool
from tests.features.test_patches import PlaceExtractor
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
    assert mapped.headers["cache-control"] == "no-store"
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


def test_the_key_m_switches_the_map(browser: Browser, page: Page) -> None:
    with serving(page) as live:
        opened = live.open(browser)
        picture, button = opened.locator(".zoom .picture"), opened.get_by_role("button", name="Show unusual places")
        expect(picture).to_be_visible()
        assert "map" not in str(picture.get_attribute("src"))
        expect(button).to_have_attribute("aria-pressed", "false")
        opened.keyboard.press("m")
        expect(button).to_have_attribute("aria-pressed", "true")
        assert "map=true" in str(picture.get_attribute("src"))
        assert opened.evaluate("document.querySelector('.zoom .picture').decode().then(() => true)")
        assert violations(opened) == []
        if "SOEL_PICTURES" in os.environ:
            opened.screenshot(path=str(Path(os.environ["SOEL_PICTURES"]) / "map.png"))
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        opened.keyboard.press("m")
        title = opened.locator("#item-title").inner_text()
        opened.keyboard.press("n")
        expect(opened.locator("#item-title")).not_to_have_text(title)
        assert "map" not in str(opened.locator(".zoom .picture").get_attribute("src"))  # off for every new picture
