"""Each row of the list of past security cases that concerns a page."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from starlette.testclient import TestClient

from soel.errors import SessionError
from soel.tables.rows import write_rows
from soel.web.auth import DAY, FILE, LASTS, Auth, User
from soel.web.launch import Address, allowed_hosts
from soel.web.routes.pages import render
from soel.web.security import MOST_BYTES
from tests.web.conftest import BUDGET, ORIGIN, MakePage, Page
from tests.web.sample_data import HOSTILE

PAGES = ("/", "/items", "/review", "/results", "/team")
READS = ("/api/status", "/api/decisions", "/api/team", "/api/openapi.json", *PAGES)
OWNER = User("expert", "owner")


def stranger(page: Page) -> TestClient:
    return TestClient(page.app, base_url=ORIGIN, follow_redirects=False)


@pytest.mark.parametrize("path", [*READS, "/api/item?id=P-1001", "/api/why?id=P-1001", "/api/map", "/api/scores.csv"])
def test_without_a_cookie_nothing_is_shown(still: Page, path: str) -> None:
    answer = stranger(still).get(path)
    assert answer.status_code == 401
    assert "pumps" not in answer.text
    led = stranger(still).get("/", headers={"accept": "text/html"})
    assert (led.status_code, led.headers["location"]) == (303, "/welcome")


def test_without_a_cookie_nothing_is_changed(still: Page) -> None:
    item = still.view_model.session.ids[0]
    for path in ("/api/answers", "/api/undo", "/api/train", "/api/invitations"):
        answer = stranger(still).post(path, json={"item": item, "verdict": "normal"}, headers={"origin": ORIGIN})
        assert answer.status_code == 401
    assert still.get("/api/status")["n_labels"] == BUDGET


def test_a_key_works_once_and_looking_at_it_does_not_use_it(still: Page) -> None:
    key = still.auth.new_key(OWNER)
    browser = stranger(still)
    assert browser.get("/enter", params={"key": key}).status_code == 200
    entered = browser.post("/enter", data={"key": key})
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.get("/").status_code == 200
    assert stranger(still).post("/enter", data={"key": key}).status_code == 403


def test_a_cookie_outlives_the_server_but_not_a_change(still: Page) -> None:
    folder = still.view_model.session.folder.path
    cookie = still.auth.sign_in(still.auth.new_key(OWNER))
    assert cookie is not None
    again = Auth(folder)
    assert again.user_of(cookie) == OWNER
    body, _, mark = cookie.rpartition(".")
    for forged in (f"{body}x.{mark}", f"{body}.{mark[::-1]}", body, "", ".", "ä.ö", "." + mark):
        assert again.user_of(forged) is None


def test_a_cookie_ends(still: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = still.auth.sign_in(still.auth.new_key(OWNER))
    assert cookie is not None
    later = time.time() + LASTS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert still.auth.user_of(cookie) is None


@pytest.mark.parametrize(("moved", "holds"), [(-3600, True), (-DAY - 60, False), (LASTS - 60, True)])
def test_a_clock_set_back_a_little_signs_nobody_out(
    still: Page, monkeypatch: pytest.MonkeyPatch, moved: int, holds: bool
) -> None:
    cookie = still.auth.sign_in(still.auth.new_key(OWNER))
    assert cookie is not None
    then = time.time() + moved
    monkeypatch.setattr(time, "time", lambda: then)
    assert (still.auth.user_of(cookie) is not None) is holds, "a sign-in from far ahead would last for years"


def test_secrets_are_for_the_owner_alone_and_keys_are_not_kept(still: Page) -> None:
    key = still.auth.new_key(OWNER)
    path = still.view_model.session.folder.path / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key not in path.read_text()


@pytest.mark.parametrize("content", ["[]", "{}", '{"secret": "x", "keys": {}, "port": 0}', "{"])
def test_a_hand_edited_page_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(SessionError, match=r"cannot be read .* Delete it"):
        Auth(tmp_path)


@given(st.text(max_size=60))
@settings(max_examples=50, deadline=None)
def test_no_text_is_a_key_or_a_cookie(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    auth = Auth(tmp_path_factory.mktemp("auth"))
    assert auth.sign_in(text) is None
    assert auth.user_of(text) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:9", "127.0.0.1:8000.x", ""]
)
def test_a_foreign_host_is_refused(still: Page, host: str) -> None:
    for path in ("/api/status", "/enter", "/static/still.css", "/health"):
        assert still.client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9", "http://127.0.0.1:8000.evil", ""]
)
def test_a_foreign_origin_changes_nothing(still: Page, origin: str) -> None:
    item = still.view_model.session.ids[0]
    body = {"item": item, "verdict": "anomaly"}
    assert still.client.post("/api/answers", json=body, headers={"origin": origin}).status_code == 403
    cross = {"sec-fetch-site": "cross-site"}
    assert still.client.post("/api/answers", json=body, headers=cross).status_code == 403
    assert still.client.post("/enter", data={"key": "x"}, headers={"origin": origin}).status_code == 403
    assert still.get("/api/status")["n_labels"] == BUDGET


def test_a_form_of_another_site_is_no_answer(still: Page) -> None:
    item = still.view_model.session.ids[0]
    text = json.dumps({"item": item, "verdict": "anomaly"})
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert still.client.post("/api/answers", content=text, headers={"content-type": kind}).status_code == 422
    assert still.get("/api/status")["n_labels"] == BUDGET


def test_get_never_changes_anything(still: Page) -> None:
    before = len(still.view_model.session.events)
    for path in (*READS, "/api/results", "/api/map", "/api/scores.csv", "/enter?key=x", "/api/row?row=0"):
        assert still.client.get(path).status_code == 200
    for path in ("/api/answers", "/api/undo", "/api/train", "/api/more", "/api/turn", "/api/go-on", "/api/notes"):
        assert still.client.get(path).status_code == 405
    assert len(still.view_model.session.events) == before


@pytest.mark.parametrize("path", [*PAGES, "/api/status", "/static/label.js", "/nothing", "/enter", "/welcome"])
def test_every_answer_carries_the_security_headers(still: Page, path: str) -> None:
    headers = still.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")


def test_pages_hold_no_inline_code(still: Page) -> None:
    for path in (*PAGES, "/enter", "/welcome"):
        text = still.client.get(path).text
        assert "style=" not in text
        assert "onclick=" not in text
        assert text.count("<script") == text.count('<script type="module" src="/static/')


TRAVERSALS = (
    "../page.json",
    "%2e%2e/page.json",
    "..%2fpage.json",
    "..\\page.json",
    "/etc/passwd",
    "//host/share",
    "a%00.css",
)


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_path_leads_out_of_the_assets_or_to_an_item(still: Page, name: str) -> None:
    for path in (f"/static/{name}", f"/static/../{name}"):
        answer = still.client.get(path)
        assert answer.status_code in (400, 401, 404)
        assert "secret" not in answer.text
    for path in ("/api/item", "/api/image"):
        assert still.client.get(path, params={"id": name.replace("%00", "\0")}).status_code in (404, 422)


def test_a_large_body_is_refused_by_its_claim_and_by_its_size(still: Page) -> None:
    large = b"x" * (MOST_BYTES + 1)
    assert still.client.post("/api/answers", content=large).status_code == 413
    pieces = (large[at : at + 4096] for at in range(0, len(large), 4096))
    assert still.client.post("/api/answers", content=pieces).status_code == 413
    lying = still.client.post("/api/answers", content=b"{}", headers={"content-length": "-1"})
    assert lying.status_code == 413


@pytest.mark.parametrize(
    "change",
    [
        {"note": "x" * 10_001}, {"verdict": "maybe"}, {"extra": 1}, {"item": ""}, {"item": 7}, {"note": "\ud800"},
        {"note": "a\0b"}, {"tab": "x y"}, {"item": "x" * 1001},
    ],
)  # fmt: skip
def test_what_is_not_described_is_refused_in_one_sentence(still: Page, change: dict[str, Any]) -> None:
    body = {"item": still.view_model.session.ids[0], "verdict": "normal", "note": ""} | change
    content = json.dumps(body)
    answer = still.client.post("/api/answers", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert list(answer.json()) == ["error"]
    assert still.get("/api/status")["n_labels"] == BUDGET


def test_an_unknown_item_is_not_found(still: Page) -> None:
    assert "no item" in still.post("/api/answers", 404, item="nobody", verdict="normal")["error"]
    assert still.client.get("/api/item", params={"id": "nobody"}).status_code == 404
    assert still.client.get("/api/image", params={"id": "P-1001"}).status_code == 404
    assert still.client.get("/api/row", params={"row": 10**6}).status_code == 404


def test_hostile_text_is_escaped_wherever_a_page_is_made(make_page: MakePage, tmp_path: Path) -> None:
    table = tmp_path / f"{HOSTILE.replace('/', '')}.csv"
    rows = [[f"{HOSTILE}{row}", HOSTILE, float(row % 7)] for row in range(12)]
    write_rows(table, ["pump", f"<b>{HOSTILE}", "x"], rows)
    page = make_page(table)
    page.client.put("/api/guideline", json={"text": f"{HOSTILE} [x](javascript:alert(1)) ![y](http://evil.example/y)"})
    guest = page.user(HOSTILE)
    for path in PAGES:
        text = guest.get(path).text
        assert "<img" not in text
        assert "<b>" not in text
        assert 'href="javascript' not in text
    item = page.get("/api/status")["open"][0]
    answer = guest.post("/api/answers", json={"item": item, "verdict": "unsure", "note": HOSTILE})
    assert answer.headers["content-type"] == "application/json"
    assert guest.get("/api/item", params={"id": item}).json()["note"] == HOSTILE


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "[a](javascript:alert(1))", "[a](data:text/html;base64,x)", "![a](http://x/y.png)",
     "<svg onload=alert(1)>", "[a](vbscript:x)", "`<script>`", "[a]: javascript:x\n\n[a]"],
)  # fmt: skip
def test_a_guideline_cannot_carry_code(text: str) -> None:
    html = str(render(text)).lower()
    for bad in ("<script", "<svg", "<img", 'href="javascript', 'href="data', 'href="vbscript'):
        assert bad not in html


def test_other_addresses_are_served_under_their_own_names_only() -> None:
    assert allowed_hosts(Address(), 8000) == {"127.0.0.1:8000", "localhost:8000", "[::1]:8000"}
    named = allowed_hosts(Address("10.0.0.5", 0, ["labels.example"]), 8000)
    assert {"10.0.0.5:8000", "labels.example:8000", "labels.example"} <= named
    assert "evil.example:8000" not in allowed_hosts(Address("0.0.0.0"), 8000)
