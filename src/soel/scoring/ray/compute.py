"""The heavy steps of an engine, spread over a Ray cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import ray

from soel.ask.base import Strategy
from soel.ask.sharded import can_shard, select_sharded
from soel.errors import SessionError
from soel.learner import HERE, Blend, Network
from soel.networks import Model
from soel.networks.objectives import Task
from soel.scoring.ray.cluster import Cluster
from soel.scoring.ray.feature_shards import FeatureShards, RowSource
from soel.scoring.ray.parts import Done, Work, map_parts
from soel.scoring.ray.query import begin_query
from soel.scoring.ray.states import Form, State, model_state, state_of
from soel.scoring.ray.training import Job, run_job
from soel.scoring.ray.workers import Workers
from soel.settings import Schedule
from soel.types import Floats, ItemWeights, Pool, PoolView, Progress, RankedWeights, Rows, Selection


class RayCompute:
    """`Compute` on a cluster: the pool's features are cut into shards once, and workers keep what they read of them.

    identity: of the pool that the shards are cut from; no other is computed here.
    source: where these features are read from to be cut: by the workers, or here where they cannot reach it.
    """

    def __init__(
        self,
        cluster: Cluster,
        identity: str,
        source: RowSource,
        shards: FeatureShards,
        form: Form,
        is_cut_here: bool = False,
    ) -> None:
        self.cluster, self._identity, self._source, self._shards, self.form = cluster, identity, source, shards, form
        self._is_cut_here = is_cut_here
        self._runs = shards.storage.within("runs")
        self._workers: Workers | None = None
        self._has_looked = False

    def warm_up(self, model: Model, pool: Pool, schedule: Schedule, progress: Progress | None) -> None:
        """Train on all rows as if normal."""
        self._check(pool)
        self._train(model, schedule, None, True, progress)

    def fit(
        self,
        model: Model,
        pool: Pool,
        tasks: Sequence[Task],
        schedule: Schedule,
        always_summed: bool,
        progress: Progress | None,
    ) -> None:
        """Train on labelled and unlabelled rows."""
        self._check(pool)
        self._train(model, schedule, tasks, always_summed, progress)

    def losses(self, model: Model, pool: Pool) -> Floats:
        """L0 (S, N) of all rows."""
        self._check(pool)
        return np.concatenate(self._ask("losses", model_state(model)), axis=1)

    def score(self, blend: Blend, pool: Pool) -> Floats:
        """Anomaly scores (N,)."""
        self._check(pool)
        return np.concatenate(self._ask("score", state_of(blend)))

    def embed(self, blend: Blend, pool: Pool) -> Floats:
        """Embeddings (N, D), which the workers keep for a query."""
        self._check(pool)
        workers, state = self._start_workers(), ray.put(state_of(blend))
        return self._look(workers, "embed", [(state,)] * len(workers))

    def gradients(self, network: Network, pool: Pool, suspected: np.ndarray, seed: int) -> Floats:
        """Gradients (N, D), which the workers keep for a query."""
        self._check(pool)
        workers, state = self._start_workers(), ray.put(model_state(network.model))
        calls = [(state, suspected[start:stop], seed) for start, stop in pairwise(workers.bounds)]
        return self._look(workers, "gradients", calls)

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """What the strategy picks: by the workers if it looks at all distances, else here, where the view is."""
        if not (self._has_looked and can_shard(strategy, len(view))):
            return HERE.select(strategy, view, n, rng, n_reserve, rows)
        workers = self._start_workers()
        return self.cluster.wait_for(lambda: self._select(workers, strategy, view, n, rng, n_reserve, rows))

    def map_parts(self, work: Work, numbers: Sequence[int], progress: Callable[[int], None] | None) -> list[float]:
        """Do parts of work on all machines."""
        self.dismiss()
        return map_parts(self.cluster, work, numbers, progress)

    def close(self) -> None:
        """Let the workers go, and leave the cluster."""
        self.dismiss()
        self.cluster.close()

    def prepare(self, progress: Progress | None = None) -> None:
        """Cut the features into shards, if that was not done before; what another run has begun is gone on with."""
        shards = self._shards
        if not shards.is_ours:
            shards.claim()
        write, missing = WriteShard(shards, self._source), shards.missing()
        if self._is_cut_here:
            for number in missing:
                write(number)
            return
        n_there = shards.n_files - len(missing)
        report = None if progress is None else lambda done: progress(n_there + done, shards.n_files)
        map_parts(self.cluster, write, missing, report)

    def _select(
        self,
        workers: Workers,
        strategy: Strategy,
        view: PoolView,
        n: int,
        rng: np.random.Generator,
        n_reserve: int,
        rows: Rows | None,
    ) -> Selection:
        shards = begin_query(workers, view.embeddings, rows)
        if shards is None:
            return HERE.select(strategy, view, n, rng, n_reserve, rows)
        n_rows = strategy.check(view, n, n_reserve)
        return select_sharded(strategy, shards, view.labels, n_rows, rng)

    def _check(self, pool: Pool) -> None:
        if pool.identity != self._identity:
            raise SessionError("The cluster has the rows of another pool; open the session anew.")

    def _look(self, workers: Workers, what: str, calls: Sequence[tuple[Any, ...]]) -> Floats:
        found = self.cluster.wait_for(lambda: workers.ask(what, calls))
        for number, call in enumerate(calls):
            workers.remember(number, (what, call), afresh=True)
        self._has_looked = True
        return np.concatenate(found)

    def _ask(self, what: str, state: State) -> list[Floats]:
        workers, reference = self._start_workers(), ray.put(state)
        return self.cluster.wait_for(lambda: workers.ask_all(what, reference))

    def _start_workers(self) -> Workers:
        if self._workers is None:
            self.prepare()
            self._workers = self.cluster.wait_for(lambda: Workers(self.cluster, self._shards, self.form))
        return self._workers

    def dismiss(self) -> None:
        """Let the workers go: others need their cores."""
        if self._workers is not None:
            self._workers.close()
        self._workers, self._has_looked = None, False

    def _train(
        self,
        model: Model,
        schedule: Schedule,
        tasks: Sequence[Task] | None,
        always_summed: bool,
        progress: Progress | None,
    ) -> None:
        self.prepare()
        self.dismiss()
        job = Job("", self.form, model_state(model), self._shards, schedule, tasks, always_summed)
        run_job(self.cluster, replace(job, name=_name_of(job)), model, self._runs, progress)


@dataclass(frozen=True)
class WriteShard:
    """Writes one file of the shards."""

    shards: FeatureShards
    source: RowSource

    def __call__(self, number: int) -> Done:
        """Write the file of this number."""
        self.shards.write(number, self.source)
        return Done(1)


def _name_of(job: Job) -> str:
    """A name that the same job gets again, so that it goes on where it was when a whole run is lost."""
    digest = hashlib.sha256(json.dumps([job.start.notes, asdict(job.schedule), job.always_summed]).encode())
    for name in sorted(job.start.arrays):
        digest.update(np.ascontiguousarray(job.start.arrays[name]).tobytes())
    for task in job.tasks or ():
        digest.update(task.labelled.tobytes() + repr(task.rate).encode())
        digest.update(_bytes_of(task.on_labelled) + _bytes_of(task.on_unlabelled))
    return f"training-{digest.hexdigest()[:16]}"


def _bytes_of(weights: ItemWeights | RankedWeights | None) -> bytes:
    if isinstance(weights, ItemWeights):
        return bytes(weights.normal.tobytes() + weights.anomaly.tobytes())
    return repr(weights).encode()
