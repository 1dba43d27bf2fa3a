"""Requests that arrive together are scored together: one thread scores, everybody else waits for a part of it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
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
    answer: asyncio.Future[Floats]
    loop: asyncio.AbstractEventLoop
    scores: Floats = field(init=False)
    done: int = 0

    def __post_init__(self) -> None:
        self.scores = np.empty(len(self.features))

    def finish(self, error: Exception | None = None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(self._settle, error)

    def _settle(self, error: Exception | None) -> None:
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(self.scores)
        else:
            self.answer.set_exception(error)


class MicroBatches:
    """A bounded queue of rows and the thread that scores them; a row's score does not depend on its company."""

    def __init__(self, most_waiting: int = MOST_WAITING, most_seconds: float = MOST_SECONDS) -> None:
        self._most_waiting, self._most_seconds = most_waiting, most_seconds
        self._jobs: deque[_Job] = deque()
        self._changed, self._is_closed = threading.Condition(), False
        self.n_waiting = 0
        self._thread = threading.Thread(target=self._work, name="scoring", daemon=True)
        self._thread.start()

    async def score(self, served: ServedModel, features: Floats) -> Floats:
        """Scores (n,) of rows (n, d), once it is their turn."""
        loop = asyncio.get_running_loop()
        job = _Job(served, features, loop.create_future(), loop)
        with self._changed:
            if self.n_waiting + len(features) > self._most_waiting and self.n_waiting:
                raise BusyError(f"{self.n_waiting} rows wait already; send these again in a moment.")
            self.n_waiting += len(features)
            self._jobs.append(job)
            self._changed.notify()
        try:
            async with asyncio.timeout(self._most_seconds):
                return await job.answer
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
            jobs = [job for job, _ in taken]
            try:
                scores = jobs[0].served.fitted.score(np.concatenate([part for _, part in taken]))
            except Exception as error:  # told to everybody who waits for it; the thread goes on
                for job in jobs:
                    job.finish(error)
                self._put_back([], sum(len(job.features) - job.done for job in jobs))
                continue
            at, unfinished = 0, []
            for job, part in taken:
                job.scores[job.done : job.done + len(part)] = scores[at : at + len(part)]
                at, job.done = at + len(part), job.done + len(part)
                if job.done < len(job.features):
                    unfinished.append(job)
                else:
                    job.finish()
            self._put_back(unfinished, at)

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
                    if job.answer.done():  # too late, or the client has left
                        self.n_waiting -= len(job.features) - job.done
                    elif taken and job.served is not taken[0][0].served:
                        break
                    else:
                        part = job.features[job.done : job.done + room]
                        taken.append((job, part))
                        room -= len(part)
                    self._jobs.popleft()
                if taken or (self._is_closed and not self._jobs):
                    return taken
                self._changed.wait()
