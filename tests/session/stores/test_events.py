from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from soel.errors import SessionError, StorageError
from soel.session.store import SqlStore
from soel.testing.laws import Law
from tests.session.stores.laws import STORE_LAWS, OpenStore, label, opener


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.sqlite"


@pytest.mark.parametrize("law", STORE_LAWS)
def test_laws_on_sqlite(law: Law[OpenStore], path: Path) -> None:
    with opener(path) as open_store:
        law(open_store)


@pytest.mark.parametrize("law", STORE_LAWS)
def test_laws_on_postgres(law: Law[OpenStore], address: str, name: str) -> None:
    with opener(address, session=name) as open_store:
        law(open_store)


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


def test_the_file_is_in_wal_mode_with_full_sync(path: Path) -> None:
    store = SqlStore(path)
    with store._engine.connect() as connection:
        pragmas = [connection.exec_driver_sql(f"PRAGMA {p}").scalar() for p in ("journal_mode", "synchronous")]
    store.close()
    assert pragmas == ["wal", 2]


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
        ("UPDATE events SET body = '{\"label\": 0}' WHERE number = 2", "Event 2 .*label of 'ann' on 'b' is not what"),
        ("UPDATE events SET item = 'a' WHERE number = 2", "Event 2 .*is not what was stored"),
        ("UPDATE events SET who = 'bob' WHERE number = 1", "Event 1 .*is not what was stored"),
        ("UPDATE events SET at = '2020' WHERE number = 1", "Event 1 .*is not what was stored"),
        ("UPDATE events SET number = 3 WHERE number = 2", "Event 3 .*is not what was stored"),
        ("DELETE FROM events WHERE number = 1", "Event 1 in .* is missing"),
        ("DROP TABLE events", "lost its table of events"),
        ("DROP TABLE soel_format", "other tables"),
        ("UPDATE soel_format SET version = 99", "format 99"),
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
    with pytest.raises(StorageError, match=r"nowhere/events\.sqlite cannot be used: No such file"):
        SqlStore(tmp_path / "nowhere" / "events.sqlite")


def test_events_are_taken_over_with_number_and_time_into_an_empty_place_only(filled: Path, tmp_path: Path) -> None:
    source, target = SqlStore(filled), SqlStore(tmp_path / "copy.sqlite")
    target.copy_in(source.read())
    assert list(target.read()) == list(source.read())
    with pytest.raises(SessionError, match="holds events already"):
        target.copy_in(source.read())
    source.close()
    target.close()
