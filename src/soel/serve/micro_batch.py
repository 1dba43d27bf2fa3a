"""Requests that arrive together are scored together: one thread scores, everybody else waits for a part of it."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

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
    """Rows (n, d) on their way, and their scores (n,) of which `done` are there already."""

    served: ServedModel
    features: Floats
    scores: Floats
    answer: asyncio.Future[Floats]
    done: int = 0

    @property
    def n_left(self) -> int:
        return len(self.features) - self.done


class MicroBatches:
    """A bounded queue of rows and the thread that scores them; a row's score does not depend on its company.

    All but the scoring itself happens in the event loop.
    """

    def __init__(self, most_waiting: int = MOST_WAITING, most_seconds: float = MOST_SECONDS) -> None:
        self._most_waiting, self._most_seconds = most_waiting, most_seconds
        self._jobs, self._thread = deque[_Job](), ThreadPoolExecutor(1, "scoring")
        self._working: asyncio.Task[None] | None = None
        self.n_waiting = 0

    async def score(self, served: ServedModel, features: Floats) -> Floats:
        """Scores (n,) of rows (n, d), once it is their turn."""
        if self.n_waiting and self.n_waiting + len(features) > self._most_waiting:
            raise BusyError(f"{self.n_waiting} rows wait already; send these again in a moment.")
        job = _Job(served, features, np.empty(len(features)), asyncio.get_running_loop().create_future())
        self.n_waiting += len(features)
        self._jobs.append(job)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(self._most_seconds):
                return await job.answer
        except TimeoutError:
            raise LateError(f"The rows could not be scored within {self._most_seconds:g} s; send fewer.") from None

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    async def _work(self) -> None:
        while taken := self._take():
            jobs, parts = zip(*taken, strict=True)
            score, rows, loop = jobs[0].served.fitted.score, np.concatenate(parts), asyncio.get_running_loop()
            try:
                scores = await loop.run_in_executor(self._thread, score, rows)
            except Exception as error:  # told to everybody who waits for it; the others are scored
                for job in jobs:
                    self.n_waiting -= job.n_left
                    if not job.answer.done():
                        job.answer.set_exception(error)
                continue
            ends = np.cumsum([len(part) for part in parts])
            for job, own in zip(jobs, np.split(scores, ends[:-1]), strict=True):
                job.scores[job.done : job.done + len(own)] = own
                job.done += len(own)
                self.n_waiting -= len(own)
                if job.n_left:
                    self._jobs.append(job)
                elif not job.answer.done():
                    job.answer.set_result(job.scores)

    def _take(self) -> list[tuple[_Job, Floats]]:
        """Rows of one model for a batch, of each request at most what still fits; none where nobody waits."""
        taken, room = list[tuple[_Job, Floats]](), BATCH_ROWS
        while self._jobs and room:
            if taken and self._jobs[0].served is not taken[0][0].served:
                break
            job = self._jobs.popleft()
            if job.answer.done():  # too late, or the client has left
                self.n_waiting -= job.n_left
                continue
            taken.append((job, job.features[job.done : job.done + room]))
            room -= len(taken[-1][1])
        return taken
