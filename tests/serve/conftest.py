"""A small fitted model, served in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

from soel import SOEL
from soel.cli.main import main
from soel.serve.endpoint import Desk, create_endpoint
from soel.serve.gate import Access
from soel.serve.meters import Meters
from soel.serve.micro_batch import MicroBatches
from soel.serve.served import ServedModel

TOKEN = "a token of the tests"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
COLUMNS = ("width", "height", "shop")


def make_rows(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    shops = rng.choice(["north", "south", "east"], n)
    return pd.DataFrame({"width": rng.normal(size=n), "height": rng.normal(size=n), "shop": shops})


def fit_model(folder: Path, seed: int = 0) -> SOEL:
    rows = make_rows(120, seed)
    rows.loc[:3, "width"] += 9
    labels = np.full(120, -1)
    labels[:2], labels[50:54] = 1, 0
    model = SOEL(random_state=0).fit(rows, labels)
    model.save(folder)
    return model


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "model"
    fit_model(folder)
    return folder


@pytest.fixture(scope="session")
def model(model_folder: Path) -> SOEL:
    return SOEL.load(model_folder)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session on rows with ids, with two labels and a fit."""
    place = tmp_path_factory.mktemp("session")
    rows = make_rows(80)
    rows.loc[:3, "width"] += 9
    rows.insert(0, "part", [f"p{row}" for row in range(80)])
    rows.to_csv(place / "rows.csv", index=False)
    words = ["init", str(place / "work"), "--data", str(place / "rows.csv"), "--id-column", "part", "--seed", "0"]
    for verb in (words, ["tell", str(place / "work"), "p0=anomaly", "p50=normal"], ["fit", str(place / "work")]):
        assert main(verb) == 0
    return place / "work"


@contextmanager
def serving(place: Path, *command: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`soel serve` in a process of its own, or what another command makes of it: its address and the process."""
    begun = [sys.executable, "-W", "ignore", *(command or ("-m", "soel")), "serve", str(place), "--port", "0"]
    environment = os.environ | {"SOEL_TOKEN": TOKEN}
    with subprocess.Popen(begun, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().split()[-1], process
        finally:
            process.kill()


@pytest.fixture
def batches() -> Iterator[MicroBatches]:
    made = MicroBatches()
    yield made
    made.close()


@pytest.fixture
def desk(model_folder: Path, batches: MicroBatches) -> Desk:
    served = ServedModel.load(model_folder)
    return Desk(served, batches, Meters(served, lambda: None))


@pytest.fixture
def ask(desk: Desk) -> Callable[..., TestClient]:
    """Makes a client, with a token unless it is told otherwise."""

    def make(token: str = TOKEN) -> TestClient:
        return TestClient(create_endpoint(desk, Access(TOKEN)), headers={"authorization": f"Bearer {token}"})

    return make


@pytest.fixture
def client(ask: Callable[..., TestClient]) -> TestClient:
    return ask()
