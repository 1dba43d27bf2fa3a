"""From a path to a page: opens or creates the session beside the data, picks the view, serves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from soel.api import workspace
from soel.api.background import Background
from soel.api.media import open_media
from soel.session import Session
from soel.web.desk import Desk
from soel.web.media_view import MediaView
from soel.web.ports import ItemView
from soel.web.server import Place, serve
from soel.web.table_view import TableView

SUFFIX, CONFIG = ".soel", "config.json"


def open_or_create(data: Path, options: Mapping[str, Any], store: str | None = None) -> Session:
    """The session in a folder, or the one beside the data (DATA.soel), which is created where it is missing."""
    data = Path(os.path.normpath(data))  # a slash at the end of a folder's name is no part of it
    if (data / CONFIG).is_file():
        return workspace.open(data, store)
    folder = data.with_name(data.name + SUFFIX)
    if (folder / CONFIG).is_file():
        return workspace.open(folder, store)
    return workspace.create(folder, data, store=store, **options)


def launch(
    session: Session, owner: str, place: Place, announce: Callable[[str], None], store: str | None = None
) -> None:
    """Serve the page of a session until it is stopped."""
    desk = Desk(session, view_of(session), Background(session.folder.path, store))
    serve(desk, session.folder.path, owner, place, announce)


def view_of(session: Session) -> ItemView:
    """How the items of a session are shown."""
    media = open_media(session.folder)
    if media is not None:
        return MediaView(media)
    return TableView(session.ids, lambda: workspace.read_source(session).frame)
