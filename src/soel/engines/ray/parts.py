"""Independent parts of work, mapped over the cluster by Ray Data; each leaves its result on shared storage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from soel.engines.ray.cluster import Cluster

Work = Callable[[int], int]  # the number of a part -> how much was done, in the unit of the progress
Progress = Callable[[int], None]


def map_parts(cluster: Cluster, work: Work, numbers: Sequence[int], progress: Progress | None = None) -> None:
    """Do all parts, each once where nothing dies: one whose worker dies is done again by another.

    work: is sent to the workers, and must leave a part whole or absent. progress: told how much is done by now.
    """
    if len(numbers) < 2:  # not worth a process elsewhere
        for amount in map(work, numbers):
            if progress is not None:
                progress(amount)
        return
    done = _Tally()
    cluster.wait_for(lambda: _run(work, numbers, done), done.teller(progress))


def _run(work: Work, numbers: Sequence[int], done: _Tally) -> None:
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    data = ray.data.from_items([{"part": int(number)} for number in numbers], override_num_blocks=len(numbers))
    for row in data.map(_Part(work)).iter_rows():
        done.add(int(row["amount"]))


class _Part:
    """A row that names a part -> a row that says how much was done."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"amount": self._work(int(row["part"]))}


class _Tally:
    """A sum that one thread adds to and another reads."""

    def __init__(self) -> None:
        self._lock, self._amount, self._told = threading.Lock(), 0, 0

    def add(self, amount: int) -> None:
        with self._lock:
            self._amount += amount

    def teller(self, progress: Progress | None) -> Callable[[], None] | None:
        if progress is None:
            return None

        def tell() -> None:
            if self._amount > self._told:
                self._told = self._amount
                progress(self._told)

        return tell
