"""What only a server can show: many sessions in one database, addresses, restarts."""

from __future__ import annotations

import sys
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text

from soel.errors import ConfigError, SessionError
from soel.session import postgres
from soel.session.store import SqlStore
from tests.session.stores.laws import label, numbers
from tests.session.stores.postgres_server import Server


def test_sessions_share_a_database_without_seeing_one_another(address: str, name: str) -> None:
    one, two = SqlStore(address, session=name), SqlStore(address, session=f"{name}-2")
    one.append([label("a"), label("b")])
    assert numbers(two.append([label("c")])) == [1]
    assert [event.item for event in two.read()] == ["c"]
    assert [event.item for event in one.read(after=1)] == ["b"]
    one.close()
    two.close()


def test_another_database_is_not_taken_for_an_empty_session(empty_address: str) -> None:
    with pytest.raises(SessionError, match="does not hold this session's events"):
        SqlStore(empty_address, must_exist=True, session="one")
    engine = create_engine(postgres.read_address(empty_address))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar() == 0
    engine.dispose()
    SqlStore(empty_address, session="one").close()
    with pytest.raises(SessionError, match="does not hold this session's events"):
        SqlStore(empty_address, must_exist=True, session="two")
    SqlStore(empty_address, must_exist=True, session="one").close()


def test_a_restarted_server_is_found_again(postgres: Server, address: str, name: str) -> None:
    store = SqlStore(address, session=name)
    store.append([label("a")])
    postgres.restart()
    assert numbers(store.read()) == [1]
    assert numbers(store.append([label("b")])) == [2]
    store.close()


@pytest.mark.parametrize("committed", [True, False])
def test_a_connection_lost_at_a_commit_is_followed_up(
    address: str, name: str, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlStore(address, session=name)
    dialect = store._engine.dialect
    commit, lost = dialect.do_commit, list[bool]()

    def lose(connection: Any) -> None:
        if lost:
            return commit(connection)
        lost.append(True)
        (commit if committed else dialect.do_rollback)(connection)
        raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(dialect, "do_commit", lose)
    if committed:
        assert numbers(store.append([label("a")])) == [1]
    else:
        with pytest.raises(SessionError, match="was lost"):
            store.append([label("a")])
    assert [event.item for event in store.read()] == (["a"] if committed else [])
    store.close()


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(SessionError, match="check its address") as caught:
        SqlStore("postgresql://ann:secret@127.0.0.1:9/labels", session="one")
    assert "secret" not in str(caught.value)
    assert "ann@127.0.0.1:9/labels" in str(caught.value)


@pytest.mark.parametrize("where", ["postgresql://", "postgresql://host:port/x", "postgresql://ann:secret@host"])
def test_a_broken_address_is_refused_without_its_password(where: str) -> None:
    with pytest.raises(ConfigError, match="postgresql://user@host/database") as caught:
        SqlStore(where, session="one")
    assert "secret" not in str(caught.value)


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"install soel\[postgres\]"):
        SqlStore("postgresql://host/labels", session="one")


def test_an_address_is_written_down_without_its_password() -> None:
    full = "postgresql+psycopg://ann:s%40x@host:5433/labels?sslmode=require&password=more"
    assert postgres.without_password(full) == "postgresql://ann@host:5433/labels?sslmode=require"
    assert postgres.password_in(full) == "s@x"
    assert postgres.password_in("postgresql://host/labels") is None
