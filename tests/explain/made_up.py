"""Explainers of scores that are known by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from soel.detect.detector import NOTHING, Detector
from soel.explain import Explainer, Explanation, RowExplanation
from soel.model import Blend
from soel.tables.column import Values
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
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


@dataclass(frozen=True)
class AsTheyAre:
    """Columns, called by their numbers, of one feature each."""

    used_columns: tuple[str, ...]

    @property
    def column_of(self) -> Rows:
        return np.arange(len(self.used_columns))

    def match(self, frame: Frame) -> Mapping[str, Values]:
        return frame.columns


def table(rows: Floats) -> Frame:
    return Frame({str(at): np.asarray(column, np.float64) for at, column in enumerate(rows.T)}, named=True)


def explainer(
    pool: Floats, score: Score, threshold: float, labels: Labels | None = None, known: Score | None = None
) -> Explainer:
    pool = np.asarray(pool, np.float32)
    blend, encoder = Blend(ByHand(score, known)), cast(Encoder, AsTheyAre(tuple(map(str, range(pool.shape[1])))))
    unknown = np.full(len(pool), UNLABELLED, np.int8)
    told = unknown if labels is None else labels
    return Explainer(blend, encoder, table(pool), pool, blend.score(pool), told, threshold)


def explain(made: Explainer, rows: Floats) -> Explanation:
    rows = np.asarray(rows, np.float32)
    return made.explain(table(rows), rows)


def parts(found: RowExplanation) -> tuple[tuple[int, ...], ...]:
    """The columns of each reason, by number."""
    return tuple(tuple(map(int, reason.columns)) for reason in found.reasons)


def changed_score(found: RowExplanation) -> float:
    return found.baseline + found.remainder
