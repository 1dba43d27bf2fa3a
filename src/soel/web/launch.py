"""From a path to a page: serves at once, makes the session beside the data where it is missing, opens it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from starlette.types import ASGIApp

from soel.api import workspace
from soel.api.background import Background
from soel.api.creation import Creation
from soel.api.media import open_media
from soel.session import Session
from soel.web.app import create_app, create_preparing_app
from soel.web.desk import Desk
from soel.web.door import FILE, Door
from soel.web.guard import House
from soel.web.media_view import MediaView
from soel.web.ports import ItemView
from soel.web.preparation import Preparation, Told, Waiting
from soel.web.server import Place, serve
from soel.web.table_view import TableView


@dataclass(frozen=True)
class Heard:
    """Who hears of what. announce: of the owner's link. told: of each look at the preparation, of None at its end."""

    announce: Callable[[str], None]
    told: Told


def launch(creation: Creation, owner: str, place: Place, heard: Heard, store: str | None = None) -> None:
    """Serve the page of a session until it is stopped; one that is still to be made is made meanwhile."""
    with ExitStack() as leaving:
        if creation.is_done:
            door = move_in(creation)
            serve(lambda house: _open(creation, door, house, store, leaving), door, owner, place, heard.announce)
            return
        leaving.callback(creation.stop)
        door = Door(creation.place)

        def prepare(house: House) -> ASGIApp:
            creation.start()  # only now: there is a port to be served on
            preparation = Preparation(creation, creation.data.name)
            first = create_preparing_app(preparation, door, house)
            waiting = Waiting(first, preparation, lambda: _change(creation, door, house, store, leaving), heard.told)
            leaving.callback(waiting.stop)
            return waiting

        serve(prepare, door, owner, place, heard.announce)


def move_in(creation: Creation) -> Door:
    """The door of a session that is there, with what a server that died too early left beside it."""
    if (creation.place / FILE).is_file() and not (creation.folder / FILE).exists():
        Door(creation.place).move(creation.folder)
    creation.clear()
    return Door(creation.folder)


def view_of(session: Session) -> ItemView:
    """How the items of a session are shown."""
    media = open_media(session.folder)
    if media is not None:
        return MediaView(media)
    return TableView(session.ids, lambda: workspace.read_source(session).frame)


def _open(creation: Creation, door: Door, house: House, store: str | None, leaving: ExitStack) -> ASGIApp:
    session = workspace.open(creation.folder, store)
    leaving.callback(session.close)
    desk = Desk(session, view_of(session), Background(creation.folder, store))
    app = create_app(desk, door, house)
    desk.go_on()
    reader = threading.Thread(target=desk.warm_up)
    reader.start()
    leaving.callback(reader.join)  # before the session is closed
    return app


def _change(creation: Creation, door: Door, house: House, store: str | None, leaving: ExitStack) -> ASGIApp:
    app = _open(creation, door, house, store, leaving)
    door.move(creation.folder)
    creation.clear()
    return app
