"""Limits: tries, odd forms, slow and many connections, cookies behind a proxy, pages for unknown addresses."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from soel.errors import ConfigError
from soel.web import launch, security
from soel.web.app import create_app
from soel.web.auth import User
from soel.web.launch import Address, settings
from soel.web.security import MOST_ADDRESSES, MOST_FAILURES, RateLimit, Site
from tests.web.conftest import ORIGIN, Page

OWNER = User("expert", "owner")


def stranger(app: Any, **headers: str) -> TestClient:
    return TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN, **headers}, follow_redirects=False)


def test_tries_are_limited_and_the_limit_ends() -> None:
    now = 0.0
    limit = RateLimit(lambda: now)
    for _ in range(MOST_FAILURES):
        assert limit.seconds_to_wait("a") == 0
        limit.note_failure("a")
    assert (limit.seconds_to_wait("a"), limit.seconds_to_wait("b")) == (60, 0)
    now = 61.0
    assert limit.seconds_to_wait("a") == 0


def test_addresses_without_end_do_not_fill_the_memory() -> None:
    limit = RateLimit()
    for number in range(MOST_ADDRESSES + 10):
        limit.note_failure(str(number))
    assert len(limit._failures) == MOST_ADDRESSES


def test_who_guesses_has_to_wait(page: Page) -> None:
    app = create_app(page.view_model, page.auth, Site(frozenset({"127.0.0.1:8000"}), "soel-test"))
    client = stranger(app)
    for _ in range(MOST_FAILURES):
        assert client.post("/enter", data={"key": "guess"}).status_code == 403
    refused = client.post("/enter", data={"key": "guess"})
    assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (429, True)
    assert client.post("/enter", data={"key": page.auth.new_key(OWNER)}).status_code == 303, "a good key works"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "application/x-www-form-urlencoded", 422),
        (b"key=", "application/x-www-form-urlencoded", 422),
        (b"key=a&key=b", "application/x-www-form-urlencoded", 422),
        (b"&".join(b"a%d=1" % n for n in range(50)), "application/x-www-form-urlencoded", 422),
        (b"key=\xff\xfe", "application/x-www-form-urlencoded", 422),
        (b"key=%ff%00", "application/x-www-form-urlencoded", 422),
        (b"key=" + b"x" * 5000, "application/x-www-form-urlencoded", 422),
        (b"\x00\x01;;;==", "application/x-www-form-urlencoded", 422),
        (b'{"key": "x"}', "application/json", 415),
        (b"--x\r\n", "multipart/form-data; boundary=x", 415),
        (b"key=x", "", 415),
    ],
)
def test_odd_forms_are_the_sender_s_fault(still: Page, content: bytes, kind: str, status: int) -> None:
    client = TestClient(still.app, base_url=ORIGIN, raise_server_exceptions=False)
    assert client.post("/enter", content=content, headers={"content-type": kind}).status_code == status


@pytest.mark.parametrize(
    ("scheme", "url", "secure"),
    [("http", ORIGIN, False), ("https", ORIGIN, True), ("http", "https://127.0.0.1:8000", True)],
)
def test_the_cookie_is_secure_where_browsers_come_by_https(still: Page, scheme: str, url: str, secure: bool) -> None:
    site = Site(frozenset({"127.0.0.1:8000"}), "soel-test", scheme)
    client = TestClient(create_app(still.view_model, still.auth, site), base_url=url, follow_redirects=False)
    cookie = client.post("/enter", data={"key": still.auth.new_key(OWNER)}).headers["set-cookie"].lower()
    assert ("; secure" in cookie) is secure


def test_forwarded_headers_count_from_a_trusted_proxy_only(still: Page) -> None:
    seen = dict[str, bool]()
    for proxies in ((), ("127.0.0.1",), ("10.0.0.0/8",)):
        with Served(still, Address(trusted_proxies=proxies)) as port:
            body = f"key={still.auth.new_key(OWNER)}"
            head = (
                f"POST /enter HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n"
                f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            )
            seen[",".join(proxies)] = b"secure" in talk(port, head.encode()).lower()
    assert seen == {"": False, "127.0.0.1": True, "10.0.0.0/8": False}


def test_a_proxy_is_an_address_or_a_network() -> None:
    with pytest.raises(ConfigError, match="trusted_proxy= needs an address"):
        Address(trusted_proxies=["proxy.example"])
    assert launch._base(Address(names=["labels.example"], https=True), 8000) == "https://labels.example"


class Served:
    """The page by uvicorn on a port, with the settings of the product."""

    def __init__(self, page: Page, address: Address) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        app = create_app(page.view_model, page.auth, Site(frozenset({f"127.0.0.1:{self.port}"}), "soel-test"))
        self.server = uvicorn.Server(settings(app, address))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)

    def __enter__(self) -> int:
        self.thread.start()
        until = time.monotonic() + 60
        while not self.server.started and time.monotonic() < until:
            time.sleep(0.01)
        return self.port

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(60)
        self.listener.close()


def talk(port: int, content: bytes, seconds: float = 30.0) -> bytes:
    """Send bytes; returns all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as client:
        client.sendall(content)
        answer = b""
        while part := client.recv(65536):
            answer += part
        return answer


@pytest.fixture
def port(still: Page, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(security, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(security, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(launch, "IDLE_SECONDS", 1)
    monkeypatch.setattr(launch, "MOST_CONNECTIONS", 5)
    with Served(still, Address()) as port:
        yield port


def test_a_head_that_does_not_come_ends_the_connection(port: int) -> None:
    start = time.monotonic()
    assert talk(port, b"") == b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        trickle(client)
        assert client.recv(100) == b"", "bytes that trickle in win no time"
    assert time.monotonic() - start < 14


def trickle(client: socket.socket) -> None:
    with suppress(OSError):  # closed meanwhile
        for letter in b"GET / HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaa":
            client.sendall(bytes([letter]))
            time.sleep(0.05)


def test_a_body_that_does_not_come_is_refused(port: int) -> None:
    head = f"POST /enter HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: 100\r\n\r\nkey="
    assert talk(port, head.encode()).startswith(b"HTTP/1.1 408")


def test_an_idle_connection_and_a_large_head_are_closed(port: int) -> None:
    start = time.monotonic()
    assert b"200 OK" in talk(port, f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert time.monotonic() - start < 14
    large = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Large: ".encode() + b"x" * 200_000
    with suppress(ConnectionError):  # closed before we had said it all
        assert talk(port, large)[:12] == b"HTTP/1.1 400"


def test_connections_beyond_the_limit_are_turned_away(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "HEAD_SECONDS", 30)  # of those held: none is given up while we ask
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(6)]
    try:
        request = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        assert talk(port, request.encode()).startswith(b"HTTP/1.1 503")
    finally:
        for client in held:
            client.close()


@pytest.mark.parametrize("path", ["/nothing", "/results/", "/api", "/Static/x"])
def test_an_unknown_address_gets_a_page_in_a_browser_and_json_elsewhere(still: Page, path: str) -> None:
    page = still.client.get(path, headers={"accept": "text/html,*/*"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "No page has the address" in page.text
    german = still.client.get(path, headers={"accept": "text/html", "accept-language": "de"})
    assert "Keine Seite hat die Adresse" in german.text
    assert 'href="/"' in page.text
    assert still.client.get(path).json()["error"].startswith("There is nothing at")
    assert still.client.get("/api/nothing", headers={"accept": "text/html"}).json()["error"]
