"""From a path to a page: binds, prints the one-time link, makes the session where it is missing, serves it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from soel.checks import check_distinct
from soel.errors import ConfigError, StorageError
from soel.files import is_marked
from soel.session import Session, create
from soel.session.item_tables import read_items
from soel.session.pictures import SessionMaps, open_media
from soel.session.request import Creation
from soel.session.worker import Background, Refining
from soel.web.app import create_app, create_preparing_app
from soel.web.auth import FILE, Auth, User
from soel.web.cards import ItemView, MediaView, TableView
from soel.web.prepare import OnProgress, Preparation, SwitchingApp, ask_about
from soel.web.security import Site, TimedProtocol
from soel.web.view_model import ViewModel

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
    with closing(bind_address(address, auth.port)) as listener:
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


def bind_address(address: Address, usual: int = 0) -> socket.socket:
    """A listening socket on the port asked for; without one, on the usual port if it is free, else on any."""
    for port in [address.port] if address.port else [usual, 0]:
        try:
            return _socket(address.host, port)
        except OSError as error:
            if port == 0 or address.port:
                raise ConfigError(
                    f"Nothing can be served on {address.host} port {port} ({error.strerror or error}); "
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


def launch(
    creation: Creation,
    owner: str,
    address: Address,
    announce: Callable[[str], None],
    on_progress: OnProgress,
    store: str | None = None,
    asks: bool = True,
) -> None:
    """Serve the page of a session until it is stopped; one that is still to be made is made meanwhile.

    announce: called with the owner's link. on_progress: with each look at the preparation, with None at its end. asks:
    whether the page asks first about columns that could be meant otherwise.
    """
    with ExitStack() as leaving:
        if creation.is_done:
            auth = open_auth(creation)
            check_distinct(owner, auth.names())
            serve(lambda site: _open(creation.folder, auth, site, store, leaving), auth, owner, address, announce)
            return
        leaving.callback(creation.stop)
        auth = Auth(creation.make_place())

        def prepare(site: Site) -> ASGIApp:
            reading = creation.look()
            question = ask_about(creation, reading) if asks else None
            if question is None:
                creation.start()  # only now: there is a port to be served on
            preparation = Preparation(creation, creation.data.name, question=question, reading=reading)

            def change() -> ASGIApp:
                app = _open(creation.folder, auth, site, store, leaving)
                auth.move(creation.folder)
                creation.clear()
                return app

            first = create_preparing_app(preparation, auth, site)
            switching = SwitchingApp(first, preparation, change, on_progress)
            leaving.callback(switching.stop)
            return switching

        serve(prepare, auth, owner, address, announce)


def open_auth(creation: Creation) -> Auth:
    """The sign-ins of a session that is there, with what a server that died too early left beside it."""
    if is_marked(creation.place) and (creation.place / FILE).is_file() and not (creation.folder / FILE).exists():
        Auth(creation.place).move(creation.folder)
    creation.clear()
    return Auth(creation.folder)


def view_of(session: Session) -> ItemView:
    """How the items of a session's present pool are shown."""
    place = session.folder
    media = open_media(place)
    if media is None:
        return TableView(place.ids, lambda: read_items(place).frame, place.config.id_column is not None)
    return MediaView(media, SessionMaps(session))


def _open(folder: Path, auth: Auth, site: Site, store: str | None, leaving: ExitStack) -> ASGIApp:
    session = create.open_session(folder, store)
    leaving.callback(session.close)
    view_model = ViewModel(session, view_of, Background(folder, store))
    app = create_app(view_model, auth, site)
    with suppress(StorageError):  # the page says it, and can be looked at
        view_model.go_on()
    reader = threading.Thread(target=view_model.warm_up)
    reader.start()
    leaving.callback(reader.join)  # before the session is closed
    if session.is_sequential:
        refining = Refining(folder, store)
        leaving.callback(refining.stop)
        with suppress(OSError):  # where no log can be written, the round is asked as it was drawn
            refining.start()
    return app
