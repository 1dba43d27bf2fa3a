"""Changes that come twice, late, from another tab, as another user or for another session: nothing is lost or mixed."""

from __future__ import annotations

import time
from typing import Any

import pytest

from soel.checks import clean_name
from soel.errors import DataError
from soel.web.auth import User
from soel.web.routes.pages import MOST_BRACKETS, render
from soel.web.security import Site
from tests.web.conftest import Page
from tests.web.test_permissions import BODIES, WITH_ITEM, declared

AGAIN: dict[
    tuple[str, str], dict[str, Any]
] = {  # what the page sends once more when a reply is lost; the rest is sent once
    ("POST", "/api/answers"): {"verdict": "skip", "key": "k1", "tab": "t"},
    ("POST", "/api/undo"): {},
    ("POST", "/api/notes"): {"note": "hm"},
    ("POST", "/api/decisions"): {"verdict": "normal"},
    ("POST", "/api/assignments"): {"to": ["expert"]},
    ("POST", "/api/maps"): {"wait": True},
    ("POST", "/api/turn"): {"tab": "t"},
    ("POST", "/api/look"): {},
    ("PUT", "/api/description"): {"name": "Pumps", "description": "All of them."},
    ("POST", "/api/revocations"): {"name": "ann"},
}
WITHOUT_REPEAT = {  # sent once: the page looks what came of it, or the person does
    "/api/train", "/api/more", "/api/go-on", "/api/invitations", "/api/uploads", "/api/data", "/api/removals",
    "/api/labels", "/sign-out", "/enter",
}  # fmt: skip
ELSEWHERE = {"/api/marks", "/api/guideline"}  # repeated in tests of their own


def test_each_changing_route_is_known_to_be_repeatable_or_not() -> None:
    changing = {path for method, path in declared() if method != "GET"}
    assert changing == {path for _, path in AGAIN} | WITHOUT_REPEAT | ELSEWHERE


@pytest.mark.parametrize(("method", "path"), AGAIN)
def test_a_request_whose_reply_was_lost_changes_nothing_when_it_comes_again(page: Page, method: str, path: str) -> None:
    page.user("ann")
    item = page.get("/api/status")["open"][0]
    body = dict(AGAIN[(method, path)])
    if path == "/api/undo":
        body["event"] = page.post("/api/answers", item=item, verdict="normal")["about"]["event"]
    elif path in WITH_ITEM:
        body["item"] = item
    first = page.client.request(method, path, json=body)
    events = len(page.view_model.session.events)
    second = page.client.request(method, path, json=body)
    assert (first.status_code, second.status_code) == (200, 200), second.text
    assert len(page.view_model.session.events) == events
    assert second.json() == first.json()


