"""A session folder from elsewhere names a server that asks for passwords: it gets none."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from soel.errors import ConfigError, SessionError
from soel.session import SessionFolder, postgres
from soel.session.config import _seal
from soel.session.create import list_sessions, open_session, open_store
from soel.session.store import SqlStore
from tests.table_session import Make

PASSWORD = "hunter2"
CLEARTEXT, MD5 = struct.pack("!cii", b"R", 8, 3), struct.pack("!cii4s", b"R", 12, 5, b"salt")


@dataclass
class Listener:
    """A server that speaks just enough of PostgreSQL's protocol to ask for a password."""

    request: bytes
    port: int = 0
    heard: list[bytes] = field(default_factory=list)

    def serve(self, server: socket.socket) -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.settimeout(2)
                try:
                    while said := client.recv(4096):
                        self.heard.append(said)
                        encrypts = said[4:8] in (struct.pack("!i", 80877103), struct.pack("!i", 80877104))
                        client.sendall(b"N" if encrypts else self.request)
                except OSError:
                    continue


@contextmanager
def listening(request: bytes) -> Iterator[Listener]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Listener(request, server.getsockname()[1])
        thread = threading.Thread(target=found.serve, args=(server,), daemon=True)
        thread.start()
        yield found


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize("request_", [CLEARTEXT, MD5])
def test_no_server_is_sent_a_password_that_it_could_use(request_: bytes) -> None:
    with listening(request_) as server:
        with pytest.raises(SessionError, match="authentication method requirement"):
            SqlStore(f"postgresql://ann@127.0.0.1:{server.port}/labels", session="one")
        assert server.heard, "the server was asked"
        assert not any(said.startswith(b"p") or PASSWORD.encode() in said for said in server.heard)


def test_a_folder_from_elsewhere_makes_no_connection(make: Make) -> None:
    folder = make("foreign").folder.path
    with listening(CLEARTEXT) as server:
        address = f"postgresql://ann@127.0.0.1:{server.port}/labels"
        content = json.loads((folder / "config.json").read_text()) | {"store": address}
        content.pop("seal")
        (folder / "config.json").write_text(json.dumps(content | {"seal": _seal(content)}))
        with pytest.raises(ConfigError, match="has not used before"):
            open_session(folder)
        (entry,) = list_sessions(folder.parent)
        assert "on a server" in entry.error
        assert server.heard == []
        postgres.remember(address)
        with pytest.raises(SessionError, match="authentication method requirement"):
            open_session(folder)
        list_sessions(folder.parent)
        n_heard = len(server.heard)
        list_sessions(folder.parent)
        assert len(server.heard) == n_heard


def test_an_address_that_was_typed_is_known(make: Make, address: str) -> None:
    session = make("there", store=address)
    open_store(SessionFolder(session.folder.path)).close()
    (Path(postgres._file())).unlink()
    with pytest.raises(ConfigError, match="has not used before"):
        open_store(SessionFolder(session.folder.path))
    open_store(SessionFolder(session.folder.path), address).close()
    open_store(SessionFolder(session.folder.path)).close()
