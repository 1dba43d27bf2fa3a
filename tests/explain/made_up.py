"""Explainers of scores whose parts are known by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soel.explain import Explainer, Explanation, Ordinary, find_ordinary
from soel.explain.explain import Score
from soel.types import UNLABELLED, Floats, Rows


def explainer(pool: Floats, score: Score, column_of: Rows | None = None) -> Explainer:
    columns = np.arange(pool.shape[1]) if column_of is None else column_of
    scores = score(pool)
    positions = find_ordinary(scores, np.full(len(pool), UNLABELLED, np.int8))
    names = tuple("abcdefghij"[at] if at < 10 else f"c{at}" for at in range(columns.max() + 1))
    ordinary = Ordinary.of(pool, positions, columns)
    return Explainer(
        lambda x, changed, _: (score(x), score(changed)), lambda x, _: score(x), score, ordinary, names, scores
    )


def know(made: Explainer, score: Score) -> Explainer:
    """The same with another score of rows as they are: the model knows some."""
    return replace(made, score_both=lambda x, changed, sources: (score(x), made.score_changed(changed, sources)))


def sum_of(explanation: Explanation) -> Floats:
    return np.asarray(explanation.baseline + explanation.contributions.sum(axis=1) + explanation.remainder)