def test_an_answer_that_comes_again_does_not_replace_a_newer_one(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    page.post("/api/answers", item=item, verdict="anomaly", key="first")
    page.post("/api/answers", item=item, verdict="normal", key="other-tab")
    late = page.post("/api/answers", item=item, verdict="anomaly", key="first")
    assert late["about"]["verdict"] == "normal"
    page.undo()
    assert page.post("/api/answers", item=item, verdict="normal", key="other-tab")["about"]["verdict"] == "anomaly"


def test_two_servers_take_an_answer_with_one_key_once(page: Page) -> None:
    from soel.session.events import Answer
    from soel.session.fold import fold
    from soel.types import Verdict

    session = page.view_model.session
    item = session.state.open[0]
    answer = Answer(item, Verdict.SKIP, key="k").event("expert")
    session._store.append([answer, answer])  # each had looked before the other wrote
    assert fold(session.events, 6).vote_of(item, "expert").times_aside == 1  # type: ignore[union-attr]


def test_an_undo_takes_back_what_it_names_and_nothing_else(page: Page) -> None:
    one, two = page.get("/api/status")["open"][:2]
    first = page.post("/api/answers", item=one, verdict="anomaly")["about"]["event"]
    second = page.post("/api/answers", item=two, verdict="normal")["about"]["event"]
    assert "not the newest" in page.post("/api/undo", 409, event=first)["error"], "of a tab that did not see the second"
    undone = page.post("/api/undo", event=second)
    assert undone["about"] == {"item": two, "verdict": None, "event": None}
    again = page.post("/api/undo", event=second)  # the reply was lost
    assert (again["mine"], again["undo"]["event"]) == ([one], first)
    ann = page.user("ann")
    assert ann.post("/api/undo", json={"event": first}).status_code == 409
    assert page.get("/api/status")["mine"] == [one]
    assert page.client.post("/api/undo", json={}).status_code == 422, "it names an event"


def test_the_version_in_replies_rises_with_each_change(page: Page) -> None:
    items = page.get("/api/status")["open"]
    seen = [page.get("/api/status")["version"]]
    for item in items[:2]:
        seen.append(page.post("/api/answers", item=item, verdict="anomaly")["version"])
        for path in ("/api/item", "/api/items", "/api/decisions", "/api/team", "/api/status"):
            assert page.get(path, **({"id": item} if path == "/api/item" else {}))["version"] >= seen[-1], path
    assert seen == sorted(set(seen))


def test_notes_are_kept_where_a_correction_says_nothing_of_them(page: Page) -> None:
    item = page.get("/api/status")["open"][0]
    page.post("/api/answers", item=item, verdict="anomaly", note="hot")
    page.post("/api/answers", item=item, verdict="normal")
    page.undo()
    assert page.get("/api/item", id=item)["note"] == "hot"


def changing() -> list[tuple[str, str]]:
    return [(method, path) for method, path in declared() if method != "GET" and path not in ("/enter", "/sign-out")]


@pytest.mark.parametrize("named", [{"soel-user": "bob"}, {"soel-session": "another"}, {"soel-user": "J%C3%BCrg"}])
def test_no_route_takes_a_request_of_another_users_or_sessions_page(page: Page, named: dict[str, str]) -> None:
    item, events = page.view_model.session.ids[0], len(page.view_model.session.events)
    for method, path in changing():
        body = BODIES.get(path, {}) | ({"item": item} if path in WITH_ITEM else {})
        answer = page.client.request(method, path, json=body, headers=named)
        assert (answer.status_code, answer.json()["code"]) == (409, "page"), path
    assert len(page.view_model.session.events) == events
    assert page.client.get("/api/status", headers=named).status_code == 409


def test_a_page_says_for_whom_and_for_which_session_it_was_made(page: Page) -> None:
    session = page.view_model.session.config.session
    for path in ("/", "/items", "/review", "/results", "/team", "/data"):
        text = page.client.get(path).text
        assert '<meta name="soel-user" content="expert">' in text
        assert f'<meta name="soel-session" content="{session}">' in text
    own = {"soel-user": "expert", "soel-session": session}
    item = page.view_model.session.ids[0]
    assert page.client.post("/api/notes", json={"item": item, "note": ""}, headers=own).status_code == 200


def test_two_tabs_do_not_overwrite_each_others_guideline(page: Page) -> None:
    def write(text: str, version: str) -> Any:
        return page.client.put("/api/guideline", json={"text": text, "version": version})

    first = write("one", page.client.get("/").text.partition('data-version="')[2][:16]).json()
    mine = write("mine", first["version"])
    theirs = write("theirs", first["version"])
    assert (mine.status_code, theirs.status_code) == (200, 409)
    assert (theirs.json()["text"], theirs.json()["version"]) == ("mine", mine.json()["version"])
    assert write("both", theirs.json()["version"]).status_code == 200
    assert page.view_model.session.guidelines == "both"


def test_a_link_for_somebody_else_asks_before_it_changes_the_user(page: Page) -> None:
    key = page.auth.new_key(User("mallory", "annotator"))
    asked = page.client.get("/enter", params={"key": key})
    assert "data-asks" in asked.text
    assert "Go on as mallory" in asked.text
    refused = page.client.post("/enter", data={"key": key})
    assert (refused.status_code, "Go on as mallory" in refused.text) == (409, True)
    assert page.get("/api/status")["who"] == "expert"
    assert page.client.post("/enter", data={"key": key, "switch": "yes"}).status_code == 303
    assert page.get("/api/status")["who"] == "mallory"
    for form in ({"key": key, "switch": "no"}, {"key": key, "more": "x"}):
        assert page.client.post("/enter", data=form).status_code == 422


def test_a_link_for_oneself_is_not_asked_about(page: Page) -> None:
    key = page.auth.new_key(User("expert", "owner"))
    assert "data-asks" not in page.client.get("/enter", params={"key": key}).text
    assert page.client.post("/enter", data={"key": key}).status_code == 303


@pytest.mark.parametrize(
    ("site", "by", "origin", "ours"),
    [
        ("http", "http", "http", True),
        ("http", "http", "https", False),
        ("http", "https", "https", True),
        ("https", "http", "https", True),
        ("https", "http", "http", False),
    ],
)
def test_an_origin_has_the_scheme_of_the_page(site: str, by: str, origin: str, ours: bool) -> None:
    assert Site(frozenset({"127.0.0.1:8000"}), "c", site).is_ours(f"{origin}://127.0.0.1:8000", by) is ours


@pytest.mark.parametrize("text", ["[" * 50_000, "![" * 25_000, "[x\n" * 16_000, "[" * MOST_BRACKETS + "a" * 49_500])
def test_no_guideline_takes_long_to_show(text: str) -> None:
    begun = time.thread_time()  # of this thread alone: servers of other tests run beside it
    render(text)
    assert time.thread_time() - begun < 1.0


def test_a_guideline_with_many_brackets_keeps_its_other_marks() -> None:
    assert "<strong>so</strong>" in render("**so** " + "[" * (MOST_BRACKETS + 1))


@pytest.mark.parametrize("name", ["=cmd", "+1", "@sum", "-x", "system", "SYSTEM", "s\u0443stem"])
def test_names_of_formulas_and_of_the_system_are_refused(name: str) -> None:
    with pytest.raises(DataError):
        clean_name(name)


@pytest.mark.parametrize("name", ["BOSS", "root", "Administrator", "OWNER"])
def test_nobody_is_invited_under_a_name_of_the_owner(page: Page, name: str) -> None:
    assert "owner" in page.post("/api/invitations", 409, name=name)["error"]


def test_deep_json_is_refused_and_no_bug(page: Page) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    page.client.post(
        "/api/uploads", params={"upload": "0" * 16, "name": "labels.json", "at": 0}, content=deep.encode(),
        headers={"content-type": "application/octet-stream"},
    )  # fmt: skip
    assert 400 <= page.client.post("/api/labels", json={"upload": "0" * 16}).status_code < 500
    kind = {"content-type": "application/json"}
    for path in ("/api/labels", "/api/answers", "/api/marks"):
        assert 400 <= page.client.post(path, content=deep, headers=kind).status_code < 500, path
