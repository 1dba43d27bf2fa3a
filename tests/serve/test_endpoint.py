"""What the endpoint says of rows is what the estimator says of them, in whatever form they come; bad ones are named."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from soel import SOEL
from soel.serve import bodies, gate, micro_batch
from soel.serve.endpoint import Desk, create_endpoint
from soel.serve.gate import Access
from soel.serve.served import ServedModel
from tests.serve.conftest import fit_model, make_rows

ROWS = make_rows(30, seed=5)
STREAM = "application/vnd.apache.arrow.stream"


def as_stream(rows: pd.DataFrame) -> bytes:
    table, sink = pa.Table.from_pandas(rows, preserve_index=False), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


FORMS: dict[str, tuple[str, bytes]] = {
    "objects": ("application/json", json.dumps({"rows": ROWS.to_dict("records")}).encode()),
    "lists": ("application/json", json.dumps({"rows": ROWS.values.tolist()}).encode()),
    "csv": ("text/csv; charset=utf-8", ROWS.to_csv(index=False).encode()),
    "arrow": (STREAM, as_stream(ROWS)),
}


def score(client: TestClient, rows: Any, **how: Any) -> Any:
    return client.post("/v1/score", json={"rows": rows}, **how)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_rows_is_scored_as_by_the_estimator(client: TestClient, model: SOEL, form: str) -> None:
    kind, body = FORMS[form]
    answer = client.post("/v1/score", content=body, headers={"content-type": kind})
    assert answer.status_code == 200, answer.text
    said = pd.DataFrame(answer.json()["rows"])
    assert list(said) == ["id", "score", "probability", "p_value", "alarm", "not_sure"]
    assert np.allclose(said.score, model.anomaly_score(ROWS), atol=1e-5)
    assert np.allclose(said.probability, model.anomaly_probability(ROWS), atol=1e-5)
    assert np.allclose(said.p_value, model.p_values(ROWS), atol=0.02)
    assert (said.alarm == (said.score > model.threshold_)).all()
    assert list(said.id) == [row["id"] for row in score(client, ROWS.to_dict("records")).json()["rows"]]
    assert said.id.is_unique


def test_arrow_comes_back_where_it_is_asked_for(client: TestClient, model: SOEL) -> None:
    answer = client.post("/v1/score", content=FORMS["arrow"][1], headers={"content-type": STREAM, "accept": STREAM})
    assert answer.headers["content-type"] == STREAM
    table = pa.ipc.open_stream(answer.content).read_all()
    assert np.allclose(table["score"].to_numpy(), model.anomaly_score(ROWS), atol=1e-5)
    assert table.schema.field("alarm").type == pa.bool_()


def test_the_order_of_columns_is_free_and_columns_that_the_pool_did_not_have_are_left_out(client: TestClient) -> None:
    rows = ROWS.to_dict("records")
    turned = [{"more": 1, **dict(reversed(row.items()))} for row in rows]
    first, second = (score(client, each).json()["rows"] for each in (rows, turned))
    assert first == second


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "text for a number": ([ROWS.iloc[0].to_dict(), {"width": "wide", "height": 1, "shop": "north"}], "'width'.*row 1"),
    "a missing column": ([{"width": 1, "shop": "north"}], "height"),
    "infinity": ([{"width": 1e400, "height": 1, "shop": "north"}], "'width'.*row 0"),
    "an object for a cell": ([{"width": {}, "height": 1, "shop": "north"}], "'width'"),
    "too few values": ([[1, 2]], "features"),
    "values of two lengths": ([[1, 2, "a"], [1]], "1 to 3 values"),
    "no object": ([{"width": 1}, 3], "Row 1 is a int"),
    "no rows": ([], "0 sample"),
    "no list": (3, "no list"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_rows_that_cannot_be_used_are_named(client: TestClient, name: str) -> None:
    rows, words = BAD_ROWS[name]
    answer = client.post("/v1/score", content=json.dumps({"rows": rows}))
    assert answer.status_code == 422
    assert re.search(words, answer.json()["error"])


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"{", 422),
        ("application/json", b"[1]", 422),
        ("application/json", b"[" * 100_000, 422),
        ("text/csv", b"", 422),
        ("text/csv", b"width,height,shop\n", 422),
        (STREAM, b"no stream", 422),
        (STREAM, FORMS["arrow"][1][:-200], 422),
        ("application/xml", b"<rows/>", 415),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(client: TestClient, kind: str, body: bytes, status: int) -> None:
    answer = client.post("/v1/score", content=body, headers={"content-type": kind})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]


def test_limits_have_answers_of_their_own(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, desk: Desk, ask: Callable[..., TestClient]
) -> None:
    monkeypatch.setattr(bodies, "MOST_ROWS", 20)
    assert score(client, ROWS.to_dict("records")).status_code == 413
    packed = client.post("/v1/score", content=b"x", headers={"content-encoding": "gzip"})
    assert packed.status_code == 415
    monkeypatch.setattr(gate, "MOST_BODY", 100)
    assert score(client, ROWS.to_dict("records")).status_code == 413


def test_a_full_queue_says_when_to_come_again(client: TestClient, desk: Desk) -> None:
    desk.batches.n_waiting = micro_batch.MOST_WAITING
    answer = score(client, ROWS.to_dict("records"))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    desk.batches.n_waiting = 0


def test_what_takes_too_long_is_told_so(client: TestClient, desk: Desk) -> None:
    desk.batches._most_seconds = 0.0
    assert score(client, ROWS.to_dict("records")).status_code == 503


def test_a_score_that_is_no_number_is_told_with_its_row(
    client: TestClient, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def overflow(*_: Any) -> Any:
        return np.array([0.0, np.inf])

    monkeypatch.setattr(desk.batches, "score", overflow)
    answer = score(client, ROWS.head(2).to_dict("records"))
    assert (answer.status_code, "row 1 is inf" in answer.text) == (422, True)


def test_nobody_is_answered_without_the_token_but_for_their_health(ask: Callable[..., TestClient]) -> None:
    stranger = ask("another token")
    paths = ("/v1/model", "/metrics", "/openapi.json", "/v2", "/v2/models/soel", "/nowhere")
    assert {stranger.get(path).status_code for path in paths} == {401}
    assert stranger.get("/health/live").status_code == stranger.get("/v2/health/ready").status_code == 200
    assert [score(stranger, []).status_code for _ in range(5)] == [401] * 4 + [429]
    assert ask().get("/v1/model").status_code == 200


def test_without_a_token_only_programs_on_this_machine_are_answered(desk: Desk) -> None:
    here = TestClient(create_endpoint(desk, Access("", frozenset({"localhost:1"}))), base_url="http://localhost:1")
    assert here.get("/v1/model").status_code == 200
    assert here.get("/v1/model", headers={"host": "evil.example:1"}).status_code == 403
    assert here.get("/v1/model", headers={"origin": "http://localhost:1"}).status_code == 403


def test_a_model_is_described_with_its_card(client: TestClient, desk: Desk, model: SOEL, model_folder: Path) -> None:
    said = client.get("/v1/model").json()
    assert [column["name"] for column in said["columns"]] == ["width", "height", "shop"]
    assert (said["version"], said["threshold"]["value"]) == (desk.served.version, model.threshold_)
    assert said["threshold"]["promise"]["lines"]
    card = client.get("/v1/model", headers={"accept": "text/markdown"}).text
    assert card == said["card"] == (model_folder / "README.md").read_text(), "it moves with the folder"
    assert card.startswith('---\nlibrary_name: "soel"\n')
    assert "| `shop` | category |" in card


def test_a_newer_model_answers_from_the_next_request_on(client: TestClient, desk: Desk, tmp_path: Any) -> None:
    before = score(client, ROWS.to_dict("records")).json()
    other = fit_model(tmp_path / "other", seed=3)
    desk.replace(ServedModel.load(tmp_path / "other"))
    after = score(client, ROWS.to_dict("records")).json()
    assert before["model"] != after["model"]
    assert np.allclose([row["score"] for row in after["rows"]], other.anomaly_score(ROWS), atol=1e-5)


def test_the_description_names_every_path(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/score", "/v1/model", "/v1/feedback", "/health/live", "/health/ready", "/metrics"} <= set(paths)
    assert set(paths["/v1/score"]["post"]["requestBody"]["content"]) == {"application/json", "text/csv", STREAM}


GOOD = [
    {"name": "width", "shape": [1], "datatype": "FP64", "data": [1.0]},
    {"name": "height", "shape": [1, 1], "datatype": "FP32", "data": [[1.0]]},
    {"name": "shop", "shape": [1], "datatype": "BYTES", "data": ["north"]},
]


@pytest.mark.parametrize(
    "request_of",
    [
        {},
        {"inputs": 3},
        {"inputs": []},
        {"inputs": [{**GOOD[0], "shape": [2]}]},
        {"inputs": [{**GOOD[0], "shape": [-1]}]},
        {"inputs": [{**GOOD[0], "shape": ["a"]}]},
        {"inputs": [{**GOOD[0], "datatype": "COMPLEX"}]},
        {"inputs": [{**GOOD[0], "data": ["wide"]}]},
        {"inputs": [{**GOOD[0], "parameters": {"binary_data_size": 9}}]},
        {"inputs": GOOD[:2]},
        {"inputs": [{"name": "all", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]}, GOOD[0]]},
        {"inputs": GOOD, "outputs": ["score"]},
        {"inputs": GOOD, "outputs": [{"name": "nothing"}]},
    ],
)
def test_tensors_that_cannot_be_used_are_refused(client: TestClient, request_of: Any) -> None:
    path = "/v2/models/soel/infer"
    assert client.post(path, json={"inputs": GOOD}).status_code == 200
    answer = client.post(path, json=request_of)
    assert answer.status_code == 422, answer.text
    assert (
        client.post(path, json={"inputs": GOOD}, headers={"inference-header-content-length": "-1"}).status_code == 422
    )
