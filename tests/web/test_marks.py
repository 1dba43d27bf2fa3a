"""Drawing on pictures: stored at once, taken back, hidden from who has not answered; by mouse, touch and keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page as Opened, expect

from soel.images import picture_pool
from soel.session.marks import Region
from tests.images.test_patches import PlaceExtractor
from tests.web.accessibility import violations
from tests.web.conftest import MakePage, Page
from tests.web.live_server import serving
from tests.web.test_media import build_pictures

POINT = {"shape": "point", "points": [[0.5, 0.25]]}
BOX = {"shape": "box", "points": [[0.1, 0.1], [0.4, 0.3]]}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda _: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))
    built = build_pictures(tmp_path, "image", answers_per_item=2)
    yield built
    built.view_model.session.close()


def drawn(page: Page) -> tuple[Region, ...]:
    """All that was drawn, on whatever item."""
    marks = [mark for own in page.view_model.session.state.marks.values() for mark in own]
    return tuple(region for mark in marks for region in mark.regions)


def test_what_is_drawn_is_stored_with_the_size_of_the_picture_and_shown_again(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    answer = page.post("/api/marks", item=item, regions=[POINT, BOX])
    assert [(mark["mine"], len(mark["regions"])) for mark in answer["marks"]] == [(True, 2)]
    assert page.get("/api/item", id=item)["marks"] == answer["marks"]
    (mark,) = page.view_model.session.state.marks[item]
    assert (mark.width, mark.height) == page.view_model.items.picture_size(item)
    page.post("/api/marks", item=item, regions=[])
    assert page.get("/api/item", id=item)["marks"] == []


@pytest.mark.parametrize("region", [{"shape": "star", "points": [[0, 0]]}, {"shape": "point", "points": [[0, 2]]}, {}])
def test_nonsense_is_refused(page: Page, region: dict[str, Any]) -> None:
    page.post("/api/marks", item=page.view_model.session.ids[0], regions=[region], status=422)
    assert not page.view_model.session.state.marks


def test_boxes_without_a_second_corner_are_refused(page: Page) -> None:
    answer = page.post(
        "/api/marks", item=page.view_model.session.ids[0], regions=[POINT | {"shape": "box"}], status=422
    )
    assert "box" in answer["error"]


def test_rows_of_a_table_cannot_be_drawn_on(make_page: MakePage) -> None:
    page = make_page()
    answer = page.post("/api/marks", item=page.view_model.session.ids[0], regions=[POINT], status=422)
    assert "no picture" in answer["error"]


def test_others_see_a_mark_only_after_their_own_answer(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    page.post("/api/marks", item=item, regions=[BOX])
    page.post("/api/answers", item=item, verdict="anomaly")
    ann = page.user("ann")
    assert ann.get("/api/item", params={"id": item}).json()["marks"] == []
    ann.post("/api/answers", json={"item": item, "verdict": "normal"})
    (seen,) = ann.get("/api/item", params={"id": item}).json()["marks"]
    assert (seen["who"], seen["mine"]) == ("expert", False)


def shoot(opened: Opened, name: str) -> None:
    if "SOEL_PICTURES" in os.environ:
        opened.screenshot(path=str(Path(os.environ["SOEL_PICTURES"]) / f"{name}.png"))


def test_a_point_a_box_and_a_brush_by_mouse(browser: Browser, page: Page) -> None:
    with serving(page) as live:
        opened = live.open(browser)
        frame = opened.locator(".zoom")
        expect(opened.locator(".zoom .picture")).to_be_visible()
        box = frame.bounding_box()
        assert box is not None
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        opened.get_by_role("button", name="Mark a point").click()
        opened.mouse.click(*middle)
        expect(opened.locator(".marks .own")).to_have_count(1)
        opened.keyboard.press("b")
        opened.mouse.move(middle[0] - 60, middle[1] - 60)
        opened.mouse.down()
        opened.mouse.move(middle[0] - 20, middle[1] - 10)
        opened.mouse.up()
        expect(opened.locator(".marks rect.own")).to_have_count(1)
        opened.keyboard.press("r")
        opened.mouse.move(middle[0] + 10, middle[1] + 20)
        opened.mouse.down()
        for step in range(6):
            opened.mouse.move(middle[0] + 10 + 12 * step, middle[1] + 20 + 5 * step)
        opened.mouse.up()
        expect(opened.locator(".marks polyline.own")).to_have_count(1)
        expect(opened.locator("#saved")).to_contain_text("3 marks")
        point, area, brush = drawn(page)
        assert point.points[0] == pytest.approx((0.5, 0.5), abs=0.01)
        assert (area.shape, brush.shape) == ("box", "brush")
        assert len(brush.points) > 3
        assert violations(opened) == []
        shoot(opened, "marks")
        opened.keyboard.press("Backspace")
        expect(opened.locator(".marks .own")).to_have_count(2)
        expect(opened.locator("#saved")).to_contain_text("2 marks")
        assert len(drawn(page)) == 2
        opened.reload()
        expect(opened.locator(".marks .own")).to_have_count(2)  # it was on disk


def test_a_zoomed_picture_is_drawn_on_where_one_points(browser: Browser, page: Page) -> None:
    with serving(page) as live:
        opened = live.open(browser)
        box = opened.locator(".zoom").bounding_box()
        assert box is not None
        expect(opened.locator(".zoom .picture")).to_be_visible()
        opened.keyboard.press("+")
        opened.keyboard.press("+")
        opened.keyboard.press("p")
        opened.mouse.click(box["x"] + box["width"] / 2 + 64, box["y"] + box["height"] / 2)
        expect(opened.locator("#saved")).to_contain_text("1 mark")
        (point,) = drawn(page)
        side = min(box["width"], box["height"])  # of the square picture
        assert point.points[0] == pytest.approx((0.5 + 64 / 1.6**2 / side, 0.5), abs=0.01)


def test_keys_alone_can_draw(browser: Browser, page: Page) -> None:
    with serving(page) as live:
        opened = live.open(browser)
        expect(opened.locator(".zoom .picture")).to_be_visible()
        title = opened.locator("#item-title").inner_text()
        opened.keyboard.press("b")
        for key in ("ArrowLeft", "ArrowLeft", "Enter", "ArrowRight", "ArrowDown", "Shift+ArrowDown", "Enter"):
            opened.keyboard.press(key)
        expect(opened.locator("#saved")).to_contain_text("1 mark")
        (area,) = drawn(page)
        assert area.points[0] == pytest.approx((0.46, 0.5))
        assert area.points[1] == pytest.approx((0.48, 0.524))
        assert opened.locator("#item-title").inner_text() == title  # arrows drew, and did not go to another item
        opened.keyboard.press("Escape")
        opened.keyboard.press("a")
        expect(opened.locator("#item-title")).not_to_have_text(title)


def test_a_finger_draws_on_a_phone_in_the_dark(browser: Browser, page: Page) -> None:
    with serving(page) as live:
        looks: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}
        opened = live.open(browser, **looks)
        opened.get_by_role("button", name="Draw a box").tap()
        box = opened.locator(".zoom").bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        touch = opened.context.new_cdp_session(opened)
        moves = (("touchStart", x - 40, y - 40), ("touchMove", x, y), ("touchMove", x + 40, y + 30))
        for kind, at_x, at_y in moves:
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at_x, "y": at_y}]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        expect(opened.locator("#saved")).to_contain_text("1 mark")
        assert [region.shape for region in drawn(page)] == ["box"]
        assert violations(opened) == []
        shoot(opened, "marks-phone-dark")
