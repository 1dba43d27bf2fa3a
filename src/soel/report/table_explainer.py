"""Why rows of a table score as they do, in the cells of that table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from soel.explain import Explainer, Explanation, Ordinary, find_ordinary, find_reasons
from soel.learner import Blend
from soel.tables.columns import Values
from soel.tables.encoder import Encoder
from soel.tables.frame import Frame
from soel.types import Floats, Labels


@dataclass(frozen=True)
class TableExplainer:
    """Explains rows of one table by one model; made once, since it is the look at the pool that takes time.

    lenders: the rows of the pool that show what is ordinary.
    """

    explainer: Explainer
    encoder: Encoder
    lenders: Frame

    @classmethod
    def of(
        cls, blend: Blend, encoder: Encoder, pool: Frame, features: Floats, scores: Floats, labels: Labels
    ) -> TableExplainer:
        """From a pool, encoded to features (N, d), with its scores (N,) by the model and its labels (N,)."""
        positions = find_ordinary(scores, labels)
        explainer = Explainer(
            blend.score_both,
            blend.score_changed,
            blend.rough_score,
            Ordinary.of(features, positions, encoder.column_of),
            encoder.used_columns,
            np.asarray(scores),
        )
        return cls(explainer, encoder, pool.take(positions))

    def explain(self, frame: Frame, features: Floats) -> Explanation:
        """Rows with the features (n, d) that they were encoded to, explained with their reasons."""
        found = self.explainer.explain(features)
        given, positions = self.encoder.match(frame), self.explainer.ordinary.positions
        return replace(found, reasons=find_reasons(found, given, self._usual, positions))

    @cached_property
    def _usual(self) -> Mapping[str, Values]:
        return self.encoder.match(self.lenders)
