"""A query on the workers's embeddings: the shards of `queries.sharded`, each in a worker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from soel.ask.space import Origin
from soel.scoring.ray.workers import Workers
from soel.types import Floats, Rows


@dataclass(frozen=True)
class WorkerShards:
    """The view's rows in the workers that have their embeddings. bounds: where each worker's rows of the view begin."""

    workers: Workers
    bounds: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Rows of the view."""
        return self.bounds[-1]

    def settle(self, origin: Origin, free: np.ndarray) -> None:
        """Give each shard the origin and its part of `free`."""
        parts = [("settle", origin, free[start:stop]) for start, stop in pairwise(self.bounds)]
        self.workers.ask("query", parts)
        for number, part in enumerate(parts):
            self.workers.remember(number, ("query", part))

    def ask(self, what: str, *given: Any) -> list[Any]:
        """The answers of all shards. What they place is remembered, for a worker that takes another's part."""
        answers = self.workers.ask("query", [(what, *given)] * (len(self.bounds) - 1))
        if what in ("draw", "farthest"):
            for number in range(len(answers)):
                self.workers.remember(number, ("query", ("place", given[0])))
        return answers


def begin_query(workers: Workers, embeddings: Floats, rows: Rows | None) -> WorkerShards | None:
    """The workers' embeddings as shards of a view; None where too many rows are left out of it.

    rows: those of the pool that the view shows, in order; None for all. embeddings: (n, D) of the view. Shards begin at
    the same multiples of a block in the view as in the pool, so a few rows move to the worker before.
    """
    n_view = len(embeddings)
    bounds = [bound for bound in workers.bounds[:-1] if bound < n_view] + [n_view]
    if rows is None:
        rows = np.arange(n_view)
    calls = []
    for (start, stop), (own, own_end) in zip(pairwise(bounds), pairwise(workers.bounds), strict=False):
        wanted = rows[start:stop]
        here = wanted[wanted < own_end] - own
        if len(here) < len(wanted) // 2:
            return None
        calls.append((start, here, embeddings[start + len(here) : stop]))
    workers.ask("begin_query", calls)
    for number, call in enumerate(calls):
        workers.remember(number, ("begin_query", call))
    return WorkerShards(workers, tuple(bounds))
