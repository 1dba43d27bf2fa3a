"""Sessions whose events lie on a real PostgreSQL server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from soel.errors import ConfigError, SessionError
from soel.session import create, postgres
from tests.table_session import Make


def test_a_session_on_a_server_does_what_one_in_a_folder_does(make: Make, address: str) -> None:
    here, there = make("here"), make("there", store=address)
    for session in (here, there):
        asked = session.ask(4).items
        session.tell(dict.fromkeys(asked, "normal"), "ann")
        session.fit()
    assert there.state.labels == here.state.labels
    assert there.state.rounds[0].draws == here.state.rounds[0].draws
    assert not there.folder.events.exists()


def test_the_password_is_never_written_down(make: Make, address: str, tmp_path: Path) -> None:
    session = make("secret", store=address.replace("soel@", "soel:hunter2@"))
    session.tell({"=n1": "anomaly"})
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert kept == []
    config = json.loads((session.folder.path / "config.json").read_text())
    assert config["store"].startswith("postgresql://soel@/shared?host=")


def test_events_are_brought_in_and_used_without_the_server(make: Make, address: str, tmp_path: Path) -> None:
    session = make("there", store=address)
    session.tell({"=n1": "anomaly"}, "ann")
    with pytest.raises(SessionError, match="is missing"):
        create.open_session(session.folder.path, postgres.IN_FOLDER)
    assert create.copy_events_into_folder(session.folder, session.events) == session.folder.events
    session.tell({"=n2": "normal"}, "ann")
    create.copy_events_into_folder(session.folder, session.events)
    shutil.copytree(session.folder.path, tmp_path / "copy")
    copy = create.open_session(tmp_path / "copy", postgres.IN_FOLDER)
    assert list(copy.events) == list(session.events)
    assert copy.state == session.state
    copy.close()


def test_a_session_in_its_folder_has_nothing_to_bring_in(make: Make) -> None:
    with pytest.raises(SessionError, match="in the folder already"):
        create.copy_events_into_folder(make().folder, ())


def test_addresses_that_are_none_are_refused_before_anything_is_written(make: Make, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for address in ("mysql://host/labels", "somewhere", "postgresql://host"):
        with pytest.raises(ConfigError, match="postgresql://user@host/database"):
            make("never", store=address)
    with pytest.raises(SessionError, match="check its address"):
        make("never", store="postgresql://ann@127.0.0.1:9/labels")
    assert sorted(tmp_path.iterdir()) == before
    session = make("here")
    with pytest.raises(ConfigError, match="is no store"):
        create.open_session(session.folder.path, "sqlite:///x")


def test_a_child_gets_the_password_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    assert postgres.child_environment("postgresql://ann:hunter2@host/labels")["PGPASSWORD"] == "hunter2"
    for address in (None, "folder", "postgresql://ann@host/labels"):
        assert "PGPASSWORD" not in postgres.child_environment(address)
