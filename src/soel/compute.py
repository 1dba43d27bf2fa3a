"""The heavy steps of the loop: what needs every row of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soel import networks
from soel.ask.base import Strategy
from soel.model import Blend, Network
from soel.networks.objectives import Task
from soel.settings import Schedule
from soel.types import Floats, Pool, PoolView, Progress, Rows, Selection

if TYPE_CHECKING:
    from soel.networks import Model


class Compute:
    """What needs every row of the pool."""

    def warm_up(self, model: Model, pool: Pool, schedule: Schedule, progress: Progress | None) -> None:
        """Train on all rows as if normal."""
        networks.warm_up(model, pool.rows, schedule, progress)

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
        networks.fit(model, pool.rows, tasks, schedule, always_summed, progress)

    def losses(self, model: Model, pool: Pool) -> Floats:
        """L0 (S, N) of all rows."""
        return networks.losses(model, pool.rows)[0]

    def score(self, blend: Blend, pool: Pool) -> Floats:
        """Anomaly scores (N,)."""
        return blend.score(pool.rows)

    def embed(self, blend: Blend, pool: Pool) -> Floats:
        """Embeddings (N, D)."""
        return blend.embed(pool.rows)

    def gradients(self, network: Network, pool: Pool, suspected: np.ndarray, seed: int) -> Floats:
        """Gradients (N, D)."""
        return networks.gradient_embeddings(network.model, pool.rows, suspected, seed)

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """What the strategy picks."""
        return strategy.select(view, n, rng, n_reserve)


HERE = Compute()
