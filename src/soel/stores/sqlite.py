"""What is special about SQLite: pragmas and how a transaction begins. No other file knows."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Connection, Engine, event

BUSY_MS = 30_000


def tune(engine: Engine) -> None:
    """Write-ahead log, full sync, and writers that queue instead of failing."""

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        _write_ahead(cursor)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


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
