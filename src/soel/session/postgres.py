"""What is special about PostgreSQL: its address, its locks and how a commit is awaited. No other file knows."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError

from soel.errors import ConfigError, StorageError
from soel.files import write_whole

IN_FOLDER = "folder"  # in place of an address: the copy of the events in the session's folder
SCHEMES = ("postgresql", "postgres")
_EVERYBODY = "soel"
CONNECT_SECONDS = 10
N_CONNECTIONS = 24  # kept open per process: opening one costs more than a read
SAFE_WAYS = "!password,!md5"  # a server that asks for the password itself, or for an old digest of it, is refused


def is_address(where: str) -> bool:
    """Whether this text names a PostgreSQL database."""
    return where.partition("://")[0].partition("+")[0] in SCHEMES


def read_address(where: str) -> URL:
    """The address with the driver that is used here."""
    try:
        url = make_url(where)
    except (ArgumentError, ValueError) as error:
        raise ConfigError(
            f"The store's address is not one; write postgresql://user@host/database. ({error})"
        ) from error
    if not is_address(where):
        raise ConfigError(
            f"There is no store for {url.drivername}:// addresses; write postgresql://user@host/database."
        )
    if not url.database:
        raise ConfigError(
            f"{hide_password(where)!r} is not the address of a database; write postgresql://user@host/database."
        )
    return url.set(drivername="postgresql+psycopg")


def without_password(where: str) -> str:
    """The address as it may be written down."""
    url = make_url(where).set(drivername="postgresql")
    query = {key: value for key, value in url.query.items() if key != "password"}
    return URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query).render_as_string(
        hide_password=False
    )


def strip_password(address: str | None) -> str | None:
    """The address as the config keeps it: without a password."""
    if address is None or address == IN_FOLDER:
        return None
    read_address(address)
    return without_password(address)


def password_in(where: str) -> str | None:
    """The password that an address carries."""
    password = make_url(where).password
    return None if password is None else str(password)


def child_environment(address: str | None) -> dict[str, str]:
    """The environment for a process of our own: it carries the password, which no command line should show."""
    password = None if address is None or address == IN_FOLDER else password_in(address)
    return {**os.environ} if password is None else {**os.environ, "PGPASSWORD": password}


def hide_password(where: str) -> str:
    """The address as it may be shown."""
    try:
        return without_password(where)
    except (ArgumentError, ValueError):
        return where.partition("://")[0] + "://..."


def connect(where: str) -> Engine:
    """The database at an address. Commits return after they are on disk, whatever the server's default.

    A server that does not answer is given up soon, and none is sent the password in a form that it could use. The
    address and PostgreSQL's own environment variables may say otherwise.
    """
    url = read_address(where)
    usual = {"connect_timeout": ("PGCONNECT_TIMEOUT", CONNECT_SECONDS), "require_auth": ("PGREQUIREAUTH", SAFE_WAYS)}
    chosen = {*url.query, *(name for name, (variable, _) in usual.items() if variable in os.environ)}
    arguments = {name: value for name, (_, value) in usual.items() if name not in chosen}
    try:
        engine = create_engine(url, pool_size=N_CONNECTIONS, pool_pre_ping=True, connect_args=arguments)
    except ModuleNotFoundError as error:
        raise ConfigError(
            "A PostgreSQL store needs the package psycopg, which is not installed; install soel[postgres]."
        ) from error

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit TO on")
        connection.commit()

    return engine


def lock(connection: Connection, session: str | None) -> None:
    """Keep other writers of this session out until the transaction ends; None: writers of all sessions."""
    name = _EVERYBODY if session is None else f"{_EVERYBODY} {session}"
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def remember(address: str) -> None:
    """Note an address, without its password, that was typed by a person."""
    known = _read()
    if address not in known:
        with suppress(StorageError):  # then it has to be typed each time
            write_whole(_file(), "".join(f"{each}\n" for each in [*known, address]).encode(), private=True)


def check_known(address: str, folder: Path) -> None:
    """Refuse an address that only a session's config names: a password could go to a stranger's server."""
    if address not in _read():
        raise ConfigError(
            f"The session in {folder} keeps its events at {address}, which this account has not used before. "
            f"Where you trust that server, open the session once with <<store={address}>>"
        )


def _read() -> list[str]:
    try:
        return _file().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _file() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "soel" / "servers.txt"
