"""What a worker does with its rows of the pool: looks at them with a model, and answers a query about them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from soel.engines.compute import HERE
from soel.engines.ray.feature_shards import FeatureShards
from soel.engines.ray.states import Form, State, restore_detector, restore_model
from soel.queries.shards import Shard
from soel.types import Floats


class Worker:
    """Rows `start` to `stop` of the pool, read when they are first needed, and kept."""

    def __init__(self, shards: FeatureShards, start: int, stop: int, form: Form) -> None:
        self._shards, self._bounds, self._form = shards, (start, stop), form
        self._points: Floats | None = None
        self._shard: Shard | None = None

    @cached_property
    def _x(self) -> Floats:
        return self._shards.read(*self._bounds)

    def losses(self, state: State) -> Floats:
        """L0 (S, n) of a model."""
        return HERE.losses(restore_model(self._form.new_model(), state), self._x)

    def score(self, state: State) -> Floats:
        """Scores (n,) of a detector."""
        return restore_detector(self._form, state).score(self._x)

    def embed(self, state: State, suspected: np.ndarray | None, seed: int) -> Floats:
        """Embeddings (n, D), which are kept for a query."""
        self._points = HERE.embed(restore_detector(self._form, state), self._x, suspected, seed)
        return self._points

    def begin_query(self, start: int, kept: np.ndarray, more: Floats) -> None:
        """Take the rows `kept` of the embeddings, and `more` after them, as rows `start` and on of the view."""
        assert self._points is not None
        self._shard = Shard(np.concatenate([self._points[kept], more]), start)

    def query(self, what: str, *given: Any) -> Any:
        """Answer by one of the shard's methods."""
        return getattr(self._shard, what)(*given)
