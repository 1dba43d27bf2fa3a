"""What stands before every request: right host, right origin, a known user, a body of bounded size."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.templating import Jinja2Templates
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from soel.web.auth import Auth, User
from soel.web.pages import error_page, wants_page
from soel.web.site import Site

MOST_BYTES, BODY_SECONDS = 256 * 1024, 30.0
TOO_LARGE = f"The request is larger than {MOST_BYTES} bytes; send less at once."
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
        """Check one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(send, private=not scope["path"].startswith("/static/"))
        try:
            scope.setdefault("state", {})["user"] = self._check(scope)
            if scope["method"] not in READING:
                receive = await _whole_body(receive)
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
        if int(_length(headers)) > MOST_BYTES:
            raise RefusedError(413, TOO_LARGE)
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


def _length(headers: Mapping[str, str]) -> str:
    text = headers.get("content-length", "0")
    return text if text.isascii() and text.isdigit() and len(text) < 16 else str(MOST_BYTES + 1)


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


async def _whole_body(receive: Receive) -> Receive:
    """The body read up to its limit in size and time, whatever it claims; the app then reads it from memory."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _read_body(receive)
    except TimeoutError:
        raise RefusedError(408, "The request took too long to arrive; send it again.") from None
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


async def _read_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise RefusedError(413, TOO_LARGE)
    return body


def _with_headers(send: Send, private: bool) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store" if private else "no-cache")
        await send(message)

    return add
