"""What is special about SQLite: pragmas, how a transaction begins, its errors, reading where nothing can be written.

No other file knows.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from soel.errors import ConfigError, DamagedError, LockedError, SoelError, StorageError
from soel.files import explain as explain_os_error

BUSY_MS = 30_000
N_CONNECTIONS = 24  # kept open per process: opening one costs more than a read
LOG = "-wal"
MOST_LOGGED = 100  # pages in the log before they are moved into the database, where damage cannot hide
_CODES = {
    "SQLITE_FULL": errno.ENOSPC,
    "SQLITE_IOERR_SHMSIZE": errno.ENOSPC,
    "SQLITE_IOERR_SHMOPEN": errno.ENOSPC,
    "SQLITE_READONLY": errno.EROFS,
    "SQLITE_PERM": errno.EACCES,
    "SQLITE_IOERR": errno.EIO,
}


def connect(where: str | Path, must_exist: bool) -> Engine:
    """The database in a file."""
    if "://" in str(where):
        raise ConfigError(f"{where!r} is neither a file nor the address of a PostgreSQL database; give one of them.")
    if must_exist and not Path(where).is_file():
        raise DamagedError(f"{where} is missing, and with it every answer; restore it from a copy.")
    return _tune(create_engine(f"sqlite:///{where}", pool_size=N_CONNECTIONS))


def _tune(engine: Engine) -> Engine:
    """Write-ahead log, full sync, and writers that queue instead of failing."""

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute(f"PRAGMA wal_autocheckpoint = {MOST_LOGGED}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def checkpoint(engine: Engine) -> None:
    """Move what the log holds into the database, as far as no other process reads it and there is room."""
    with suppress(SQLAlchemyError, sqlite3.Error), engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")


def keep_log(path: Path) -> None:
    """Keep a copy of a damaged log, which SQLite removes when the database is closed."""
    log = path.with_name(path.name + LOG)
    with suppress(OSError):
        if log.stat().st_size:
            shutil.copyfile(log, log.with_name(log.name + ".damaged"))


def explain(error: object, path: Path) -> SoelError | None:
    """What SQLite says about a file as one of our errors, each with its own remedy; None for another's error."""
    if not isinstance(error, sqlite3.Error):
        return None
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LockedError(f"{path} is in use by another process for too long; wait for it, then try again.")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return DamagedError(
            f"{path} is damaged ({error}). Stop all who use it, keep what is there, and restore it from a copy."
        )
    if name.startswith("SQLITE_CANTOPEN"):
        return _not_opened(path)
    for prefix, number in _CODES.items():
        if name.startswith(prefix):
            return explain_os_error(OSError(number, os.strerror(number)), path, "used")
    return None


def _not_opened(path: Path) -> StorageError:
    """Why a database cannot be opened: SQLite does not say."""
    number = errno.EIO
    if not path.parent.is_dir():
        number = errno.ENOENT
    elif not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        read_only = hasattr(os, "statvfs") and os.statvfs(path.parent).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
    elif shutil.disk_usage(path.parent).free < 1 << 16:
        number = errno.ENOSPC
    return explain_os_error(OSError(number, os.strerror(number)), path, "used")


class MemoryCopy:
    """A copy in memory, for reading, of a database that cannot be written to where it lies; with its log."""

    def __init__(self, path: Path) -> None:
        self._path, self._seen = path, _marks(path)
        name = f"file:soel-{secrets.token_hex(8)}?mode=memory&cache=shared"
        self._anchor = sqlite3.connect(name, uri=True, check_same_thread=False)  # the copy lives as long as this
        with _room_for(path) as folder:
            for file in _files(path):
                shutil.copyfile(file, folder / file.name)
            with closing(sqlite3.connect(folder / path.name)) as source:
                source.backup(self._anchor)
        self.engine = _tune(create_engine(f"sqlite:///{name}&uri=true", poolclass=QueuePool))

    @property
    def is_current(self) -> bool:
        """Whether the database is as it was."""
        return _marks(self._path) == self._seen

    def close(self) -> None:
        self.engine.dispose()
        self._anchor.close()


@contextmanager
def _room_for(path: Path) -> Iterator[Path]:
    """A folder with room for a database while it is read: among the temporary files, or in memory."""
    size = sum(file.stat().st_size for file in _files(path))
    for place in (Path(tempfile.gettempdir()), Path("/dev/shm")):
        if place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > 2 * size:
            with tempfile.TemporaryDirectory(prefix="soel-events-", dir=place, ignore_cleanup_errors=True) as folder:
                yield Path(folder)
            return
    raise StorageError(f"{path} can only be read from a copy, and there is no room for one in {tempfile.gettempdir()}.")


def _files(path: Path) -> list[Path]:
    return [file for file in (path, path.with_name(path.name + LOG)) if file.exists()]


def _marks(path: Path) -> list[tuple[int, int]]:
    return [(file.stat().st_size, file.stat().st_mtime_ns) for file in _files(path)]


def _write_ahead(cursor: Any) -> None:
    """Switch the log's mode; while another process does the same, SQLite refuses without waiting."""
    for _ in range(100):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except Exception as error:
            if "locked" not in str(error):
                raise
            time.sleep(0.01)
    cursor.execute("PRAGMA journal_mode = WAL")


SUFFIX = "-last"
_LINE = re.compile(rb"(\d{12}) ([0-9a-f]{16}) (\d{10})\n")


def write_last(database: Path, number: int, digest: str) -> None:
    """Replace what is noted; where nothing can be written, an older number stays true."""
    said = f"{number:012d} {digest}".encode()
    with suppress(OSError):
        file = os.open(_beside(database), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(file, b"%s %010d\n" % (said, zlib.crc32(said)))
        finally:
            os.close(file)


def read_last(database: Path) -> tuple[int, str] | None:
    """The number and digest that were noted; None where nothing is, or the note is damaged itself."""
    try:
        found = _LINE.fullmatch(_beside(database).read_bytes())
    except OSError:
        return None
    if found is None or zlib.crc32(b"%s %s" % (found[1], found[2])) != int(found[3]):
        return None
    return int(found[1]), found[2].decode()


def _beside(database: Path) -> Path:
    return database.with_name(database.name + SUFFIX)
