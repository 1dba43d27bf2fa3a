"""The page's server: requests as bytes over a real socket, and as the API's own description allows them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import strategies as st
from tests.session.fake_learner import use_fake_learner
from tests.web.conftest import SITE, Page, build_page

from benchmarks.fuzz.mutation import edited
from benchmarks.fuzz.target import Build, Target, put_file
from soel.errors import DataError
from soel.web.launch import Address, settings

HOST, ORIGIN = "127.0.0.1:8000", "http://127.0.0.1:8000"
SECONDS, PATIENCE = 20.0, 0.5  # for an answer that must come, and for one to a request that may be incomplete
FORM = "application/x-www-form-urlencoded"
ENDS = ("/api/sign-out", "/leave")  # whoever sends these is out, and nothing else would be reached


def _page(folder: Path) -> Page:
    use_fake_learner(pytest.MonkeyPatch())
    page = build_page(folder)
    page.label_all()
    return page


def _requests(page: Page) -> Iterator[bytes]:
    """One honest request of every route, with a body where it takes one."""
    item = page.view_model.session.ids[0]
    bodies: Mapping[str, Mapping[str, Any]] = {
        "/api/answers": {"item": item, "verdict": "normal", "note": "why"},
        "/api/notes": {"item": item, "text": "look"},
        "/api/decisions": {"item": item, "verdict": "anomaly"},
        "/api/invitations": {"name": "Zoe"},
        "/api/guideline": {"text": "# Look *twice*"},
    }
    for path in ("/", "/items", "/review", "/results", "/team", "/texts.js", "/static/label.js", "/health"):
        yield _request(page, "GET", path)
    yield _request(page, "POST", "/enter", "key=abc", FORM)
    for path, methods in page.get("/api/openapi.json")["paths"].items():
        for method in methods:
            if path not in ENDS:
                where = path.replace("{item}", item) + ("?item=" + item if method == "get" else "")
                body = "" if method == "get" else json.dumps(bodies.get(path, {}))
                yield _request(page, method.upper(), where, body)


def _request(page: Page, method: str, path: str, body: str = "", kind: str = "application/json") -> bytes:
    head = [f"{method} {path} HTTP/1.1", *_head(page)]
    head += [f"content-type: {kind}", f"content-length: {len(body.encode())}"] if body else []
    return ("\r\n".join([*head, "connection: close"]) + "\r\n\r\n" + body).encode()


def _head(page: Page) -> list[str]:
    return [f"host: {HOST}", f"origin: {ORIGIN}", f"cookie: {SITE.cookie}={page.client.cookies[SITE.cookie]}"]


def _serve(page: Page) -> int:
    """The port of a server as `soel label` starts it, in a thread that ends with the process."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(settings(page.app, Address()))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    return int(listener.getsockname()[1])


def _bytes(folder: Path) -> Target:
    page = _page(folder)
    port = _serve(page)
    files = {folder / f"{number:02d}.http": request for number, request in enumerate(_requests(page))}
    for path, content in files.items():
        path.write_bytes(content)
    made = st.sampled_from(list(files)).flatmap(lambda path: st.tuples(st.just(path), edited(files[path])))
    return Target(
        files, (lambda path: _send(port, path.read_bytes()),), made, put_file, mend=lambda: _mend_heads(page, files)
    )


def _mend_heads(page: Page, files: Mapping[Path, bytes]) -> None:
    """Put an honest head between the first line and the body of each request, so that they come past the door."""
    for path in files:
        first, _, rest = path.read_bytes().partition(b"\r\n")
        body = rest.partition(b"\r\n\r\n")[2]
        kind = FORM if b"/enter" in first else "application/json"
        length = [f"content-type: {kind}", f"content-length: {len(body)}"] if body else []
        head = "\r\n".join([*_head(page), *length, "connection: close"])
        path.write_bytes(first + b"\r\n" + head.encode() + b"\r\n\r\n" + body)


def _send(port: int, request: bytes) -> None:
    """Send it and hear the answer to the end; then the server must still be there."""
    answer = _exchange(port, request, PATIENCE)
    status = answer.split(b" ", 2)[1:2]
    assert not status or not status[0].startswith(b"5"), f"it answered {answer[:300]!r}"
    health = f"GET /health HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n"
    assert b" 200 " in _exchange(port, health.encode(), SECONDS), "it does not answer any more"
    if not status or status[0].startswith(b"4"):
        raise DataError("refused")


def _exchange(port: int, request: bytes, seconds: float) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.settimeout(seconds)
        answer = b""
        with suppress(ConnectionError, TimeoutError):  # the server hung up, or waits for the rest, as it may
            connection.sendall(request)
            while part := connection.recv(1 << 16):
                answer += part
    return answer


def _api(folder: Path) -> Target:
    """Requests that the API's description allows, and those that it just does not; nothing is mutated."""
    page = _page(folder)
    cookie = f"{SITE.cookie}={page.client.cookies[SITE.cookie]}"
    headers = {"host": HOST, "origin": ORIGIN, "cookie": cookie}
    described = schemathesis.openapi.from_asgi("/api/openapi.json", page.app, headers=headers)
    found: list[Any] = [result.ok() for result in described.get_all_operations()]  # type: ignore[union-attr]
    made = st.one_of([operation.as_strategy() for operation in found if operation.path not in ENDS])
    sent: list[Any] = []

    def put(case: Any) -> Path:
        sent[:] = [case]
        return folder

    def read(_where: Path) -> None:
        status = sent[0].call(headers=headers).status_code
        assert status < 500, f"{sent[0].method} {sent[0].path} answered {status}"
        if status >= 400:
            raise DataError("refused")

    return Target({}, (read,), made, put)


READERS: Mapping[str, Build] = {"http bytes": _bytes, "http api": _api}
