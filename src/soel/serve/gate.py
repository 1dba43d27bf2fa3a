"""What stands before every request of the endpoint: the token, and limits of size, time and failed tries."""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from soel.errors import ConfigError
from soel.web.security import READING, RateLimit, RefusedError, whole_body, with_security_headers

MOST_BODY = 16 << 20
OPEN = ("/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready")
VARIABLE, SHORTEST = "SOEL_TOKEN", 16
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Access:
    """Who may ask. token: what a request has to carry; empty on this machine alone, where hosts says by which names."""

    token: str
    hosts: frozenset[str] = frozenset()
    failures: RateLimit = field(default_factory=RateLimit, compare=False)

    @classmethod
    def choose(cls, host: str, port: int, is_open: bool) -> Access:
        """By the environment's SOEL_TOKEN, else with a new token. is_open: without one, which only this machine may."""
        if is_open:
            if host not in LOOPBACK:
                raise ConfigError(
                    f"<<no-auth>> is for this machine alone, and {host} is reached by others; give a token."
                )
            return cls("", frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")))
        token = os.environ.get(VARIABLE) or secrets.token_urlsafe(24)
        if len(token) < SHORTEST:
            raise ConfigError(f"{VARIABLE} has {len(token)} characters; give a secret of {SHORTEST} or more.")
        return cls(token)

    def check(self, scope: Scope, headers: Headers) -> None:
        """Refuse who does not know the token; who guesses is soon told to wait. Without a token, a page of another
        site that a browser of this machine has open is refused by its host or origin.
        """
        if not self.token:
            if headers.get("host", "").lower() not in self.hosts or "origin" in headers:
                raise RefusedError(403, "Without a token, only programs on this machine are answered.")
            return
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(given.encode(), self.token.encode()):
            return
        address = (scope.get("client") or ("",))[0]
        wait = self.failures.seconds_to_wait(address)
        if wait:
            raise RefusedError(429, f"Too many wrong tokens; wait {wait} seconds.")
        self.failures.note_failure(address)
        raise RefusedError(401, "Send the token: Authorization: Bearer TOKEN.")


class Gate:
    """Middleware that lets a request with its whole body pass, or refuses it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded, headers = with_security_headers(send, private=True), Headers(scope=scope)
        try:
            if scope["path"] not in OPEN:
                self._access.check(scope, headers)
            if headers.get("content-encoding", "identity") != "identity":
                raise RefusedError(415, "Packed bodies are not read; send it as it is.")
            if scope["method"] not in READING:
                receive = await whole_body(receive, headers, MOST_BODY)
        except RefusedError as refusal:
            wait = {"retry-after": "60"} if refusal.status == 429 else {}
            await JSONResponse({"error": str(refusal)}, refusal.status, headers=wait)(scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)
