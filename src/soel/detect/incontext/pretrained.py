"""The default detector of tables: a trained network reads the pool with its labels and scores rows in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from soel.detect.detector import NOTHING, Detector, Options
from soel.detect.incontext.predictor import (
    EncodedContext,
    LabelledView,
    PoolContext,
    Predictor,
    encode_context,
    unit_over,
)
from soel.detect.incontext.samples import (
    MOST_COLUMNS,
    choose_context,
    choose_rows,
    column_order,
    keys,
    wide_views,
)
from soel.detect.incontext.surrogate import Surrogate
from soel.detect.incontext.weights import find_weights
from soel.detect.neighbours import Neighbours
from soel.numeric import nearest, remember
from soel.types import ANOMALY, NO_NAMES, NORMAL, UNLABELLED, Chances, Floats, Labels, Named, Rows, within

LARGE_POOL, DISTILLATION_ROWS = 4000, 2000  # a larger pool has a surrogate, fitted to the scores of so many of its rows
NEIGHBOUR_ROWS = 2000  # of the pool, among which the distances are measured that stand beside the network
# Chosen on five collections of tables (benchmarks/choices.md):
HALF_WEIGHT = 0.5  # labelled anomalies at which the scores with labels and without count alike
DISTANCES_WITH_LABELS, DISTANCES_WITHOUT = 0.5, 0.25  # what distances count beside the network
WIDE_DISTANCES_WITHOUT = 1.0  # in a table of more than MOST_COLUMNS, which the network sees in parts
NEAR = 0.1  # root mean square of standardised differences: rows so near a normal one are like it
UNSUSPICIOUS = 0.8  # quantile of the scores towards which such rows are lowered
NOTHING_NAMED = np.zeros((0, 2), np.int64)
WITH_LABELS, WITHOUT, SURROGATE = "with_labels.", "without.", "surrogate."  # prefixes of arrays


@dataclass(frozen=True)
class PretrainedOptions(Options):
    """context_rows: a larger pool is represented by a sample of so many rows, and its labelled rows beside them."""

    context_rows: int = 1000


@dataclass(frozen=True)
class Pretrained(Detector):
    """A network over a sample of the pool and its labels, and distances beside it.

    With a labelled anomalies and w = a / (a + 0.5) the score is

        w (network with labels + 0.5 distances with labels) + (1 - w) (network without + 0.25 distances without),

    each of the four in standard deviations over the rows without a label (with more than 60 columns the last weighs
    1.0): answers that hold no anomaly say what is not wanted, and nothing of what is, so that they would mislead.
    Near-duplicates of a row that was labelled normal are lowered all the same: with r the distance to the nearest of
    these, unless an anomaly is nearer, and q the 80 % quantile of the scores of rows without a label,

        score <- score - exp(-(r / 0.1)^4) max(score - q, 0).

    A row above q that is one of the sample once more with some values changed (more than half of its values are that
    row's, and more than all but 5 % of the sample have in common with another row) is also scored without that row, and
    the lower score counts: two of a kind look suspicious. A row that is labelled as an anomaly stays in sight.

    Only the context is kept: the network reads it when a score is first asked for. Neither the order of rows nor that
    of columns plays a part. A row of the context is no neighbour of itself when it is scored.

    A large pool has a surrogate: it is fitted to the scores of some rows when a score is first asked for, and scores
    all rows but the most anomalous ones, which the network scores itself. So a row's score is its own, whatever stands
    beside it.

    columns: (d,) order in which the context has the given columns. named: (k, 2) rows of the context and the columns,
    in that order, that experts named for them; the network alone learns from these. distance_rows: (b, d) rows of the
    pool, with their labels the ones of `with_labels`. distillation_rows: (t, d) of a large pool. Both are empty in a
    saved detector, which has `saved_without` and `saved_surrogate` instead.
    """

    name = "pretrained"
    version = 7
    leaves_out = True

    context: PoolContext
    labels: Labels
    columns: Rows
    with_labels: Neighbours
    distance_rows: Floats
    distillation_rows: Floats
    named: Rows
    saved_without: Neighbours | None = None
    saved_surrogate: Surrogate | None = None

    @classmethod
    def fit(
        cls,
        pool: Floats,
        labels: Labels,
        seed: int,
        share: float | None = None,
        options: Mapping[str, Any] = NOTHING,
        named: Named = NO_NAMES,
    ) -> Pretrained:
        """From encoded rows (N, d), their labels (N,), and columns named with some of these.

        The share is not looked at: the network has its own.
        """
        chosen = PretrainedOptions.read(options)
        pool = np.asarray(pool, np.float32)
        columns = column_order(pool)
        pool = pool[:, columns]
        if len(pool) == 1:
            pool, labels = np.repeat(pool, 2, axis=0), np.repeat(labels, 2)
        key = keys(pool, seed)
        part = 2 if pool.shape[1] > MOST_COLUMNS else 1  # a wide table is read once a view
        rows, n_beyond = choose_context(key, labels, chosen.context_rows // part)
        beside = choose_rows(key, labels, NEIGHBOUR_ROWS)
        views = wide_views(pool[rows[: len(rows) - n_beyond]], seed)
        is_large = len(pool) > LARGE_POOL
        place = np.argsort(columns)
        pairs = [(at, column) for at, row in enumerate(rows) for column in place[named.get(int(row), [])]]
        return cls(
            context=PoolContext(pool[rows], views, seed % 2**24, n_beyond),
            labels=labels[rows].astype(np.int8),
            columns=columns,
            with_labels=Neighbours.fit(pool[beside], labels[beside], seed),
            distance_rows=pool[beside],
            distillation_rows=pool[choose_rows(key, labels, DISTILLATION_ROWS // part)] if is_large else pool[:0],
            named=np.array(pairs, np.int64).reshape(-1, 2),
        )

    def score(self, x: Floats) -> Floats:
        return self._score(self._ordered(x), None)

    def score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n,) of rows (n, d) that were composed of others (n, s, d); the context does without these.

        Such a row shares most of its values with its sources, and two of a kind would look suspicious.
        """
        return self._score(self._ordered(x), np.asarray(sources, np.float32)[:, :, self.columns])

    def score_both(self, x: Floats, changed: Floats, sources: Floats) -> tuple[Floats, Floats]:
        """`score` and `score_changed`: a row that the context does not hold is composed of nothing that it holds."""
        known, scores = self.find_known(x), np.empty(len(x))
        new = np.setdiff1d(np.arange(len(x)), known)
        own = np.repeat(x[new, None], sources.shape[1], axis=1)
        both = self.score_changed(np.concatenate([x[new], changed]), np.concatenate([own, sources]))
        scores[known], scores[new] = self.score(x[known]), both[: len(new)]
        return scores, both[len(new) :]

    def score_unlabelled(self, x: Floats) -> Floats:
        """Scores (n,) of rows of the pool (n, d) as if each one's own label were not known.

        One pass: each row is read as a new one beside a context without it; distances do without any label.
        """
        x = self._ordered(x)
        distances = self._deviations(self.without, x)
        return self._mix(x, self.label_weight, x[:, None], (distances, distances))

    def chances(self) -> Chances:
        """Of the rows of the context without a label."""
        free = self.context.values[self.labels == UNLABELLED]
        return Chances(self._score_exactly(free), _probabilities(self._with_labels.log_odds(free)))

    def without_names(self) -> tuple[Detector, Rows]:
        """The same without names, and the columns that were named for anomalies, of the given order."""
        columns = self.columns[self.named[self.labels[self.named[:, 0]] == ANOMALY, 1]]
        plain = replace(self, named=NOTHING_NAMED, saved_surrogate=None) if len(self.named) else self
        return plain, np.unique(columns)

    def query_score(self, x: Floats) -> Floats:
        """Scores (n,) with the labels while these hold few anomalies, and the more of them the more without.

        With labels, more rows of the kinds that are known would be asked, and a quiet kind never. The weight of the
        labels falls from 1 where a quarter of them are anomalies to 0 at three quarters.
        """
        x, n_labels = self._ordered(x), int((self.labels != UNLABELLED).sum())
        share = ((self.labels == ANOMALY).sum() + 0.5) / (n_labels + 1)
        weight = float(np.clip(1.5 - 2 * share, 0, 1)) if n_labels else 0.0
        return self._mix(x, weight)

    def rough_score(self, x: Floats) -> Floats:
        return self.with_labels.score(self._ordered(x))

    def find_known(self, x: Floats) -> Rows:
        return np.flatnonzero(np.isin(keys(self._ordered(x)), self._encoded.own))

    def chance(self, x: Floats) -> Floats:
        """The probability (n,) of being an anomaly, by the network."""
        return _probabilities(self._with_labels.log_odds(self._ordered(x)))

    def space(self, x: Floats) -> Floats:
        """Rows as standardised points (n, p), every value within +-CLIP."""
        return self._encoded.points(self._ordered(x))

    @property
    def label_weight(self) -> float:
        """How far labels count in the score: 0 without a labelled anomaly, 2/3 with one, 0.95 with ten."""
        n_anomalies = int((self.labels == ANOMALY).sum())
        return n_anomalies / (n_anomalies + HALF_WEIGHT)

    def arrays(self) -> dict[str, np.ndarray]:
        rows = self.context
        own: dict[str, Any] = {
            "context": rows.values,
            "views": rows.views,
            "labels": self.labels,
            "columns": self.columns,
            "named": self.named,
        }
        own |= {"seed": rows.seed, "beyond": rows.n_beyond, "weights": rows.weights}
        parts = ((WITH_LABELS, self.with_labels), (WITHOUT, self.without), (SURROGATE, self.surrogate))
        return {name: np.asarray(value, np.float32) for name, value in own.items()} | {
            prefix + name: array for prefix, part in parts if part is not None for name, array in part.arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Pretrained:
        find_weights(float(arrays["weights"]))  # refuses other ones now, not with the first row
        values = np.asarray(arrays["context"], np.float32)
        seed, n_beyond, weights = (int(arrays[name]) for name in ("seed", "beyond", "weights"))
        with_labels, without = (Neighbours.from_arrays(within(arrays, prefix)) for prefix in (WITH_LABELS, WITHOUT))
        surrogate = within(arrays, SURROGATE)
        return cls(
            context=PoolContext(values, np.asarray(arrays["views"], np.float32), seed, n_beyond, weights),
            labels=np.asarray(arrays["labels"], np.int8),
            columns=np.asarray(arrays["columns"], np.int64),
            with_labels=with_labels,
            distance_rows=values[:0],
            distillation_rows=values[:0],
            named=np.asarray(arrays["named"], np.int64).reshape(-1, 2),
            saved_without=without,
            saved_surrogate=Surrogate.from_arrays(surrogate) if surrogate else None,
        )

    def _score(self, x: Floats, sources: Floats | None) -> Floats:
        """Scores (n,) by the surrogate where there is one, and exact ones above its border."""
        if self.surrogate is None:
            return self._score_exactly(x, sources)
        distances = self.with_labels.score(x)
        scores = self.surrogate.score(x, distances)
        above = np.flatnonzero(scores > self.surrogate.border)
        if len(above):
            scores[above] = self._score_exactly(x[above], None if sources is None else sources[above], distances[above])
        return scores

    def _score_exactly(self, x: Floats, sources: Floats | None = None, distances: Floats | None = None) -> Floats:
        """Scores (n,) of rows in the order of `columns`. distances: their scores by `with_labels`, where known."""
        by_distance = None if distances is None else self._in_deviations(self.with_labels, distances)
        scores = self._without_copied(x, self._mix(x, self.label_weight, sources, (by_distance, None)), sources)
        if not (self.labels == NORMAL).any():
            return scores
        return np.asarray(scores - self._likeness_to_normal(x) * np.maximum(scores - self._unsuspicious, 0))

    def _without_copied(self, x: Floats, scores: Floats, sources: Floats | None) -> Floats:
        """Scores (n,) lowered where a row is one of the sample once more: it is scored without that row, as that is."""
        rows = np.flatnonzero(scores > self._unsuspicious)
        copied = self._encoded.find_copied(x[rows])
        is_copy = (copied >= 0) & (self.labels[copied] != ANOMALY)
        rows, origin = rows[is_copy], self.context.values[copied[is_copy], None]
        if len(rows):
            known = origin if sources is None else np.concatenate([sources[rows], origin], axis=1)
            scores[rows] = np.minimum(scores[rows], self._mix(x[rows], self.label_weight, known))
        return scores

    def _mix(
        self,
        x: Floats,
        weight: float,
        sources: Floats | None = None,
        distances: tuple[Floats | None, Floats | None] = (None, None),
    ) -> Floats:
        """`weight` times the score with labels, plus the rest times that without; what has no weight is not computed.

        distances: of the rows with labels and without, in deviations, where they are known.
        """
        without = DISTANCES_WITHOUT if len(self.context.views) == 0 else WIDE_DISTANCES_WITHOUT
        parts = [
            (weight, self._with_labels, self.with_labels, DISTANCES_WITH_LABELS, distances[0]),
            (1 - weight, self._encoded.without_labels, None, without, distances[1]),
        ]
        parts = [part for part in parts if part[0]]
        predictors = [predictor for _, predictor, *_ in parts]
        if sources is None:
            by_network = self._encoded.outputs(predictors, x, LabelledView.logits)
        else:
            by_network = self._encoded.changed_logits(predictors, x, sources)
        total = np.zeros(len(x))
        for (part, _, fitted, share, known), said in zip(parts, by_network, strict=True):
            by_distance = self._deviations(fitted or self.without, x) if known is None else known
            total += part * (said + share * by_distance)
        return total

    def _deviations(self, fitted: Neighbours, x: Floats) -> Floats:
        """Scores (n,) by distances, in deviations over the rows of the context without a label."""
        return self._in_deviations(fitted, fitted.score(x))

    def _in_deviations(self, fitted: Neighbours, distances: Floats) -> Floats:
        middle, spread = self._unit_with_labels if fitted is self.with_labels else self._unit_without
        return np.asarray((distances - middle) / spread)

    def _likeness_to_normal(self, x: Floats) -> Floats:
        """Between 0 and 1 (n,): whether a row is a near-duplicate of one labelled normal, and nearer to no anomaly."""
        points, known = self._encoded.points(x), self._encoded.points(self.context.values)
        to_normal, to_anomaly = (nearest(points, known[self.labels == label]) for label in (NORMAL, ANOMALY))
        likeness = np.exp(-((to_normal / (NEAR * points.shape[1] ** 0.5)) ** 4))
        return np.asarray(np.where(to_normal < to_anomaly, likeness, 0.0))

    def _ordered(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)[:, self.columns]

    @cached_property
    def surrogate(self) -> Surrogate | None:
        """What scores most rows of a large pool."""
        if self.saved_surrogate is not None or not len(self.distillation_rows):
            return self.saved_surrogate
        rows = self.distillation_rows
        return Surrogate.fit(rows, self.with_labels.score(rows), self._score_exactly(rows), self.context.seed)

    @cached_property
    def without(self) -> Neighbours:
        """The distances without any label, when first asked for."""
        if self.saved_without is not None:
            return self.saved_without
        return _fit_without_labels(self.distance_rows, self.context.seed)

    @cached_property
    def _unit_with_labels(self) -> tuple[float, float]:
        return self._unit_of(self.with_labels)

    @cached_property
    def _unit_without(self) -> tuple[float, float]:
        return self._unit_of(self.without)

    @cached_property
    def _unsuspicious(self) -> float:
        free = self.context.values[self.labels == UNLABELLED]
        return float(np.quantile(self._mix(free, self.label_weight), UNSUSPICIOUS)) if len(free) else np.inf

    def _unit_of(self, distances: Neighbours) -> tuple[float, float]:
        """Mean and spread of scores by distances over the rows without a label, where these are enough."""
        return unit_over(distances.score(self.context.values), self.labels == UNLABELLED)

    @cached_property
    def _with_labels(self) -> Predictor:
        if (self.labels == UNLABELLED).all():
            return self._encoded.without_labels
        named = np.zeros(self.context.values.shape, np.float32)
        named[*self.named.T] = 1
        return Predictor(self._encoded, self.labels, named if len(self.named) else None)

    @cached_property
    def _encoded(self) -> EncodedContext:
        return encode_context(self.context)


def _probabilities(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-log_odds)))


@remember(1)
def _fit_without_labels(rows: Floats, seed: int) -> Neighbours:
    return Neighbours.fit(rows, np.full(len(rows), UNLABELLED, np.int8), seed)
