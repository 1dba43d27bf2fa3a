"""What stands before every request: the right host and origin, a known user, bodies and tries within bounds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.templating import Jinja2Templates
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from soel.web.auth import Auth, User
from soel.web.sentences import texts_for


@dataclass(frozen=True)
class Site:
    """Where the page lives. hosts: what the Host header may say, with port. scheme: as the owner says it is reached."""

    hosts: frozenset[str]
    cookie: str
    scheme: str = "http"

    def is_ours(self, origin: str, by: str = "http") -> bool:
        """Whether an Origin header names this page. by: the scheme by which the request came, as far as we know."""
        scheme, _, host = origin.partition("://")
        return scheme == ("https" if "https" in (self.scheme, by) else "http") and host in self.hosts

    def is_secure(self, request: Request) -> bool:
        """Whether a browser reaches the page by HTTPS: by the owner's word, or by that of a proxy we trust."""
        return self.scheme == "https" or request.url.scheme == "https"


MOST_FAILURES, SECONDS, MOST_ADDRESSES = 10, 60.0, 10_000


class RateLimit:
    """Counts failures by address over the last minute; of very many addresses the longest quiet ones are forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failures: OrderedDict[str, list[float]] = OrderedDict()

    def seconds_to_wait(self, address: str) -> int:
        """How long this address has to wait before it may try again; 0 for at once."""
        with self._lock:
            recent = self._recent(address)
            return 0 if len(recent) < MOST_FAILURES else max(1, round(recent[0] + SECONDS - self._clock()))

    def note_failure(self, address: str) -> None:
        with self._lock:
            self._failures[address] = [*self._recent(address), self._clock()][-MOST_FAILURES:]
            self._failures.move_to_end(address)
            while len(self._failures) > MOST_ADDRESSES:
                self._failures.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - SECONDS
        return [at for at in self._failures.get(address, []) if at > since]


HEAD_SECONDS = 15.0


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, which sets no limit to the time that a head takes: bytes that trickle in do not extend it.

    Between two requests uvicorn's own limit for idle connections holds.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in bytes; a head that is complete ends the waiting."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def wants_page(request: Request) -> bool:
    """Whether a person looks at the answer; the API always answers in JSON."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def error_page(templates: Jinja2Templates, request: Request, status: int, message: str) -> Response:
    """What was wrong, and the way back."""
    title = texts_for(request)("error.missing" if status == 404 else "error.other")
    values = {"title": title, "message": message, "user": getattr(request.state, "user", None)}
    return templates.TemplateResponse(request, "error.html", values, status_code=status)


MOST_BYTES, BODY_SECONDS = 256 * 1024, 30.0
READING = ("GET", "HEAD")
OPEN_PATHS = ("/enter", "/welcome", "/health", "/texts.js")
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer a browser would call the origin of our own form null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class RefusedError(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class SecurityMiddleware:
    """Middleware that lets a request pass or refuses it, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, site: Site, auth: Auth, templates: Jinja2Templates) -> None:
        self._app, self._site, self._auth, self._templates = app, site, auth, templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = with_security_headers(send, private=not scope["path"].startswith("/static/"))
        try:
            scope.setdefault("state", {})["user"] = self._check(scope)
            if scope["method"] not in READING:
                receive = await whole_body(receive, Headers(scope=scope))
        except RefusedError as refusal:
            await _refuse(self._templates, scope, refusal)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    def _check(self, scope: Scope) -> User | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._site.hosts:
            raise RefusedError(400, "This address is not the page's own; use the link that `soel label` printed.")
        if scope["method"] not in READING:
            self._check_origin(headers, scope.get("scheme", "http"))
        _check_length(headers, MOST_BYTES)
        user = self._auth.user_of(_cookie(headers, self._site.cookie))
        path = scope["path"]
        if user is None and path not in OPEN_PATHS and not path.startswith("/static/"):
            raise RefusedError(401, "You are not signed in; open the link that `soel label` printed.")
        return user

    def _check_origin(self, headers: Mapping[str, str], scheme: str) -> None:
        """Browsers name the origin of every change; a program without a browser sends none."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if (origin is not None and not self._site.is_ours(origin, scheme)) or site not in ("same-origin", "none"):
            raise RefusedError(403, "Changes are accepted from the page itself only, not from other sites.")


def _check_length(headers: Mapping[str, str], most: int) -> None:
    text = headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16) or int(text) > most:
        raise _too_large(most)


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"The request is larger than {most} bytes; send less at once.")


def _cookie(headers: Mapping[str, str], name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def _refuse(templates: Jinja2Templates, scope: Scope, refusal: RefusedError) -> Response:
    """Programs get JSON; a person without a cookie is led to the page that says what to do."""
    request = Request(scope)
    if refusal.status == 401 and wants_page(request) and scope["method"] in READING:
        return RedirectResponse("/welcome", status_code=303)
    if wants_page(request):
        return error_page(templates, request, refusal.status, str(refusal))
    return JSONResponse({"error": str(refusal)}, status_code=refusal.status)


async def whole_body(receive: Receive, headers: Mapping[str, str], most: int = MOST_BYTES) -> Receive:
    """The body read up to its limit in size and time, whatever it claims; the app then reads it from memory."""
    _check_length(headers, most)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read_body(receive, most)
    except TimeoutError:
        raise RefusedError(408, "The request took too long to arrive; send it again.") from None
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


async def _read_body(receive: Receive, most: int) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


def with_security_headers(send: Send, private: bool) -> Send:
    """Put the security headers on every answer. private: whether nobody may keep it."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store" if private else "no-cache")
        await send(message)

    return add
