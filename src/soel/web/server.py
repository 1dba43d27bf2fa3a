"""Starts the page for one session: binds, prints the one-time link, serves until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from ipaddress import ip_network

import uvicorn
from starlette.types import ASGIApp

from soel.errors import ConfigError
from soel.web.auth import Auth, User
from soel.web.protocol import TimedProtocol
from soel.web.site import Site

LOCAL = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")
OURSELVES = ("127.0.0.1", "localhost", "[::1]")
MOST_CONNECTIONS, IDLE_SECONDS, MOST_HEAD = 512, 15, 32 * 1024


@dataclass(frozen=True)
class Address:
    """Where to serve. port: 0 takes the one of the last start, or any. names: further names of this machine.

    https: whether browsers reach it by HTTPS, through a proxy. trusted_proxies: addresses or networks of proxies whose
    word counts about who asks and by which scheme; none by default.
    """

    host: str = LOCAL
    port: int = 0
    names: Sequence[str] = ()
    https: bool = False
    trusted_proxies: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise ConfigError(f"A port is a number from 0 to {2**16 - 1}, got {self.port}.")
        for proxy in self.trusted_proxies:
            _check_network(proxy)

    @property
    def scheme(self) -> str:
        """How browsers reach it."""
        return "https" if self.https else "http"


def serve(
    make_app: Callable[[Site], ASGIApp], auth: Auth, owner: str, address: Address, announce: Callable[[str], None]
) -> None:
    """Serve until stopped. announce: called with the owner's one-time link once the page can be opened."""
    with closing(_bind(address, auth)) as listener:
        port = int(listener.getsockname()[1])
        auth.remember_port(port)
        app = make_app(Site(allowed_hosts(address, port), auth.cookie, address.scheme))
        listener.listen(128)  # a browser that is faster than the server waits here
        announce(f"{_base(address, port)}/enter?key={auth.new_key(User(owner, 'owner'))}")
        uvicorn.Server(settings(app, address)).run(sockets=[listener])


def settings(app: ASGIApp, address: Address) -> uvicorn.Config:
    """How uvicorn serves: quietly, and with limits to what a client may hold on to."""
    return uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        h11_max_incomplete_event_size=MOST_HEAD,
        proxy_headers=bool(address.trusted_proxies),
        forwarded_allow_ips=list(address.trusted_proxies),
    )


def allowed_hosts(address: Address, port: int) -> frozenset[str]:
    """What the Host header may say: foreign names that point here are refused."""
    named = [*address.names, *(_own_names() if address.host in EVERYWHERE else [address.host])]
    bare = {name.lower() for name in address.names}  # a proxy on a usual port leaves the port out
    return frozenset({f"{name}:{port}".lower() for name in (*OURSELVES, *named)} | bare)


def _bind(address: Address, auth: Auth) -> socket.socket:
    """A listening socket on the port asked for; without one, on the last port if it is free, else on any."""
    for port in [address.port] if address.port else [auth.port, 0]:
        try:
            return _socket(address.host, port)
        except OSError as error:
            if port == 0 or address.port:
                raise ConfigError(
                    f"The page cannot be served on {address.host} port {port} ({error.strerror or error}); "
                    "choose another <<host>> or <<port>>."
                ) from error
    raise AssertionError("any port was tried")


def _socket(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
    except OSError:
        listener.close()
        raise
    return listener


def _own_names() -> list[str]:
    name = socket.gethostname()
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        found = []
    addresses = [str(entry[4][0]) for entry in found]
    return [name, *(f"[{address}]" if ":" in address else address for address in addresses)]


def _base(address: Address, port: int) -> str:
    """The page's address for a person; behind a proxy with TLS it is the name that the proxy is known by."""
    if address.https and address.names:
        return f"https://{address.names[0]}"
    return f"{address.scheme}://{_show(address)}:{port}"


def _check_network(text: str) -> None:
    try:
        ip_network(text, strict=False)
    except ValueError:
        raise ConfigError(f"<<trusted-proxy>> needs an address or a network like 10.0.0.0/8, got {text!r}.") from None


def _show(address: Address) -> str:
    if address.host in EVERYWHERE:
        return address.names[0] if address.names else socket.gethostname()
    return f"[{address.host}]" if ":" in address.host else address.host
