"""A page of this process, served on a port for a real browser."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page
from starlette.types import ASGIApp

from soel.web.app import create_app
from soel.web.auth import User
from soel.web.security import Site
from tests.web import conftest


@dataclass(frozen=True)
class Live:
    """A page that is served on a port of this machine."""

    page: conftest.Page
    address: str

    def open(self, browser: Browser, name: str = "expert", role: Any = "owner", **look: Any) -> Page:
        """A new browser profile, signed in."""
        context = browser.new_context(**look)
        context.set_default_timeout(conftest.PATIENCE)
        page = context.new_page()
        page.goto(f"{self.address}/enter?key={self.page.auth.new_key(User(name, role))}")
        page.wait_for_url(f"{self.address}/")
        return page


@contextmanager
def serving(page: conftest.Page) -> Iterator[Live]:
    """Serve a page as long as the context lasts."""
    with listening(lambda site: create_app(page.view_model, page.auth, site)) as address:
        yield Live(page, address)
    page.view_model.session.close()


@contextmanager
def listening(make_app: Callable[[Site], ASGIApp]) -> Iterator[str]:
    """Serve an app on a port of this machine; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = make_app(Site(frozenset({f"127.0.0.1:{port}"}), "soel-live"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)
    listener.close()
