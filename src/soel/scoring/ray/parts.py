"""Independent parts of work, mapped over the cluster by Ray Data; each leaves its result on shared storage."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from soel import errors
from soel.scoring.ray.cluster import Cluster
from soel.types import Counted


@dataclass(frozen=True)
class Done:
    """A finished part. amount: of work, in the unit of the progress. value: what came out, where it is one number."""

    amount: int
    value: float = 0.0


Work = Callable[[int], Done]  # the number of a part -> what was done


def map_parts(cluster: Cluster, work: Work, numbers: Sequence[int], progress: Counted | None = None) -> list[float]:
    """The values of all parts, in any order. A part whose worker dies is done again by another.

    work: is sent to the workers, and must leave a part whole or absent. progress: told how much is done by now.
    """
    tally = _Tally()
    tell = tally.teller(progress)
    if len(numbers) < 2:  # not worth a process elsewhere
        for number in numbers:
            tally.add(work(number))
    else:
        cluster.wait_for(lambda: _run(work, numbers, tally), tell)
    tell()
    return tally.values


def _run(work: Work, numbers: Sequence[int], tally: _Tally) -> None:
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    data = ray.data.from_items([{"part": int(number)} for number in numbers], override_num_blocks=len(numbers))
    for row in data.map(_Part(work)).iter_rows():
        if row["problem"]:
            raise getattr(errors, row["kind"], errors.SoelError)(row["problem"])
        tally.add(Done(int(row["amount"]), float(row["value"])))


class _Part:
    """A row that names a part -> a row that says how much was done, or what was wrong.

    What is wrong with a part is no failure of the cluster: told as a value it arrives as it is, and is not tried again.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        done, problem, kind = Done(0), "", ""
        try:
            done = self._work(int(row["part"]))
        except errors.SoelError as error:
            problem, kind = str(error), type(error).__name__
        return {"amount": done.amount, "value": done.value, "problem": problem, "kind": kind}


class _Tally:
    """What is done: one thread adds to it and another reads."""

    def __init__(self) -> None:
        self._amount, self._reported = 0, 0
        self.values: list[float] = []

    def add(self, done: Done) -> None:
        self._amount += done.amount
        self.values.append(done.value)

    def teller(self, progress: Counted | None) -> Callable[[], None]:
        def tell() -> None:
            if progress is not None and self._amount > self._reported:
                self._reported = self._amount
                progress(self._reported)

        return tell
