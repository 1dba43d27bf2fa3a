"""Blind labelling: no answer of the server holds what others said before one's own answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import MakePage, Page

SECRET = "the shaft is bent"


@pytest.fixture
def page(make_page: MakePage) -> Page:
    return make_page(answers_per_item=2)


def everything(page: Page, client: TestClient, item: str) -> dict[str, Any]:
    """Every answer of the API that a user can get by reading, but for the number of the newest event."""
    paths = {
        path: {"id": item} if any(p["name"] == "id" for p in methods["get"].get("parameters", [])) else {}
        for path, methods in page.get("/api/openapi.json")["paths"].items()
        if "get" in methods
    }
    found = {}
    for path, parameters in paths.items():
        answer = client.get(path, params=parameters)
        if answer.headers["content-type"] == "application/json":
            found[path] = answer.json()
            if isinstance(found[path], dict):
                found[path].pop("version", None)
    return found


def test_nothing_is_told_before_ones_own_answer_and_all_after_it(page: Page) -> None:
    ann, bob = page.user("ann"), page.user("bob")
    item = page.get("/api/status")["open"][0]
    before = everything(page, bob, item)
    ann.post("/api/answers", json={"item": item, "verdict": "anomaly", "note": SECRET})
    after = everything(page, bob, item)
    assert SECRET not in json.dumps(after)
    assert "ann" not in json.dumps(after["/api/decisions"])
    changed = {path for path in after if after[path] != before[path]}
    assert changed <= {"/api/status", "/api/team", "/api/data"}, "but for the budget, nothing shows an answer"
    assert {key for key in after["/api/data"] if after["/api/data"][key] != before["/api/data"][key]} <= {
        "n_labels",
        "n_open",
    }
    (told,) = after["/api/team"].pop("annotators")
    assert (told["n_answers"], told["n_anomaly"], told["n_normal"], told["n_aside"]) == (1, 0, 0, 0)
    assert after["/api/team"].items() <= before["/api/team"].items()
    told = {key for key in after["/api/status"] if after["/api/status"][key] != before["/api/status"][key]}
    assert told <= {"n_left", "open"}
    bob.post("/api/answers", json={"item": item, "verdict": "normal"})
    shown = everything(page, bob, item)
    assert shown["/api/item"]["notes"] == [{"who": "ann", "text": SECRET}]
    assert shown["/api/decisions"]["decisions"][0]["who"] == ["ann", "bob"]
    assert shown["/api/team"]["disagreements"][0]["votes"] == {"ann": "anomaly", "bob": "normal"}


def test_to_set_an_item_aside_is_no_way_to_peek(page: Page) -> None:
    ann, bob = page.user("ann"), page.user("bob")
    item = page.get("/api/status")["open"][0]
    ann.post("/api/answers", json={"item": item, "verdict": "anomaly", "note": SECRET})
    bob.post("/api/answers", json={"item": item, "verdict": "unsure", "note": "hm"})
    shown = everything(page, bob, item)
    assert SECRET not in json.dumps(shown)
    (own,) = shown["/api/decisions"]["decisions"]
    assert (own["verdict"], own["who"], own["mine"]) == ("unsure", ["bob"], "unsure")
    assert shown["/api/status"]["n_anomalies"] == 0


def test_the_owner_is_as_blind_as_the_others(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    page.user("ann").post("/api/answers", json={"item": item, "verdict": "anomaly", "note": SECRET})
    assert SECRET not in json.dumps(everything(page, page.client, item))


def test_an_item_with_all_its_answers_is_open_to_everybody(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    for name in ("ann", "bob"):
        page.user(name).post("/api/answers", json={"item": item, "verdict": "anomaly", "note": SECRET})
    assert SECRET in json.dumps(everything(page, page.client, item)["/api/item"])
    assert page.get("/api/status")["n_anomalies"] == 1
