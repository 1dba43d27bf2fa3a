"""Starts the page for one session: binds, prints the one-time link, serves until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from soel.errors import ConfigError
from soel.web.door import Door, Visitor
from soel.web.guard import House

LOCAL = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")
OURSELVES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Place:
    """Where to serve. port: 0 takes the one of the last start, or any. names: further names of this machine."""

    host: str = LOCAL
    port: int = 0
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise ConfigError(f"A port is a number from 0 to {2**16 - 1}, got {self.port}.")


def serve(
    make_app: Callable[[House], ASGIApp], door: Door, owner: str, place: Place, announce: Callable[[str], None]
) -> None:
    """Serve until stopped. announce: called with the owner's one-time link once the page can be opened."""
    with closing(_bind(place, door)) as listener:
        port = int(listener.getsockname()[1])
        door.remember_port(port)
        app = make_app(House(allowed_hosts(place, port), door.cookie))
        listener.listen(128)  # a browser that is faster than the server waits here
        announce(f"http://{_shown(place)}:{port}/enter?key={door.new_key(Visitor(owner, 'owner'))}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


def allowed_hosts(place: Place, port: int) -> frozenset[str]:
    """What the Host header may say: foreign names that point here are refused."""
    named = [*place.names, *(_own_names() if place.host in EVERYWHERE else [place.host])]
    bare = {name.lower() for name in place.names}  # a proxy on a usual port leaves the port out
    return frozenset({f"{name}:{port}".lower() for name in (*OURSELVES, *named)} | bare)


def _bind(place: Place, door: Door) -> socket.socket:
    """A listening socket on the port asked for; without one, on the last port if it is free, else on any."""
    for port in [place.port] if place.port else [door.port, 0]:
        try:
            return _socket(place.host, port)
        except OSError as error:
            if port == 0 or place.port:
                raise ConfigError(
                    f"The page cannot be served on {place.host} port {port} ({error.strerror or error}); "
                    "choose another --host or --port."
                ) from error
    raise AssertionError("any port was tried")


def _socket(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
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


def _shown(place: Place) -> str:
    if place.host in EVERYWHERE:
        return place.names[0] if place.names else socket.gethostname()
    return f"[{place.host}]" if ":" in place.host else place.host
