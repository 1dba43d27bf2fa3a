"""`soel label` as a command: where the session lies, what is printed, what is imported, how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from soel.cli.main import main
from soel.errors import ConfigError
from soel.session import SessionOptions, create
from soel.session.request import Creation, session_folder
from soel.web.auth import Auth
from soel.web.launch import Address, bind_address
from tests.session.fake_learner import use_fake_learner
from tests.web.browser import SOURCE, LabelCommand
from tests.web.sample_data import write_pumps

OPTIONS: dict[str, Any] = {"id_column": "pump", "budget": 3}
NO_TORCH = """
import sys
from pathlib import Path
from starlette.testclient import TestClient
from soel.session import create
from soel.web.app import create_app
from soel.web.view_model import ViewModel
from soel.web.auth import Auth, User
from soel.web.security import Site
from soel.web.launch import view_of
from soel.session.worker import Background

session = create.open_session(Path(sys.argv[1]))
auth = Auth(session.folder.path)
view_model = ViewModel(session, view_of, Background(session.folder.path))
app = create_app(view_model, auth, Site(frozenset({"testserver"}), "soel"))
client = TestClient(app)
client.post("/enter", data={"key": auth.new_key(User("expert", "owner"))})
item = client.post("/api/turn", json={"tab": "t"}).json()["open"][0]
for path in ("/", "/review", "/results", "/team", "/api/results", "/api/decisions", "/api/team", "/api/openapi.json"):
    client.get(path)
assert client.get("/api/item", params={"id": item}).status_code == 200
answer = client.post("/api/answers", json={"item": item, "verdict": "normal", "tab": "t"})
assert answer.status_code == 200, answer.text
print(sorted({"torch", "sklearn", "onnxruntime", "PIL"} & set(sys.modules)))
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_fake_learner(monkeypatch)
    write_pumps(tmp_path / "pumps.csv", 40, 4)
    return tmp_path / "pumps.csv"


@pytest.fixture
def prepared(table: Path) -> Path:
    session = create.create_session(session_folder(table), table, SessionOptions(**OPTIONS))
    session.ask(3)
    session.close()
    return table


def test_the_session_lies_beside_the_data_and_is_resumed(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pumps.csv.soel"
    assert session_folder(table) == folder
    create.create_session(folder, table, SessionOptions(**OPTIONS)).close()
    for again in (table, folder, Path(f"{folder}/")):
        assert session_folder(again) == folder
        assert Creation(again, SessionOptions(**OPTIONS)).is_done


def test_labelling_never_imports_torch(prepared: Path) -> None:
    folder = prepared.with_name("pumps.csv.soel")
    command = [sys.executable, "-W", "ignore", "-c", NO_TORCH, str(folder)]
    done = subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_the_command_prints_a_link_and_stops_quietly(prepared: Path) -> None:
    command = LabelCommand(prepared)
    link = command.start()
    try:
        assert link.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(link, timeout=60) as answer:
            assert answer.status == 200
        assert command.process is not None
        command.process.send_signal(signal.SIGINT)
        out, _ = command.process.communicate(timeout=60)
        assert command.process.returncode == 0
        assert "Stopped; every answer is stored." in out
    finally:
        command.stop()
    again = LabelCommand(prepared)
    try:
        assert again.start().split("/enter")[0] == link.split("/enter")[0], "an open page finds the server again"
    finally:
        again.stop()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    auth = Auth(tmp_path)
    first = bind_address(Address(), auth.port)
    first.listen()
    port = first.getsockname()[1]
    with pytest.raises(ConfigError, match=f"port {port}"):
        bind_address(Address(port=port), auth.port)
    auth.remember_port(port)
    second = bind_address(Address(), auth.port)
    assert second.getsockname()[1] not in (0, port)
    first.close()
    second.close()


def test_a_missing_file_is_an_error_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["label", str(tmp_path / "nothing.csv"), "--no-browser"]) == 2
    assert "nothing.csv" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
