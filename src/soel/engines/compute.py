"""The heavy steps of an engine as a port: taken on this machine, or spread over others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from soel.engines.detector import Detector
from soel.profiles import Schedule
from soel.queries.base import Strategy
from soel.training import Model, embed, fit, losses, warm_up
from soel.training.gradients import gradient_embeddings
from soel.training.loop import Task
from soel.types import Floats, PoolView, Progress, Rows, Selection


class Compute(Protocol):
    """What needs every row of the pool. Wherever it happens, the same comes out but for rounding."""

    def warm_up(self, model: Model, pool: Floats, schedule: Schedule, progress: Progress | None) -> None:
        """Train on all rows as if normal; the model is changed."""

    def fit(
        self,
        model: Model,
        pool: Floats,
        tasks: Sequence[Task],
        schedule: Schedule,
        always_summed: bool,
        progress: Progress | None,
    ) -> None:
        """Train on labelled and unlabelled rows; the model is changed."""

    def losses(self, model: Model, pool: Floats) -> Floats:
        """L0 (S, N) of all rows."""

    def score(self, detector: Detector, x: Floats) -> Floats:
        """Anomaly scores (n,) of the pool, or of other rows."""

    def embed(self, detector: Detector, pool: Floats, suspected: np.ndarray | None, seed: int) -> Floats:
        """Embeddings (N, D); with suspected rows (N,), gradients as if those were anomalies."""

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """`n` rows of the view and a reserve. rows: which rows of the pool the view shows, None for all."""


class Here:
    """On this machine."""

    def warm_up(self, model: Model, pool: Floats, schedule: Schedule, progress: Progress | None) -> None:
        """Train on all rows as if normal."""
        warm_up(model, pool, schedule, progress)

    def fit(
        self,
        model: Model,
        pool: Floats,
        tasks: Sequence[Task],
        schedule: Schedule,
        always_summed: bool,
        progress: Progress | None,
    ) -> None:
        """Train on labelled and unlabelled rows."""
        fit(model, pool, tasks, schedule, always_summed, progress)

    def losses(self, model: Model, pool: Floats) -> Floats:
        """L0 (S, N) of all rows."""
        return losses(model, pool)[0]

    def score(self, detector: Detector, x: Floats) -> Floats:
        """Anomaly scores (n,)."""
        return detector.score(x)

    def embed(self, detector: Detector, pool: Floats, suspected: np.ndarray | None, seed: int) -> Floats:
        """The members' embeddings side by side, or the space of the companion, or gradients."""
        if suspected is not None:
            return gradient_embeddings(detector.model, pool, suspected, seed)
        if detector.companion is not None:
            return detector.companion[1].space(pool)  # type: ignore[no-any-return]
        members = embed(detector.model, pool)  # (S, N, D)
        return np.ascontiguousarray(members.transpose(1, 0, 2)).reshape(len(pool), -1)

    def select(
        self, strategy: Strategy, view: PoolView, n: int, rng: np.random.Generator, n_reserve: int, rows: Rows | None
    ) -> Selection:
        """What the strategy picks."""
        return strategy.select(view, n, rng, n_reserve)


HERE = Here()
