"""Batches of made-up and real tasks, made beside the training."""

from __future__ import annotations

import collections
import math
import queue
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pretraining import tasks
from pretraining.real import RealTables
from pretraining.torch_ops import COORDINATE_WIDTHS
from soel.detect.incontext.row_features import PoolStats, RowFeatures

POOL_ROWS = (64, 128, 128, 256, 256, 384, 384, 512, 512, 512, 512, 768, 768, 1024, 1024, 2000)
WIDTHS_DRAWN = 12, 6, 2, 1  # how often each of the widths for which attention is planned is drawn
MOST_OTHERS = 256  # rows beside a pool


@dataclass
class Plan:
    """How long and how fast to train."""

    seconds: float
    decay_seconds: float = 0.0  # the last part, in which the rate falls to nothing
    rate: float = 6e-4
    matrix_rate: float = 1e-3  # of matrices, whose steps are made orthogonal
    warmup_steps: int = 300
    batches_a_step: int = 2
    rows_a_batch: int = 56_000
    cells_a_batch: int = 640_000  # rows times columns, at most
    own_questions: float = 0.6  # share of label sets asked by the network itself
    real: Path | None = None  # tables that tasks are cut from, beside the made-up ones
    real_share: float = 0.5  # of the tasks
    makers: int = 0  # processes that make tasks; a thread does where there is none
    seed: int = 0
    orthogonal: bool = True
    log: Callable[[str], None] = print


@dataclass(frozen=True)
class Batch:
    """Tasks of one size, described up to the labels: the first rows are the pool, the rest only looks on."""

    stats: PoolStats
    rows: RowFeatures
    is_anomaly: Tensor  # (B, n)

    @property
    def n_pool(self) -> int:
        """How many rows the pool has."""
        return int(self.stats.z.shape[1])

    def twice(self) -> Batch:
        """Every task two times; of the stats only what is looked at once labels are there."""
        old, rows = self.stats, self.rows
        z, g, about, scale, precision = (
            torch.cat([part, part]) for part in (old.z, old.g, old.columns, old.scale, old.precisions[0])
        )
        stats = replace(old, z=z, g=g, columns=about, scale=scale, precisions=(precision,))
        parts = {name: torch.cat([getattr(rows, name)] * 2, int(name == "distances")) for name in RowFeatures.names()}
        return Batch(stats, RowFeatures(**parts), torch.cat([self.is_anomaly] * 2))


@torch.no_grad()
def make(plan: Plan, device: torch.device, chance: random.Random, real: RealTables | None = None) -> Batch:
    """A batch of tasks of a random size, some of them from real tables."""
    n_pool = chance.choice(POOL_ROWS)
    n_rows = n_pool + min(n_pool // 2, MOST_OTHERS)
    most = chance.choices(COORDINATE_WIDTHS, WIDTHS_DRAWN)[0]
    width = min(most, int(math.exp(chance.uniform(math.log(2), math.log(most + 1)))))
    n_tasks = max(2, min(plan.cells_a_batch // (n_rows * most), plan.rows_a_batch // n_rows, 128))
    n_real = round(plan.real_share * n_tasks) if real is not None else 0
    cut = real.draw(n_real, n_rows, width, chance) if real is not None and n_real else None
    parts = [cut] if cut is not None else []
    if n_made_up := n_tasks - sum(len(part.rows) for part in parts):
        parts.append(tasks.draw(n_made_up, n_rows, width, device, chance))
    rows, is_anomaly = torch.cat([part.rows for part in parts]), torch.cat([part.is_anomaly for part in parts])
    stats, own = PoolStats.fit(rows[:, :n_pool], _generator(device, chance))
    return Batch(stats, RowFeatures.joined([own, stats.describe(rows[:, n_pool:])]), is_anomaly)


class Ahead:
    """Batches made in processes of their own, or in a thread: launching work on a GPU is what costs."""

    def __init__(self, plan: Plan, device: torch.device, chance: random.Random) -> None:
        kind: Any = torch.multiprocessing.get_context("spawn") if plan.makers else threading
        self._batches = kind.Queue(maxsize=3) if plan.makers else queue.Queue(maxsize=3)
        self._stop = kind.Event()
        quiet = replace(plan, log=print)  # what a process is started with has to be sent there
        seeds = [chance.getrandbits(40) for _ in range(max(plan.makers, 1))]
        start = kind.Process if plan.makers else threading.Thread
        arguments = [(quiet, device, seed, self._batches, self._stop) for seed in seeds]
        self._workers = [start(target=_make_batches, args=each, daemon=True) for each in arguments]
        for worker in self._workers:
            worker.start()

    def take(self) -> Batch:
        """The next batch."""
        thing: Batch | BaseException = self._batches.get()
        if isinstance(thing, BaseException):
            raise thing
        return thing

    def close(self) -> None:
        """Make no more."""
        self._stop.set()
        for worker in self._workers:
            if not isinstance(worker, threading.Thread):
                worker.terminate()
            worker.join()


def _make_batches(plan: Plan, device: torch.device, seed: int, batches: Any, stop: Any) -> None:
    """Put batches where they are taken from, until told to stop."""
    chance, waiting = random.Random(seed), collections.deque[Any](maxlen=8)
    try:
        if plan.makers:
            torch.manual_seed(seed)
            torch.set_num_threads(1)
        real = RealTables.load(plan.real, device) if plan.real else None
        while not stop.is_set():
            waiting.append(make(plan, device, chance, real))  # kept here until others have taken it
            synchronise(device)
            _put(batches, waiting[-1], stop)
    except BaseException as error:
        _put(batches, error, stop)


def _put(batches: Any, thing: Batch | BaseException, stop: Any) -> None:
    while not stop.is_set():
        try:
            batches.put(thing, timeout=0.1)
        except queue.Full:
            continue
        return


def _generator(device: torch.device, chance: random.Random) -> torch.Generator:
    return torch.Generator(device).manual_seed(chance.getrandbits(40))


def synchronise(device: torch.device) -> None:
    """Wait for a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize()
