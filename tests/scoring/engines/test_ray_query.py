"""A query on workers' embeddings, with items set aside and workers lost; the workers are objects of this process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest

from soel.ask.base import Strategy
from soel.ask.diverse import Diverse
from soel.ask.k_center import KCenter
from soel.ask.sharded import select_sharded
from soel.ask.space import BLOCK_ROWS
from soel.scoring.ray.query import begin_query
from soel.scoring.ray.worker import Worker
from soel.scoring.ray.workers import Call, Workers
from soel.types import PoolView

N_ROWS = 3 * BLOCK_ROWS + 500
X = np.random.default_rng(2).standard_normal((N_ROWS, 4)).astype(np.float32)


class Here:
    """A workers whose workers have their embeddings already. forgetful: whom it replaces before every question."""

    def __init__(self, n_workers: int, forgetful: int | None = None) -> None:
        n_blocks = -(-N_ROWS // BLOCK_ROWS)
        self.bounds = [n_blocks * k // n_workers * BLOCK_ROWS for k in range(n_workers)] + [N_ROWS]
        self._forgetful, self._told = forgetful, [list[Call]() for _ in range(n_workers)]
        self._workers = [self._new(number) for number in range(n_workers)]

    def ask(self, what: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._forgetful is not None:
            self._workers[self._forgetful] = self._new(self._forgetful)
            for told, arguments in self._told[self._forgetful]:
                getattr(self._workers[self._forgetful], told)(*arguments)
        return [getattr(worker, what)(*each) for worker, each in zip(self._workers, given, strict=False)]

    def remember(self, number: int, call: Call) -> None:
        self._told[number].append(call)

    def _new(self, number: int) -> Worker:
        start, stop = list(pairwise(self.bounds))[number]
        worker = Worker(cast(Any, None), start, stop, cast(Any, None))
        worker._points = X[start:stop]
        return worker


def labelled() -> np.ndarray:
    labels = np.full(N_ROWS, -1, np.int8)
    labels[[7, BLOCK_ROWS, N_ROWS - 1]] = [0, 1, 0]
    return labels


def both(workers: Here, strategy: Strategy, left_out: Sequence[int]) -> tuple[list[int], list[int]]:
    """What is picked by the workers, and on the whole view."""
    rows = np.delete(np.arange(N_ROWS), left_out)
    labels = labelled()[rows]
    shards = begin_query(cast(Workers, workers), X[rows], rows if len(left_out) else None)
    assert shards is not None
    parts = select_sharded(strategy, shards, labels, 6, np.random.default_rng(0))
    whole = strategy.select(PoolView(np.zeros(len(rows)), X[rows], labels), 6, np.random.default_rng(0))
    return parts.rows.tolist(), whole.rows.tolist()


@pytest.mark.parametrize("strategy", [Diverse(), KCenter(first="central")], ids=["diverse", "k-center"])
@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.parametrize(
    "left_out", [[], [3], [0, 1, BLOCK_ROWS + 1, 2 * BLOCK_ROWS], [*range(100, 160), N_ROWS - 2]], ids=len
)
def test_items_set_aside_change_nothing(strategy: Strategy, n_workers: int, left_out: list[int]) -> None:
    parts, whole = both(Here(n_workers), strategy, left_out)
    assert parts == whole


@pytest.mark.parametrize("strategy", [Diverse(), KCenter(first="central")], ids=["diverse", "k-center"])
def test_a_worker_that_takes_anothers_place_knows_what_that_one_knew(strategy: Strategy) -> None:
    parts, whole = both(Here(4, forgetful=2), strategy, [5, 9000])
    assert parts == whole


def test_a_shard_that_ends_with_rows_set_aside_may_vanish() -> None:
    workers = Here(4)
    rows = np.delete(np.arange(N_ROWS), range(N_ROWS - 600, N_ROWS))
    shards = begin_query(cast(Workers, workers), X[rows], rows)
    assert shards is not None
    assert len(shards.bounds) == 4  # three shards are left of four


def test_too_many_rows_set_aside_are_not_moved_between_workers() -> None:
    rows = np.arange(BLOCK_ROWS + 10, N_ROWS)
    assert begin_query(cast(Workers, Here(4)), X[rows], rows) is None
