"""The cores there are, and independent work side by side on them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Given = TypeVar("Given")
Result = TypeVar("Result")


def n_cores() -> int:
    """The cores this process may use: those it is bound to, or fewer where OMP_NUM_THREADS says so."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(bound, int(wanted)) if wanted.isdecimal() and int(wanted) else bound


def parallel_map(
    compute: Callable[[Given], Result], parts: Sequence[Given], prepare: Callable[[], object] | None = None
) -> list[Result]:
    """The results in order, each part computed by one thread. prepare: what a thread does first.

    For work that lets go of the interpreter (numpy, torch); a part's result cannot depend on the number of threads.
    """
    n_threads = min(n_cores(), len(parts))
    if n_threads < 2:
        return [compute(part) for part in parts]
    with ThreadPoolExecutor(n_threads, initializer=prepare) as pool:
        return list(pool.map(compute, parts))


def in_order(
    compute: Callable[[Given], Result], given: Iterable[Given], n_threads: int, n_ahead: int
) -> Iterator[Result]:
    """The results one after the other, up to `n_ahead` of them computed before they are asked for."""
    items, waiting = iter(given), deque[Future[Result]]()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while True:
                while len(waiting) < n_ahead:
                    try:
                        waiting.append(pool.submit(compute, next(items)))
                    except StopIteration:
                        break
                if not waiting:
                    return
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Whoever multiplies matrices meanwhile does so in one thread: blocks are computed side by side instead.

    The setting is the process's; it is put back when the last of those who wanted it is done.
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """How many want one thread each, and what to put back."""

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._held: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._held = _matrix_libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._held.restore_original_limits()


_LIMIT = _Limit()


@cache
def _matrix_libraries() -> ThreadpoolController:
    """Those that are loaded: looking for them takes milliseconds."""
    return ThreadpoolController()
