"""From a path to a page: serves at once, makes the session beside the data where it is missing, opens it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from starlette.types import ASGIApp

from soel.checks import check_distinct
from soel.errors import StorageError
from soel.files import is_marked
from soel.session import Session, create
from soel.session.items import read_items
from soel.session.media import SessionMaps, open_media
from soel.session.request import Creation
from soel.session.worker import Background, Listening
from soel.web.app import create_app, create_preparing_app
from soel.web.auth import FILE, Auth
from soel.web.column_question import ask_about
from soel.web.current_view import CurrentView
from soel.web.media_view import MediaView
from soel.web.ports import ItemView
from soel.web.preparation import OnProgress, Preparation, SwitchingApp
from soel.web.server import Address, serve
from soel.web.site import Site
from soel.web.table_view import TableView
from soel.web.view_model import ViewModel


@dataclass(frozen=True)
class Listeners:
    """Who hears of what.

    announce: of the owner's link. on_progress: of each look at the preparation, of None at its end.
    """

    announce: Callable[[str], None]
    on_progress: OnProgress


def launch(
    creation: Creation,
    owner: str,
    address: Address,
    listeners: Listeners,
    store: str | None = None,
    asks: bool = True,
) -> None:
    """Serve the page of a session until it is stopped; one that is still to be made is made meanwhile.

    asks: whether the page asks first about columns that could be meant otherwise.
    """
    with ExitStack() as leaving:
        if creation.is_done:
            auth = open_auth(creation)
            check_distinct(owner, auth.names())
            serve(lambda site: _open(creation, auth, site, store, leaving), auth, owner, address, listeners.announce)
            return
        leaving.callback(creation.stop)
        auth = Auth(creation.make_place())

        def prepare(site: Site) -> ASGIApp:
            reading = creation.look()
            question = ask_about(creation, reading) if asks else None
            if question is None:
                creation.start()  # only now: there is a port to be served on
            preparation = Preparation(creation, creation.data.name, question=question, reading=reading)
            first = create_preparing_app(preparation, auth, site)
            switching = SwitchingApp(
                first, preparation, lambda: _change(creation, auth, site, store, leaving), listeners.on_progress
            )
            leaving.callback(switching.stop)
            return switching

        serve(prepare, auth, owner, address, listeners.announce)


def open_auth(creation: Creation) -> Auth:
    """The sign-ins of a session that is there, with what a server that died too early left beside it."""
    if is_marked(creation.place) and (creation.place / FILE).is_file() and not (creation.folder / FILE).exists():
        Auth(creation.place).move(creation.folder)
    creation.clear()
    return Auth(creation.folder)


def view_of(session: Session) -> ItemView:
    """How the items of a session are shown, those that are added later as well."""
    return CurrentView(session, _view_now)


def _view_now(session: Session) -> ItemView:
    place = session.folder
    media = open_media(place)
    if media is None:
        return TableView(place.ids, lambda: read_items(place).frame, place.config.id_column is not None)
    return MediaView(media, SessionMaps(session))


def _open(creation: Creation, auth: Auth, site: Site, store: str | None, leaving: ExitStack) -> ASGIApp:
    session = create.open_session(creation.folder, store)
    leaving.callback(session.close)
    view_model = ViewModel(session, view_of(session), Background(creation.folder, store))
    app = create_app(view_model, auth, site)
    with suppress(StorageError):  # the page says it, and can be looked at
        view_model.go_on()
    reader = threading.Thread(target=view_model.warm_up)
    reader.start()
    leaving.callback(reader.join)  # before the session is closed
    if session.is_sequential:
        listening = Listening(creation.folder, store)
        leaving.callback(listening.stop)
        with suppress(OSError):  # where no log can be written, the round is asked as it was drawn
            listening.start()
    return app


def _change(creation: Creation, auth: Auth, site: Site, store: str | None, leaving: ExitStack) -> ASGIApp:
    app = _open(creation, auth, site, store, leaving)
    auth.move(creation.folder)
    creation.clear()
    return app
