"""What a worker does with its rows of the pool: looks at them with a model, and answers a query about them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from soel.ask.shards import Shard
from soel.networks import losses
from soel.networks.inference import gradient_embeddings
from soel.scoring.ray.feature_shards import FeatureShards
from soel.scoring.ray.states import Form, State, restore_blend, restore_model
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
        return losses(restore_model(self._form.new_model(), state), self._x)[0]

    def score(self, state: State) -> Floats:
        """Scores (n,) of a blend."""
        return restore_blend(self._form, state).score(self._x)

    def embed(self, state: State) -> Floats:
        """Embeddings (n, D), which are kept for a query."""
        self._points = restore_blend(self._form, state).embed(self._x)
        return self._points

    def gradients(self, state: State, suspected: np.ndarray, seed: int) -> Floats:
        """Gradients (n, D) of a model, which are kept for a query."""
        model = restore_model(self._form.new_model(), state)
        self._points = gradient_embeddings(model, self._x, suspected, seed)
        return self._points

    def begin_query(self, start: int, kept: np.ndarray, more: Floats) -> None:
        """Take the rows `kept` of the embeddings, and `more` after them, as rows `start` and on of the view."""
        assert self._points is not None
        self._shard = Shard(np.concatenate([self._points[kept], more]), start)

    def query(self, what: str, *given: Any) -> Any:
        """Answer by one of the shard's methods."""
        return getattr(self._shard, what)(*given)
