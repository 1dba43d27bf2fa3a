"""Requests that arrive together are scored together: one thread scores, everybody else waits for a part of it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from soel.errors import SoelError
from soel.serve.served import ServedModel
from soel.types import Floats

BATCH_ROWS = 1024  # that are scored at once; a larger request takes turns with others
MOST_WAITING = 50_000  # rows
MOST_SECONDS = 30.0


class BusyError(SoelError):
    """More rows wait than are taken in."""


class LateError(SoelError):
    """It took too long."""


@dataclass(eq=False)
class _Job:
    """Rows (n, d) on their way. done: how many have scores (n,) already."""

    served: ServedModel
    features: Floats
    answer: Future[Floats] = field(default_factory=Future)
    done: int = 0

    def __post_init__(self) -> None:
        self.scores = np.empty(len(self.features))

    @property
    def n_left(self) -> int:
        return len(self.features) - self.done


class MicroBatches:
    """A bounded queue of rows and the thread that scores them; a row's score does not depend on its company."""

    def __init__(self, most_waiting: int = MOST_WAITING, most_seconds: float = MOST_SECONDS) -> None:
        self._most_waiting, self._most_seconds = most_waiting, most_seconds
        self._jobs: deque[_Job] = deque()
        self._changed, self._is_closed = threading.Condition(), False
        self.n_waiting = 0
        self._thread = threading.Thread(target=self._work, name="scoring", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether somebody scores."""
        return self._thread.is_alive()

    async def score(self, served: ServedModel, features: Floats) -> Floats:
        """Scores (n,) of rows (n, d), once it is their turn."""
        job = _Job(served, features)
        with self._changed:
            if self.n_waiting and self.n_waiting + len(features) > self._most_waiting:
                raise BusyError(f"{self.n_waiting} rows wait already; send these again in a moment.")
            self.n_waiting += len(features)
            self._jobs.append(job)
            self._changed.notify()
        try:
            async with asyncio.timeout(self._most_seconds):
                return await asyncio.wrap_future(job.answer)
        except TimeoutError:
            raise LateError(f"The rows could not be scored within {self._most_seconds:g} s; send fewer.") from None

    def close(self) -> None:
        """Score what waits, then end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while taken := self._take():
            jobs, parts = zip(*taken, strict=True)
            try:
                scores = jobs[0].served.fitted.score(np.concatenate(parts))
            except Exception as error:  # told to everybody who waits for it; the thread goes on
                for job in jobs:
                    job.answer.set_exception(error)
                self._put_back([], sum(job.n_left for job in jobs))
                continue
            ends = np.cumsum([len(part) for part in parts])
            for job, own in zip(jobs, np.split(scores, ends[:-1]), strict=True):
                job.scores[job.done : job.done + len(own)] = own
                job.done += len(own)
                if not job.n_left:
                    job.answer.set_result(job.scores)
            self._put_back([job for job in jobs if job.n_left], len(scores))

    def _put_back(self, unfinished: list[_Job], n_done: int) -> None:
        with self._changed:
            self._jobs.extend(unfinished)
            self.n_waiting -= n_done

    def _take(self) -> list[tuple[_Job, Floats]]:
        """Rows of one model for a batch, of each request at most what still fits; nothing when all is over."""
        with self._changed:
            while True:
                taken, room = list[tuple[_Job, Floats]](), BATCH_ROWS
                while self._jobs and room:
                    job = self._jobs[0]
                    if taken and job.served is not taken[0][0].served:
                        break
                    self._jobs.popleft()
                    if not job.answer.running() and not job.answer.set_running_or_notify_cancel():
                        self.n_waiting -= job.n_left  # too late, or the client has left
                        continue
                    taken.append((job, job.features[job.done : job.done + room]))
                    room -= len(taken[-1][1])
                if taken or (self._is_closed and not self._jobs):
                    return taken
                self._changed.wait()
