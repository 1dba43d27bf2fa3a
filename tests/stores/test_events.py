from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import soel
from soel.errors import SessionError
from soel.session import Event
from soel.stores import schema
from soel.stores.events import SqlStore
from tests.stores.conformance import OpenStore, StoreLaws, label, numbers

WRITER = Path(__file__).with_name("writer.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(soel.__file__).parents[1])}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


class TestSqlStoreOnSqlite(StoreLaws):
    @pytest.fixture
    def open_store(self, path: Path) -> Iterator[OpenStore]:
        opened: list[SqlStore] = []

        def opening() -> SqlStore:
            opened.append(SqlStore(path))
            return opened[-1]

        yield opening
        for store in opened:
            store.close()


@pytest.fixture
def filled(path: Path) -> Path:
    store = SqlStore(path)
    store.append([label("a"), label("b")])
    store.close()
    return path


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def start(path: Path, *words: str, stdin: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(path), *words]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)


def test_the_file_is_in_wal_mode_with_full_sync(path: Path) -> None:
    store = SqlStore(path)
    with store._engine.connect() as connection:
        pragmas = [connection.exec_driver_sql(f"PRAGMA {p}").scalar() for p in ("journal_mode", "synchronous")]
    store.close()
    assert pragmas == ["wal", 2]


def test_a_url_works_like_a_path(path: Path) -> None:
    store = SqlStore(f"sqlite:///{path}")
    store.append([label("a")])
    store.close()
    other = SqlStore(path)
    assert numbers(other.read()) == [1]
    other.close()


def test_a_lost_database_is_not_taken_for_an_empty_one(path: Path) -> None:
    with pytest.raises(SessionError, match="is missing, and with it every answer"):
        SqlStore(path, must_exist=True)
    assert not path.exists()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE events SET body = '{' WHERE number = 2", "Event 2 .*not JSON"),
        ("UPDATE events SET body = '[]' WHERE number = 2", "Event 2 .*not a JSON object"),
        ("UPDATE events SET kind = 'gossip' WHERE number = 2", "Event 2 .*kind is 'gossip'"),
        ("UPDATE events SET who = X'00' WHERE number = 2", "Event 2 .*another type"),
        ("DROP TABLE events", "lost its table of events"),
        ("DROP TABLE migrations", "other tables"),
        ("INSERT INTO migrations VALUES (99, 'now')", "schema 99"),
        ("ALTER TABLE events RENAME COLUMN body TO corpus", "cannot be used"),
    ],
)
def test_a_database_changed_by_hand_is_refused(filled: Path, statement: str, message: str) -> None:
    change(filled, statement)
    with pytest.raises(SessionError, match=message):
        SqlStore(filled).read()


def test_a_table_dropped_while_open_is_an_error(filled: Path) -> None:
    store = SqlStore(filled)
    change(filled, "DROP TABLE events")
    with pytest.raises(SessionError, match="cannot be used"):
        store.append([label("c")])
    store.close()


def test_another_program_s_database_is_left_alone(path: Path) -> None:
    change(path, "CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(SessionError, match=r"other tables \(recipes\)"):
        SqlStore(path)
    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert before
    assert tables == [("recipes",)]


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(SessionError, match="not a database"):
        SqlStore(path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be used"):
        SqlStore(tmp_path / "nowhere" / "events.sqlite")


def test_a_later_migration_keeps_the_events(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def add_index(connection: object) -> None:
        connection.exec_driver_sql("CREATE INDEX by_item ON events (item)")  # type: ignore[attr-defined]

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_index))
    store = SqlStore(filled)
    assert numbers(store.read()) == [1, 2]
    store.close()
    connection = sqlite3.connect(filled)
    done = connection.execute("SELECT version FROM migrations ORDER BY version").fetchall()
    connection.close()
    assert done == [(1,), (2,)]


def test_a_failed_migration_leaves_everything_as_it_was(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: object) -> None:
        connection.exec_driver_sql("DROP TABLE events")  # type: ignore[attr-defined]
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
        with pytest.raises(RuntimeError, match="power cut"):
            SqlStore(filled)
    store = SqlStore(filled)
    assert numbers(store.read()) == [1, 2]
    store.close()


def test_processes_that_start_together_lose_and_repeat_nothing(path: Path) -> None:
    writers = [start(path, name, "15") for name in ("x", "y", "z")]
    said = [int(line) for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert all(writer.returncode == 0 for writer in writers)
    store = SqlStore(path)
    events = store.read()
    store.close()
    assert numbers(events) == list(range(1, 91))
    assert len(set(said)) == 45
    assert len({event.item for event in events}) == 90


def test_what_was_acknowledged_survives_30_kills(path: Path) -> None:
    nursery = start(path, "nursery", stdin=subprocess.PIPE)
    acknowledged: list[int] = []
    for turn in range(30):
        acknowledged += kill_one(nursery, f"writer {turn}", 0.001 * turn)
    rest, _ = nursery.communicate(timeout=30)
    acknowledged += [int(line) for line in rest.split()]
    store = SqlStore(path, must_exist=True)
    events = store.read()
    assert numbers(events) == list(range(1, len(events) + 1))
    assert len({event.who for event in events}) == 30
    assert len(set(acknowledged)) == len(acknowledged) >= 30
    assert set(acknowledged) <= set(numbers(events))
    assert [e.item for e in events[0::2]] == [f"{str(e.item)[:-1]}a" for e in events[1::2]], "batches are whole"
    assert numbers(store.append([Event("undo", "ann")])) == [len(events) + 1]
    store.close()


def kill_one(nursery: subprocess.Popen[str], name: str, patience: float) -> list[int]:
    """Have a writer born, wait until it has stored something, kill it; returns the numbers heard."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(f"{name}\n")
    nursery.stdin.flush()
    heard: list[int] = []
    while not (line := nursery.stdout.readline()).startswith("pid"):
        heard.append(int(line))  # what the one before had said when it was killed
    heard.append(int(nursery.stdout.readline()))
    time.sleep(patience)
    os.kill(int(line.split()[1]), signal.SIGKILL)
    return heard
