"""The workers of a pool: each has its rows; one that dies is replaced and told what it had been told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import ray
from ray.exceptions import RayActorError

from soel.errors import SessionError
from soel.scoring.ray.cluster import Cluster
from soel.scoring.ray.feature_shards import FeatureShards
from soel.scoring.ray.states import Form
from soel.scoring.ray.worker import Worker

PATIENCE = 4  # times that a worker is replaced for the same question
Call = tuple[str, tuple[Any, ...]]


class Workers:
    """Actors, one per shard. bounds: where the shards begin, and where the last ends."""

    def __init__(self, cluster: Cluster, shards: FeatureShards, form: Form) -> None:
        plan = cluster.plan(shards.n_blocks)
        self.bounds = shards.bounds(plan.n_workers)
        self._made_of, self._n_cores = (shards, form), plan.n_cores
        self._actors = [self._start(number, plan.n_cores) for number in range(plan.n_workers)]
        self._history: list[list[Call]] = [[] for _ in self._actors]

    def __len__(self) -> int:
        return len(self._actors)

    def ask(self, what: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The workers' answers, in row order. given: each one's arguments; fewer than workers asks the first ones."""
        asked = [[self._call(number, what, each)] for number, each in enumerate(given)]
        return [self._answer(number, references, (what, given[number])) for number, references in enumerate(asked)]

    def ask_all(self, what: str, *given: Any) -> list[Any]:
        """The answers of all to the same question."""
        return self.ask(what, [given] * len(self))

    def remember(self, number: int, call: Call, afresh: bool = False) -> None:
        """A call that brings a new worker to where the old one was; afresh: what came before does not matter."""
        self._history[number] = [call] if afresh else [*self._history[number], call]

    def close(self) -> None:
        """Let the workers go, and with them the cores they hold."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def _start(self, number: int, n_cores: int) -> Any:
        shards, form = self._made_of
        start, stop = list(pairwise(self.bounds))[number]
        actor = ray.remote(Worker).options(num_cpus=n_cores, scheduling_strategy="SPREAD")
        return actor.remote(shards, start, stop, form)

    def _call(self, number: int, what: str, given: tuple[Any, ...]) -> Any:
        return getattr(self._actors[number], what).remote(*given)

    def _answer(self, number: int, references: list[Any], call: Call) -> Any:
        """The last of these answers; an error in any of them counts."""
        for _ in range(PATIENCE):
            try:
                return ray.get(references)[-1]
            except RayActorError:
                references = self._ask_replacement(number, call)
        raise SessionError(
            f"A worker of the cluster died {PATIENCE} times at the same step ({call[0]}). Its machine may lack memory: "
            "see Ray's logs, then run the same command again."
        )

    def _ask_replacement(self, number: int, call: Call) -> list[Any]:
        """The same question to a new worker. It asks for no cores: those of a machine that is gone are gone, too."""
        ray.kill(self._actors[number])
        self._actors[number] = self._start(number, 0)
        return [self._call(number, *each) for each in (*self._history[number], call)]  # an actor answers in order
