"""Explainers of scores that are known by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from soel.detect.detector import NOTHING, Detector
from soel.explain import Explainer
from soel.model import Blend
from soel.types import UNLABELLED, Floats, Labels, Rows

Score = Callable[[Floats], Floats]


@dataclass(frozen=True)
class ByHand(Detector):
    """Scores by a function; rows are compared as they are. known: adds to scores of rows that the model knows."""

    function: Score
    known: Score | None = None
    name = "by-hand"

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Self:
        raise NotImplementedError

    def score(self, x: Floats) -> Floats:
        own = np.asarray(self.function(x), np.float64)
        return own if self.known is None else own + self.known(x)

    def score_changed(self, x: Floats, sources: Floats) -> Floats:
        return np.asarray(self.function(x), np.float64)

    def space(self, x: Floats) -> Floats:
        return x


def explainer(
    pool: Floats,
    score: Score,
    threshold: float,
    column_of: Rows | None = None,
    labels: Labels | None = None,
    known: Score | None = None,
) -> Explainer:
    pool = np.asarray(pool, np.float32)
    blend = Blend(ByHand(score, known))
    unknown = np.full(len(pool), UNLABELLED, np.int8)
    columns = np.arange(pool.shape[1]) if column_of is None else column_of
    return Explainer.of(blend, pool, blend.score(pool), unknown if labels is None else labels, threshold, columns)
