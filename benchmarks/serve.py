"""The endpoint beside direct calls: latency of single rows at 50 requests a second, rows a second, memory over minutes.

A server process on the loopback address, with a pool of 10,000 rows of 30 columns. Ratios are of the same minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from soel import SOEL

N_POOL, N_COLUMNS, N_ROWS = 10_000, 30, 1_000
RATE, SECONDS = 50, float(os.environ.get("SOEL_SERVE_SECONDS", "30"))
TOKEN = "a token of the benchmark"
ARROW = "application/vnd.apache.arrow.stream"
FLOORS = {"arrow_to_direct": 0.8, "json_to_direct": 0.5}


def measure() -> dict[str, float]:
    rng = np.random.default_rng(0)
    pool = _rows(rng, N_POOL)
    pool.iloc[:100] += 4
    labels = np.full(N_POOL, -1)
    labels[:8], labels[200:212] = 1, 0
    detector = SOEL(random_state=0).fit(pool, labels)
    with tempfile.TemporaryDirectory() as folder:
        detector.save(Path(folder) / "model")
        detector = SOEL.load(Path(folder) / "model")
        with _server(Path(folder) / "model") as (port, process):
            return _latency(port, rng, process.pid) | _throughput(port, rng, detector)


def _rows(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame(rng.normal(size=(n, N_COLUMNS)), columns=[f"c{at}" for at in range(N_COLUMNS)])


@contextmanager
def _server(model: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "soel", "serve", str(model), "--port", "0"]
    environment = os.environ | {"SOEL_TOKEN": TOKEN}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stderr is not None
            yield int(server.stderr.readline().rsplit(":", 1)[1]), server
        finally:
            server.terminate()


def _post(connection: HTTPConnection, body: bytes, kind: str, accept: str = "application/json") -> bytes:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind, "Accept": accept}
    connection.request("POST", "/v1/score", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(content.decode())
    return content


def _latency(port: int, rng: np.random.Generator, pid: int) -> dict[str, float]:
    """Single rows, each sent when its time has come, whether the last one was answered or not."""
    bodies = [json.dumps({"rows": [row]}).encode() for row in _rows(rng, 500).to_dict("records")]
    local, waits = threading.local(), list[float]()

    def send(at: float, body: bytes) -> None:
        time.sleep(max(at - time.perf_counter(), 0))
        if not hasattr(local, "connection"):
            local.connection = HTTPConnection("127.0.0.1", port)
        _post(local.connection, body, "application/json")
        waits.append(time.perf_counter() - at)

    n_requests = int(RATE * SECONDS)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, time.perf_counter() + 1 + np.arange(64) / RATE, bodies[:64]))  # warm
        waits.clear()
        busy, begun, memory = _cpu(pid), time.perf_counter() + 0.1, list[float]()
        times = begun + np.arange(n_requests) / RATE
        for part in np.array_split(np.arange(n_requests), 5):
            list(pool.map(send, times[part], (bodies[at % 500] for at in part)))
            memory.append(_memory(pid))
        busy = _cpu(pid) - busy
    p50, p99 = 1e3 * np.percentile(waits, [50, 99])
    return {"single_p50_ms": p50, "single_p99_ms": p99, "single_cpu_ms": 1e3 * busy / n_requests} | {
        f"memory_mb_after_{fifth}_fifths": each for fifth, each in enumerate(memory, 1)
    }


def _throughput(port: int, rng: np.random.Generator, detector: SOEL) -> dict[str, float]:
    """Requests of 1,000 rows over two connections, in turns with direct calls."""
    rows = _rows(rng, N_ROWS)
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pandas(rows, preserve_index=False)
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    bodies = {"arrow": (bytes(sink.getvalue()), ARROW), "json": (_as_json(rows), "application/json")}
    connections = [HTTPConnection("127.0.0.1", port) for _ in range(2)]
    seconds: dict[str, list[float]] = {"direct": [], "arrow": [], "json": []}
    with ThreadPoolExecutor(2) as pool:
        for turn in range(8):
            begun = time.perf_counter()
            for _ in range(4):
                detector.anomaly_score(rows)
            seconds["direct"].append(time.perf_counter() - begun)
            for name, (body, kind) in bodies.items():
                begun = time.perf_counter()
                list(pool.map(lambda each, b=body, k=kind: [_post(each, b, k, k) for _ in range(2)], connections))
                seconds[name].append(time.perf_counter() - begun)
            if not turn:
                seconds = {name: [] for name in seconds}  # the first one is warm-up
    rates = {name: 4 * N_ROWS / float(np.median(each)) for name, each in seconds.items()}
    ratios = {f"{name}_to_direct": rates[name] / rates["direct"] for name in bodies}
    return {f"{name}_rows_per_second": rate for name, rate in rates.items()} | ratios


def _as_json(rows: pd.DataFrame) -> bytes:
    return json.dumps({"rows": rows.to_dict("records")}).encode()


def _cpu(pid: int) -> float:
    """Processor time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    """What a process has in memory, in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
