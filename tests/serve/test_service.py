"""A served session: alarms are kept, explained, answered and learnt from; models are replaced; nothing is dropped."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pandas as pd
import pytest
from starlette.testclient import TestClient

from soel.cli.main import main
from soel.errors import SessionError
from soel.serve.endpoint import create_endpoint
from soel.serve.gate import Access
from soel.serve.service import Looking, newest_folder, open_desk
from soel.session.alarms import open_rows
from soel.session.create import open_session
from tests.serve.conftest import HEADERS, TOKEN, fit_model, make_rows, serving


def new_rows() -> list[dict[str, object]]:
    rows: pd.DataFrame = make_rows(10, seed=9)
    rows.loc[0, "width"] = 9.123456789012345
    rows.insert(0, "part", [f"new{row}" for row in range(10)])
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def test_an_alarm_is_explained_answered_and_learnt_from(fitted: Path, tmp_path: Path) -> None:
    fitted = Path(shutil.copytree(fitted, tmp_path / "work"))
    session = open_session(fitted)
    with ExitStack() as leaving:
        desk = open_desk(fitted, session, leaving)
        client = TestClient(create_endpoint(desk, Access(TOKEN)), headers=HEADERS)
        said = client.post("/v1/score?why=true", json={"rows": new_rows()}).json()["rows"]
        assert [row["id"] for row in said] == [f"new{row}" for row in range(10)]
        assert [row["alarm"] for row in said[:2]] == [True, False]
        assert "width" in said[0]["why"]
        waiting = {row["name"]: row["why"] for row in open_rows(session.folder, session.state, ["name", "why"])}
        assert waiting == {row["id"]: row["why"] for row in said if row["alarm"]}, "the inbox of the page"
        assert said[1]["why"] is None
        told = client.post(
            "/v1/feedback", json={"id": "new0", "label": "anomaly", "who": "ann", "note": "seen", "because": ["width"]}
        )
        assert (told.status_code, told.json()) == (200, {"id": "new0", "stored": 1, "labels_waiting": 1})
        assert "new0" not in {row["alarm_id"] for row in open_rows(session.folder, session.state, [])}
        assert client.post("/v1/feedback", json={"id": "p60", "label": "n"}).json()["labels_waiting"] == 2
        wrong = client.post("/v1/feedback", json={"id": "p61", "label": "anomaly", "because": ["nothing"]})
        assert (wrong.status_code, "nothing" in wrong.text) == (422, True)
        assert client.post("/v1/feedback", json={"id": "nobody", "label": "anomaly"}).status_code == 404
        assert client.post("/v1/feedback", json={"id": "p61", "label": "perhaps"}).status_code == 422
        assert "soel_labels_waiting 2.0" in client.get("/metrics").text
        before = desk.served.version
        looking = Looking(fitted, session, desk)
        looking.look()
        assert desk.served.version == before
        assert main(["tell", str(fitted), "new0=anomaly", "--who", "bob"]) == 0
        assert session.state.answers["new0"].because == ("width",)
        assert main(["fit", str(fitted)]) == 0
        looking.look()
        assert desk.served.version != before
        assert "new0" in session.ids
        assert session.state.labels == {"p0": 1, "p50": 0, "new0": 1, "p60": 0}
        assert session.state.note_of("new0", "ann") == "seen"
        assert "soel_labels_waiting 0.0" in client.get("/metrics").text
        rows = [{name: value for name, value in row.items() if name != "part"} for row in new_rows()]
        assert "'part'" in client.post("/v1/score", json={"rows": rows}).json()["error"]


def test_a_model_that_cannot_be_loaded_changes_nothing(tmp_path: Path) -> None:
    fit_model(tmp_path / "model")
    with ExitStack() as leaving:
        desk = open_desk(tmp_path / "model", None, leaving)
        looking, before = Looking(tmp_path / "model", None, desk), desk.served
        (tmp_path / "model" / "manifest.json").write_text("{}")
        looking.look()
        assert desk.served is before
        assert "soel_model_load_failures_total 1.0" in desk.meters.render().decode()


def test_a_session_without_a_fit_says_what_to_do(tmp_path: Path) -> None:
    make_rows(30).to_csv(tmp_path / "rows.csv", index=False)
    assert main(["init", str(tmp_path / "work"), "--data", str(tmp_path / "rows.csv")]) == 0
    with pytest.raises(SessionError, match="soel fit"):
        newest_folder(tmp_path / "work", open_session(tmp_path / "work"))


def test_no_request_is_dropped_while_models_change_nor_when_it_ends(tmp_path: Path) -> None:
    fit_model(tmp_path / "model")
    versions, failed, over, ending = set[str](), list[str](), threading.Event(), threading.Event()

    def ask(address: str) -> None:
        with httpx.Client(base_url=address, headers=HEADERS, timeout=60) as client:
            while not over.is_set():
                try:
                    answer = client.post("/v1/score", json={"rows": make_rows(20).to_dict("records")})
                except httpx.ConnectError:
                    return  # it listens no more
                except httpx.ReadError as error:
                    if not ending.is_set():  # a kept connection that is closed while a request is on its way to it
                        failed.append(str(error))
                    return
                except httpx.RemoteProtocolError as error:
                    if "disconnected without sending" not in str(error):  # a kept connection, closed before the request
                        failed.append(str(error))
                    return
                if answer.status_code == 200:
                    versions.add(answer.json()["model"])
                else:
                    failed.append(answer.text)

    with serving(tmp_path / "model") as (address, process):
        threads = [threading.Thread(target=ask, args=[address]) for _ in range(3)]
        for thread in threads:
            thread.start()
        while not versions:
            time.sleep(0.05)
        fit_model(tmp_path / "model", seed=3)
        deadline = time.monotonic() + 60
        while len(versions) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        ending.set()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        over.set()
        for thread in threads:
            thread.join()
    assert len(versions) == 2
    assert failed == []
