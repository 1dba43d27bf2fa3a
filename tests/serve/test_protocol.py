"""The Open Inference Protocol, by a client that others wrote, over a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import uvicorn

from soel import SOEL
from soel.serve.endpoint import Desk, create_endpoint
from soel.serve.gate import Access
from soel.web.launch import Address, bind_address, settings
from tests.serve.conftest import TOKEN, make_rows

http = pytest.importorskip("tritonclient.http")
ROWS = make_rows(30, seed=5)
HEADERS = {"authorization": f"Bearer {TOKEN}"}  # the client writes into what it is given: pass copies


@pytest.fixture
def address(desk: Desk) -> Iterator[str]:
    listener = bind_address(Address())
    server = uvicorn.Server(settings(create_endpoint(desk, Access(TOKEN)), Address()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    listener.listen(8)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()


def as_tensors(binary: bool) -> list[object]:
    tensors = []
    for name, column in ROWS.items():
        values = column.to_numpy(np.float64 if name != "shop" else object)
        tensor = http.InferInput(str(name), [len(values)], "BYTES" if name == "shop" else "FP64")
        tensor.set_data_from_numpy(values, binary_data=binary)
        tensors.append(tensor)
    return tensors


def test_a_client_of_the_protocol_gets_the_scores_of_the_estimator(address: str, model: SOEL) -> None:
    client = http.InferenceServerClient(address)
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("soel", headers=dict(HEADERS))
    described = client.get_model_metadata("soel", headers=dict(HEADERS))
    assert [tensor["name"] for tensor in described["inputs"]] == ["width", "height", "shop"]
    for binary in (True, False):
        said = client.infer("soel", as_tensors(binary), headers=dict(HEADERS))
        assert np.allclose(said.as_numpy("score"), model.anomaly_score(ROWS), atol=1e-5)
        assert said.as_numpy("alarm").dtype == bool
    asked = [http.InferRequestedOutput("p_value")]
    said = client.infer("soel", as_tensors(True), outputs=asked, headers=dict(HEADERS), request_id="7")
    assert said.as_numpy("score") is None
    assert said.get_response()["id"] == "7"
    with pytest.raises(Exception, match="'nothing'"):
        client.infer("soel", as_tensors(True), outputs=[http.InferRequestedOutput("nothing")], headers=dict(HEADERS))
    client.close()
