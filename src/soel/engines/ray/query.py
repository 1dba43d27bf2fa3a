"""A query on the crew's embeddings: the shards of `queries.sharded`, each in a worker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from soel.engines.ray.crew import Crew
from soel.numeric.space import Origin
from soel.types import Floats, Rows


@dataclass(frozen=True)
class CrewShards:
    """The view's rows in the workers that have their embeddings. bounds: where each worker's rows of the view begin."""

    crew: Crew
    bounds: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Rows of the view."""
        return self.bounds[-1]

    def settle(self, origin: Origin, free: np.ndarray) -> None:
        """Give each shard the origin and its part of `free`."""
        parts = [("settle", origin, free[start:stop]) for start, stop in pairwise(self.bounds)]
        self.crew.ask("query", parts)
        for number, part in enumerate(parts):
            self.crew.remember(number, ("query", part))

    def ask(self, what: str, *given: Any) -> list[Any]:
        """The answers of all shards. What they place is remembered, for a worker that takes another's part."""
        answers = self.crew.ask("query", [(what, *given)] * (len(self.bounds) - 1))
        if what in ("draw", "farthest"):
            for number in range(len(answers)):
                self.crew.remember(number, ("query", ("place", given[0])))
        return answers


def begin_query(crew: Crew, embeddings: Floats, rows: Rows | None) -> CrewShards | None:
    """The workers' embeddings as shards of a view; None where too many rows are left out of it.

    rows: those of the pool that the view shows, in order; None for all. embeddings: (n, D) of the view. Shards begin at
    the same multiples of a block in the view as in the pool, so a few rows move to the worker before.
    """
    n_view = len(embeddings)
    bounds = [bound for bound in crew.bounds[:-1] if bound < n_view] + [n_view]
    if rows is None:
        rows = np.arange(n_view)
    calls = []
    for (start, stop), (own, own_end) in zip(pairwise(bounds), pairwise(crew.bounds), strict=False):
        wanted = rows[start:stop]
        here = wanted[wanted < own_end] - own
        if len(here) < len(wanted) // 2:
            return None
        calls.append((start, here, embeddings[start + len(here) : stop]))
    crew.ask("begin_query", calls)
    for number, call in enumerate(calls):
        crew.remember(number, ("begin_query", call))
    return CrewShards(crew, tuple(bounds))
