"""Threads and precision of a computation: decided by its size and settings, never by what ran before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

from soel.types import Precision

Given = TypeVar("Given")
Result = TypeVar("Result")

ROWS_TIMES_PARAMETERS = 3e7  # below this a step is mostly overhead, and waiting for a second thread adds to it


def n_cores() -> int:
    """The cores this process may use: those it is bound to, or fewer where OMP_NUM_THREADS says so."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(bound, int(wanted)) if wanted.isdecimal() and int(wanted) else bound


@contextmanager
def threads_for(n_rows: int, n_parameters: int) -> Iterator[None]:
    """Set torch's thread count for this much work per step, and put it back afterwards."""
    before = torch.get_num_threads()
    small = n_rows * n_parameters < ROWS_TIMES_PARAMETERS
    torch.set_num_threads(1 if small else n_cores())
    try:
        yield
    finally:
        torch.set_num_threads(before)


def side_by_side(compute: Callable[[Given], Result], parts: Sequence[Given]) -> list[Result]:
    """The results in order, each part computed by one thread of its own: nothing waits for another."""
    with threads_for(0, 0), ThreadPoolExecutor(n_cores(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        return list(pool.map(compute, parts))


@contextmanager
def precision(setting: Precision) -> Iterator[None]:
    """Matrix products in full float32 ('highest') or TF32 ('high'); only a GPU knows the difference."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
