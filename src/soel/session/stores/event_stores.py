"""Where a session's events are kept: in its folder, or on a server by address."""

from __future__ import annotations

import os
from pathlib import Path

from soel.durable import move
from soel.errors import ConfigError, SessionError
from soel.session import Session, SessionConfig, SessionFolder
from soel.session.stores import known_servers, postgres
from soel.session.stores.events import SqlStore
from soel.session.stores.last_event import SUFFIX

IN_FOLDER = "folder"


def strip_password(address: str | None) -> str | None:
    """The address as the config keeps it: without a password."""
    if address is None or address == IN_FOLDER:
        return None
    postgres.read_address(address)
    return postgres.without_password(address)


def new_store(folder: Path, config: SessionConfig, address: str | None) -> SqlStore:
    """An empty store for a session that starts now. address: as it was given, with a password or not."""
    if config.store is None:
        return SqlStore(SessionFolder(folder).events)
    store = SqlStore(address or config.store, session=config.session)
    known_servers.remember(config.store)
    return store


def open_store(place: SessionFolder, address: str | None = None) -> SqlStore:
    """The events of a session. address: in place of the config's, with its password; 'folder' for a copy there.

    An address that only the config names is used where this account has used it before.
    """
    where = address or place.config.store
    if where is None or where == IN_FOLDER:
        return SqlStore(place.events, must_exist=True)
    if not postgres.is_address(where):
        raise ConfigError(f"{where!r} is no store; give postgresql://user@host/database, or {IN_FOLDER!r}.")
    if address is None:
        known_servers.check_known(where, place.path)
    store = SqlStore(where, must_exist=True, session=place.config.session)
    known_servers.remember(postgres.without_password(where))
    return store


def child_environment(address: str | None) -> dict[str, str]:
    """The environment for a process of our own: it carries the password, which no command line should show."""
    password = None if address is None or address == IN_FOLDER else postgres.password_in(address)
    return {**os.environ} if password is None else {**os.environ, "PGPASSWORD": password}


def copy_events_into_folder(session: Session) -> Path:
    """Copy the events from the server into the session's folder, whole or not at all; returns the file."""
    if session.config.store is None:
        raise SessionError(
            f"The events of {session.folder.path} are in the folder already; there is nothing to bring in."
        )
    target = session.folder.events
    partial = target.with_name(".events.partial")
    partial.unlink(missing_ok=True)
    store = SqlStore(partial)
    try:
        store.copy_in(session.events)
    finally:
        store.close()
    for trace in ("-wal", "-shm", SUFFIX):  # of an older copy; beside a new file they would be read as a part of it
        target.with_name(target.name + trace).unlink(missing_ok=True)
    move(partial, target)
    return target
