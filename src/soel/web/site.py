"""Where the page lives: its names, its scheme and the name of its cookie."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request


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
