"""How long an answer takes to be durable with 20 annotators at once: `python -m benchmarks tell_latency`.

`store`: threads that tell the session directly. `page`: a real server, and a client of its own for each annotator, who
is shown an item, thinks for a moment and answers; the reply comes after the commit and brings the next item.
`room`: how often the 95th percentile goes into 50 ms (1 or more is within it).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from soel.records import body_of
from soel.session import Session, SessionOptions, create
from soel.session.events import Event
from soel.session.pool_records import PoolRecord, save_record
from soel.session.rounds import Draw, ModelRef, Round
from soel.web.auth import Auth, User

N_ANNOTATORS, N_TELLS, N_ITEMS, LIMIT_MS = 20, 20, 450, 50.0
THINK = 0.5  # seconds on average; nobody is faster for long
FLOORS = {"store room": 1.0, "page room": 1.0}
Annotate = Callable[[int], list[float]]


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        figures = {f"store {name}": value for name, value in at_the_store(open_round(Path(scratch), "a")).items()}
        return figures | {f"page {name}": value for name, value in at_the_page(open_round(Path(scratch), "b")).items()}


def open_round(scratch: Path, name: str) -> Path:
    """A session with all its items open, drawn without a model: labelling needs none."""
    data = scratch / "data.csv"
    data.write_text("id,x\n" + "".join(f"i{row},{row * row % 97}\n" for row in range(N_ITEMS)))
    folder = scratch / name
    with closing(create.create_session(folder, data, SessionOptions(id_column="id", budget=N_ITEMS))) as session:
        record = PoolRecord(np.arange(N_ITEMS, dtype=float), np.arange(2 * N_ITEMS, dtype=np.float32).reshape(-1, 2))
        file, digest = save_record(session.folder.rounds, 1, record)
        draws = tuple(Draw(item, 1.0, 0.0) for item in session.ids)
        drawn = Round(1, draws, (), ModelRef("models/none", ""), (0, 1), "random", {}, file, digest, after=0)
        session._store.append([Event("round", "soel", body=body_of(drawn))])
    return folder


def at_the_store(folder: Path) -> dict[str, float]:
    with closing(create.open_session(folder)) as session:
        return all_at_once(session, lambda number: tell_directly(session, number))


def at_the_page(folder: Path) -> dict[str, float]:
    auth = Auth(folder)
    keys = [auth.new_key(User(f"annotator {number}", "annotator")) for number in range(N_ANNOTATORS)]
    with served(folder) as address, closing(create.open_session(folder)) as session:
        return all_at_once(session, lambda number: tell_the_page(address, keys[number], number))


def all_at_once(session: Session, annotate: Annotate) -> dict[str, float]:
    with ThreadPoolExecutor(N_ANNOTATORS) as pool:
        times = np.concatenate(list(pool.map(annotate, range(N_ANNOTATORS))))
    assert len(session.state.labels) == len(times) == N_ANNOTATORS * N_TELLS, "every answer is there, once"
    p50, p95 = (float(value) for value in np.quantile(times, (0.5, 0.95)))
    return {"p50 ms": p50, "p95 ms": p95, "worst ms": float(times.max()), "room": LIMIT_MS / p95}


def tell_directly(session: Session, number: int) -> list[float]:
    rng, times, who = np.random.default_rng(number), [], f"annotator {number}"
    for _ in range(N_TELLS):
        (item,) = session.next_items(who)
        time.sleep(rng.uniform(0, 2 * THINK))
        started = time.perf_counter()
        session.tell({item: "normal"}, who)
        times.append(1000 * (time.perf_counter() - started))
    return times


def tell_the_page(address: str, key: str, number: int) -> list[float]:
    rng, times, tab = np.random.default_rng(number), [], f"tab-{number}"
    with httpx.Client(base_url=address, timeout=30) as client:
        assert client.post("/enter", data={"key": key}).status_code == 303
        status = said(client.post("/api/turn", json={"tab": tab}))
        for _ in range(N_TELLS):
            time.sleep(rng.uniform(0, 2 * THINK))
            answer = {"item": status["open"][0], "verdict": "normal", "tab": tab}
            started = time.perf_counter()
            status = said(client.post("/api/answers", json=answer))
            times.append(1000 * (time.perf_counter() - started))
    return times


def said(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a real server for this session."""
    command = [sys.executable, "-m", "soel.cli.main", "label", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        link = server.stdout.readline().split()[1]
        try:
            yield link.partition("/enter")[0]
        finally:
            server.kill()
