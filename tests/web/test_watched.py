"""The inbox of alarms: rows of watched inputs are answered at the page as everywhere else, and by the same events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from soel.session.alarms import keep_served, read_kept
from soel.session.watch import watch
from tests.web.accessibility import violations
from tests.web.conftest import Page, build_page
from tests.web.live_server import Live, serving
from tests.web.sample_data import write_pumps

pytestmark = pytest.mark.usefixtures("fake")


def watch_a_night(page: Page, folder: Path) -> None:
    write_pumps(folder / "night.csv", 60, 30)
    assert watch(page.view_model.session, [folder / "night.csv"]).n_alarms


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Page]:
    page = build_page(tmp_path)
    page.label_all()
    watch_a_night(page, tmp_path)
    yield page
    page.view_model.session.close()


def test_rows_wait_until_they_are_answered_and_answers_are_those_of_the_session(watched: Page) -> None:
    session, found = watched.view_model.session, watched.get("/api/watched/items", size=100)
    assert found["total"] == len(found["items"]) > 1
    item, n_labels = found["items"][0]["item"], len(session.state.labels)
    shown = watched.get("/api/watched/alarm", id=item)
    assert {field["name"] for field in shown["fields"]} >= {"flow (l/min)", "site"}
    assert (shown["verdict"], shown["alarm"]["title"]) == (None, found["items"][0]["title"])
    reply = watched.post("/api/answers", item=item, verdict="anomaly", key="one")
    watched.post("/api/answers", item=item, verdict="anomaly", key="one")
    assert reply["about"]["verdict"] == "anomaly"
    assert session.state.labels[item] == 1
    assert len(session.state.labels) == n_labels + 1
    assert watched.get("/api/watched/items")["total"] == found["total"] - 1
    assert watched.get("/api/watched/alarm", id=item)["alarm"]["verdict"] == "anomaly"
    watched.undo()
    assert item not in session.state.labels
    assert watched.get("/api/watched/items")["total"] == found["total"]


def test_alarms_of_the_endpoint_wait_beside_those_of_files(watched: Page) -> None:
    session, n_before = watched.view_model.session, watched.get("/api/watched/items")["total"]
    (night,) = session.state.nights
    alarm = next(row for row in read_kept(session.folder, [night]).to_pylist() if row["alarm"])
    keep_served(session.folder, [alarm | {"alarm_id": "sent", "name": "sent", "input": "2026-01-01 10:00:00"}])
    found = watched.get("/api/watched/items", size=100)
    assert found["total"] == n_before + 1
    assert "sent" in [each["item"] for each in found["items"]]
    shown = watched.get("/api/watched/alarm", id="sent")
    assert {field["name"] for field in shown["fields"]} >= {"flow (l/min)", "site"}
    watched.post("/api/answers", item="sent", verdict="normal")
    assert session.state.labels["sent"] == 0
    assert watched.get("/api/watched/items")["total"] == n_before


def test_an_id_that_no_input_had_is_refused(watched: Page) -> None:
    assert watched.client.get("/api/watched/alarm", params={"id": "0123456789ab-1"}).status_code == 404
    watched.post("/api/answers", 404, item="0123456789ab-1", verdict="normal")


def test_only_a_watched_session_shows_the_page_in_its_head(watched: Page, tmp_path: Path) -> None:
    assert 'href="/watched"' in watched.client.get("/items").text
    (tmp_path / "other").mkdir()
    other = build_page(tmp_path / "other")
    assert 'href="/watched"' not in other.client.get("/items").text
    keep_served(other.view_model.session.folder, [{"alarm_id": "sent"}])
    assert 'href="/watched"' in other.client.get("/items").text
    other.view_model.session.close()


def test_alarms_are_answered_by_key_and_one_opens_by_its_link(browser: Browser, watched: Page, tmp_path: Path) -> None:
    with serving(watched) as live:
        assert isinstance(live, Live)
        page = live.open(browser)
        page.goto(f"{live.address}/watched")
        rows = page.locator("#top > li[tabindex]")
        expect(rows.first).to_be_visible()
        first, second = (rows.nth(at).get_attribute("data-item") for at in (0, 1))
        rows.first.focus()
        expect(page.locator("#chosen h2")).to_have_text(rows.first.get_attribute("data-title") or "")
        expect(page.locator("#chosen table.compared")).to_contain_text("flow (l/min)")
        assert violations(page) == []
        page.keyboard.press("a")
        expect(rows.first.get_by_role("button", name="Anomaly")).to_have_attribute("aria-pressed", "true")
        expect(rows.nth(1)).to_be_focused()
        page.goto(f"{live.address}/watched?item={first}")
        expect(page.locator("#chosen h2")).not_to_have_text("")
        expect(page.locator("#chosen .answer.anomaly")).to_have_attribute("aria-pressed", "true")
        expect(rows.first).to_be_visible()  # beside the rest of the list
        assert watched.view_model.session.state.labels[str(first)] == 1
        assert second not in watched.view_model.session.state.labels


def test_on_a_phone_a_link_opens_its_alarm_in_the_list(browser: Browser, watched: Page) -> None:
    item = watched.get("/api/watched/items", size=100)["items"][1]["item"]
    with serving(watched) as live:
        page = live.open(browser, viewport={"width": 390, "height": 844})
        page.goto(f"{live.address}/watched")
        expect(page.locator("#top > li[tabindex]").first).to_be_visible()
        expect(page.locator("#chosen")).to_be_hidden()  # nothing is chosen
        page.goto(f"{live.address}/watched?item={item}")
        expect(page.locator(f"#top > li[data-item='{item}'][aria-current] #chosen table.compared")).to_be_visible()
