"""The default detector of tables, beside the same one that sees only the columns that experts named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from soel.detect.detector import NOTHING, Detector
from soel.detect.incontext.predictor import unit_over
from soel.detect.incontext.pretrained import Pretrained
from soel.types import ANOMALY, NO_NAMES, UNLABELLED, Chances, Floats, Labels, Named, Rows, within

WEIGHT = 0.5  # of the named columns beside all of them (benchmarks/choices.md)
WHOLE, PART = "whole.", "part."  # prefixes of arrays


@dataclass(frozen=True)
class NamedColumns(Detector):
    """Score = that by all d columns + 0.5 (1 - p / d) times that by the p named for anomalies, in the same unit.

    Questions are chosen by all columns: other kinds of anomalies than those that were named would else not be asked.

    columns: (p,) the named ones, of the given order.
    """

    name = "named"
    leaves_out = True

    whole: Pretrained
    part: Pretrained
    columns: Rows

    @classmethod
    def fit(
        cls,
        pool: Floats,
        labels: Labels,
        seed: int,
        share: float | None = None,
        options: Mapping[str, Any] = NOTHING,
        named: Named = NO_NAMES,
    ) -> NamedColumns:
        """From encoded rows (N, d), their labels (N,), and the columns named for some of them; without any, all."""
        pool = np.asarray(pool, np.float32)
        own = [columns for row, columns in named.items() if labels[row] == ANOMALY]
        columns = np.unique(np.concatenate(own or [np.arange(pool.shape[1])]))
        whole, part = (Pretrained.fit(x, labels, seed, share, options) for x in (pool, pool[:, columns]))
        return cls(whole, part, columns)

    def score(self, x: Floats) -> Floats:
        return self._add(self.whole.score(x), self.part.score(self._narrow(x)))

    def score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n,) of rows (n, d) that were composed of others (n, s, d): the context does without these."""
        by_part = self.part.score_changed(self._narrow(x), self._narrow(sources))
        return self._add(self.whole.score_changed(x, sources), by_part)

    def score_both(self, x: Floats, changed: Floats, sources: Floats) -> tuple[Floats, Floats]:
        by_whole = self.whole.score_both(x, changed, sources)
        by_part = self.part.score_both(*map(self._narrow, (x, changed, sources)))
        own, others = (self._add(*each) for each in zip(by_whole, by_part, strict=True))
        return own, others

    def score_unlabelled(self, x: Floats) -> Floats:
        """Scores (n,) of rows of the pool (n, d) as if each one's own label were not known."""
        return self._add(self.whole.score_unlabelled(x), self.part.score_unlabelled(self._narrow(x)))

    def chances(self) -> Chances:
        """Of the rows of the context without a label: the probability is that by all columns."""
        free = self.whole.known_rows[self.whole.labels == UNLABELLED]
        return Chances(self.score(free), self.whole.chances().probabilities)

    def without_names(self) -> tuple[Detector, Rows]:
        """That by all columns, and the named ones."""
        return self.whole, self.columns

    def query_score(self, x: Floats) -> Floats:
        """Scores (n,) by all columns, with which questions are chosen."""
        return self.whole.query_score(x)

    def rough_score(self, x: Floats) -> Floats:
        return self.whole.rough_score(x)

    def find_known(self, x: Floats) -> Rows:
        return self.whole.find_known(x)

    def space(self, x: Floats) -> Floats:
        """Rows as standardised points (n, p) by all columns."""
        return self.whole.space(x)

    def arrays(self) -> dict[str, np.ndarray]:
        parts = {WHOLE: self.whole, PART: self.part}
        own = {prefix + name: array for prefix, part in parts.items() for name, array in part.arrays().items()}
        return own | {"columns": np.asarray(self.columns, np.float32)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> NamedColumns:
        whole, part = (Pretrained.from_arrays(within(arrays, prefix)) for prefix in (WHOLE, PART))
        return cls(whole, part, np.asarray(arrays["columns"], np.int64))

    def _narrow(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)[..., self.columns]

    def _add(self, by_whole: Floats, by_part: Floats) -> Floats:
        centre, scale = self._unit
        return np.asarray(by_whole + scale * (by_part - centre))

    @cached_property
    def _unit(self) -> tuple[float, float]:
        """What brings scores by the named columns to the unit of those by all, over rows without a label."""
        rows, is_free = self.whole.known_rows, self.whole.labels == UNLABELLED
        _, whole = unit_over(self.whole.score(rows), is_free)
        centre, part = unit_over(self.part.score(self._narrow(rows)), is_free)
        return centre, WEIGHT * (1 - len(self.columns) / rows.shape[1]) * whole / part
