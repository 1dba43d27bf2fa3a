"""How long an answer takes when 20 people answer at once: with one commit for all who wait, and with one each.

`python -m benchmarks.commit_together` takes turns between both, on SQLite and on PostgreSQL where there is one.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tests.session.stores.postgres_server import find_binaries, running_server

from soel.session.events import Event
from soel.session.store import Batch, GroupCommit, SqlStore

N_PEOPLE, N_ANSWERS, N_RUNS = 20, 20, 5


class Alone(GroupCommit):
    """A commit for each caller, one after the other."""

    def store(self, events: Batch) -> Batch:
        with self._turn:
            return self._write([events])[0]


def answer_at_once(store: SqlStore) -> np.ndarray:
    """Milliseconds until each answer was stored."""
    start = threading.Barrier(N_PEOPLE)

    def person(number: int) -> list[float]:
        times = list[float]()
        for turn in range(N_ANSWERS):
            start.wait()
            began = time.perf_counter()
            store.append([Event("label", f"person {number}", f"item {turn}", {"label": 1})])
            times.append(1000 * (time.perf_counter() - began))
        return times

    with ThreadPoolExecutor(N_PEOPLE) as pool:
        return np.concatenate(list(pool.map(person, range(N_PEOPLE))))


def compare(name: str, new_store: Callable[[str], SqlStore]) -> None:
    times: dict[str, list[np.ndarray]] = {"together": [], "alone": []}
    for run in range(N_RUNS):
        for way, found in times.items():
            store = new_store(f"{way}{run}")
            if way == "alone":
                store._group = Alone(store._write)
            found.append(answer_at_once(store))
            store.close()
    for way, found in times.items():
        p50, p99 = np.quantile(np.concatenate(found), (0.5, 0.99))
        print(f"{name:12s} {way:10s} p50 {p50:7.1f} ms   p99 {p99:7.1f} ms")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        compare("SQLite", lambda name: SqlStore(Path(folder) / f"{name}.sqlite"))
    if find_binaries() is not None:
        with running_server() as server:
            compare("PostgreSQL", lambda name: SqlStore(server.new_database(name), session="one"))
