"""The team page: who is to label what, and how far each person is."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.web.accessibility import serious_findings
from tests.web.conftest import Page
from tests.web.live_server import serving


def test_the_owner_shares_items_out_and_others_see_their_own(page: Page) -> None:
    ann = page.user("Ann")
    team = page.get("/api/team")
    assert team["people"] == ["Ann", "expert"]
    n_open = team["n_open"]
    assert len(team["open"]) == n_open == len(page.view_model.session.state.open)
    team = page.post("/api/assignments", to=["Ann", "expert"])
    assert [entry["to"] for entry in team["open"]] == [["Ann"], ["expert"]] * (n_open // 2)
    seen = ann.get("/api/status").json()
    assert seen["n_assigned"] == n_open // 2
    assert seen["open"] == [entry["item"] for entry in team["open"] if entry["to"] == ["Ann"]]
    assert {person["name"]: person["n_assigned"] for person in team["annotators"]} == {
        "Ann": n_open // 2,
        "expert": n_open // 2,
    }
    team = page.post("/api/assignments", to=[], items=[team["open"][0]["item"]])
    assert team["open"][0]["to"] == []


def test_a_stranger_is_assigned_nothing_and_an_annotator_assigns_nothing(page: Page) -> None:
    refused = page.client.post("/api/assignments", json={"to": ["Nobody"]})
    assert refused.status_code == 409
    assert "invite them first" in refused.json()["error"]
    ann = page.user("Ann")
    assert ann.post("/api/assignments", json={"to": ["Ann"]}).status_code == 403
    assert ann.get("/api/team").json()["open"] == []


def test_in_a_browser(page: Page, browser: Browser) -> None:
    page.user("Ann")
    with serving(page) as live:
        window = live.open(browser)
        window.goto(f"{live.address}/team")
        first = window.locator("#assign-items li").first
        first.get_by_role("button", name="Ann").click()
        expect(first.get_by_role("button", name="Ann")).to_have_attribute("aria-pressed", "true")
        expect(window.get_by_role("row", name="Ann")).to_contain_text("1")
        window.get_by_label("expert", exact=True).check()
        window.get_by_role("button", name="Share out the open items").click()
        expect(first.get_by_role("button", name="expert")).to_have_attribute("aria-pressed", "true")
        assert serious_findings(window) == []
        window.goto(f"{live.address}/")
        expect(window.locator("#progress-words")).to_contain_text("are assigned to you")
