"""A detector that has seen many tasks before: a network reads the pool with its labels and scores rows in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from soel.detect.base import NOTHING, Detector, Options
from soel.detect.incontext.context import choose_by, choose_context, column_order, keys
from soel.detect.incontext.predictor import Context, Reading, unit_over
from soel.detect.incontext.surrogate import Student
from soel.detect.incontext.views import wide_views
from soel.detect.incontext.weights import VERSION, find_weights
from soel.detect.neighbours import Neighbours
from soel.types import ANOMALY, UNLABELLED, Chances, Floats, Labels, Rows, within

LARGE_POOL, TAUGHT_ROWS = 4000, 2000  # a larger pool has a student, taught on so many of its rows
NEIGHBOUR_ROWS = 2000  # of the pool, among which the distances are measured that stand beside the network
WITH_LABELS, WITHOUT, STUDENT = "with_labels.", "without.", "student."  # prefixes of arrays
# Chosen on five collections of tables (benchmarks/choices.md):
HALF_WEIGHT = 0.5  # labelled anomalies at which the scores with labels and without count alike
DISTANCES_WITH_LABELS, DISTANCES_WITHOUT = 0.5, 0.25  # what distances count beside the network


@dataclass(frozen=True)
class PretrainedOptions(Options):
    """context_rows: a larger pool is represented by a sample of so many rows, and its labelled rows beside them."""

    context_rows: int = 1000


@dataclass(frozen=True)
class Pretrained(Detector):
    """A few rows that stand for the pool, with their labels, and what the network makes of them.

    With a labelled anomalies and w = a / (a + 0.5) the score is

        w (network with labels + 0.5 distances with labels) + (1 - w) (network without + 0.25 distances without),

    each of the four in standard deviations over the rows without a label: answers that hold no anomaly say what is not
    wanted, and nothing of what is, so that they would mislead.

    Only the context is kept: the network reads it when a score is first asked for. Neither the order of rows nor that
    of columns plays a part. A row of the context is no neighbour of itself when it is scored.

    A large pool has a student: it learns the scores of some rows when a score is first asked for, and answers for all
    that it does not find suspicious; the network itself looks at the others. So a row's score is its own, whatever
    stands beside it.
    """

    name = "pretrained"
    version = 5
    leaves_out = True

    context: Floats  # (m, d) in the order of `columns`
    labels: Floats  # (m,)
    beyond: Floats  # (1,) how many of the last rows are labelled ones beyond the sample
    columns: Floats  # (d,) which of the given columns
    views: Floats  # (v, d, MOST_COLUMNS) of a wide table: principal axes, then groups of columns; (0, 0, 0) of another
    seed: Floats  # (1,)
    weights: Floats  # (1,) their version
    with_labels: Neighbours
    beside: Floats  # (b, d) rows among which distances are measured, in the order of `columns`; (0, d) of a saved one
    lessons: Floats  # (t, d) rows of a large pool for its student, likewise; (0, d) of another
    saved_without: Neighbours | None = None  # what was saved of `without`
    saved_student: Student | None = None  # by whoever saved the detector

    @classmethod
    def fit(
        cls, pool: Floats, labels: Labels, seed: int, share: float | None = None, options: Mapping[str, Any] = NOTHING
    ) -> Pretrained:
        """From encoded rows (N, d) and their labels (N,); the share is not looked at: the network has its own."""
        chosen = PretrainedOptions.read(options)
        pool = np.asarray(pool, np.float32)
        columns = column_order(pool)
        pool = pool[:, columns]
        if len(pool) == 1:
            pool, labels = np.repeat(pool, 2, axis=0), np.repeat(labels, 2)
        key = keys(pool, seed)
        rows, n_beyond = choose_context(key, labels, chosen.context_rows)
        beside = choose_by(key, labels, NEIGHBOUR_ROWS)
        return cls(
            context=pool[rows],
            labels=labels[rows].astype(np.float32),
            beyond=np.array([n_beyond], np.float32),
            columns=columns.astype(np.float32),
            views=wide_views(pool[rows[: len(rows) - n_beyond]], seed),
            seed=np.array([seed % 2**24], np.float32),
            weights=np.array([VERSION], np.float32),
            with_labels=Neighbours.fit(pool[beside], labels[beside], seed),
            beside=pool[beside],
            lessons=pool[choose_by(key, labels, TAUGHT_ROWS)] if len(pool) > LARGE_POOL else pool[:0],
        )

    def score(self, x: Floats) -> Floats:
        """Anomaly scores (n,) of encoded rows (n, d)."""
        return self._score_by_student(self._ordered(x), None)

    def score_changed(self, x: Floats, sources: Floats) -> Floats:
        """Scores (n,) of rows (n, d) that were put together from others (n, s, d); the context does without these.

        Such a row shares most of its values with what it was made of, and two of a kind would look suspicious.
        """
        sources = np.asarray(sources, np.float32)[:, :, self.columns.astype(np.int64)]
        return self._score_by_student(self._ordered(x), sources)

    def score_both(self, x: Floats, changed: Floats, sources: Floats) -> tuple[Floats, Floats]:
        """`score` and `score_changed`: a row that the context does not hold is made of nothing that it holds."""
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
        distances = self._distances_without(x)
        by_labels = _logits(self._read, x, x[:, None]) + DISTANCES_WITH_LABELS * distances
        without = _logits(self._plain, x, x[:, None]) + DISTANCES_WITHOUT * distances
        return np.asarray(self.label_weight * by_labels + (1 - self.label_weight) * without)

    def chances(self) -> Chances:
        """Of the rows of the context without a label."""
        free = self.context[self.labels == UNLABELLED]
        return Chances(self._look_closely(free), np.asarray(1 / (1 + np.exp(-self._read.log_odds(free)))))

    def suspicion(self, x: Floats) -> Floats:
        """Scores (n,) at the full weight of the labels, if there are any."""
        is_any = bool((self.labels != UNLABELLED).any())
        return self._with_labels(self._ordered(x)) if is_any else self._without_labels(self._ordered(x))

    def rough_score(self, x: Floats) -> Floats:
        """Scores (n,) by distances alone."""
        return self.with_labels.score(self._ordered(x))

    def find_known(self, x: Floats) -> Rows:
        """Which rows are of the context: they have been read."""
        return np.flatnonzero(np.isin(keys(self._ordered(x)), self._read.own))

    def chance(self, x: Floats) -> Floats:
        """The probability (n,) of being an anomaly, as the network was trained to tell it."""
        return np.asarray(1 / (1 + np.exp(-self._read.log_odds(self._ordered(x)))))

    def embed(self, x: Floats) -> Floats:
        """The network's last states (n, w)."""
        return self._read.states(self._ordered(x))

    def space(self, x: Floats) -> Floats:
        """Rows as standardised points (n, p), every value within +-CLIP."""
        return self._plain.points(self._ordered(x))

    @property
    def label_weight(self) -> float:
        """How far labels count in the score: 0 without a labelled anomaly, 2/3 with one, 0.95 with ten."""
        n_anomalies = float((self.labels == ANOMALY).sum())
        return n_anomalies / (n_anomalies + HALF_WEIGHT)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything it has learnt, by name."""
        own = {name: np.asarray(getattr(self, name), np.float32) for name in _own_fields()}
        parts = ((WITH_LABELS, self.with_labels), (WITHOUT, self.without), (STUDENT, self.student))
        return own | {
            prefix + name: array for prefix, part in parts if part is not None for name, array in part.arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Pretrained:
        """The detector back from its arrays."""
        own = {name: np.asarray(arrays[name], np.float32) for name in _own_fields()}
        find_weights(own["weights"].item())  # says now, not with the first row, that they are others
        with_labels, without = (Neighbours.from_arrays(within(arrays, prefix)) for prefix in (WITH_LABELS, WITHOUT))
        layers = within(arrays, STUDENT)
        student = Student(**layers) if layers else None
        nothing = np.zeros((0, len(own["columns"])), np.float32)
        return cls(
            **own,
            with_labels=with_labels,
            beside=nothing,
            lessons=nothing,
            saved_without=without,
            saved_student=student,
        )

    def _score_by_student(self, x: Floats, sources: Floats | None) -> Floats:
        """Scores (n,) by the student where there is one, and by the network where the student is suspicious."""
        if self.student is None:
            return self._look_closely(x, sources)
        distances = self.with_labels.score(x)
        scores = self.student.score(x, distances)
        closer = np.flatnonzero(scores > self.student.border)
        if len(closer):
            origin = None if sources is None else sources[closer]
            scores[closer] = self._look_closely(x[closer], origin, distances[closer])
        return scores

    def _look_closely(self, x: Floats, sources: Floats | None = None, distances: Floats | None = None) -> Floats:
        """Scores (n,) of rows in the order of `columns`.

        sources: what they were put together from, if so. distances: their scores by these, where they are known.
        """
        weight = self.label_weight
        if not weight:
            return self._without_labels(x, sources)
        by_labels = self._with_labels(x, sources, distances)
        return np.asarray(weight * by_labels + (1 - weight) * self._without_labels(x, sources))

    def _with_labels(self, x: Floats, sources: Floats | None = None, distances: Floats | None = None) -> Floats:
        distances = self.with_labels.score(x) if distances is None else distances
        middle, spread = self._unit_with_labels
        return np.asarray(_logits(self._read, x, sources) + DISTANCES_WITH_LABELS * (distances - middle) / spread)

    def _without_labels(self, x: Floats, sources: Floats | None = None) -> Floats:
        return np.asarray(_logits(self._plain, x, sources) + DISTANCES_WITHOUT * self._distances_without(x))

    def _distances_without(self, x: Floats) -> Floats:
        middle, spread = self._unit_without
        return np.asarray((self.without.score(x) - middle) / spread)

    def _ordered(self, x: Floats) -> Floats:
        return np.asarray(x, np.float32)[:, self.columns.astype(np.int64)]

    @cached_property
    def student(self) -> Student | None:
        """What answers for most rows of a large pool."""
        if self.saved_student is not None or not len(self.lessons):
            return self.saved_student
        scores = self._look_closely(self.lessons)
        return Student.teach(self.lessons, self.with_labels.score(self.lessons), scores, int(self.seed[0]))

    @cached_property
    def without(self) -> Neighbours:
        """The distances as if nobody had labelled a row, when first asked for."""
        if self.saved_without is not None:
            return self.saved_without
        return Neighbours.fit(self.beside, np.full(len(self.beside), UNLABELLED, np.int8), int(self.seed[0]))

    @cached_property
    def _unit_with_labels(self) -> tuple[float, float]:
        return self._unit_of(self.with_labels)

    @cached_property
    def _unit_without(self) -> tuple[float, float]:
        return self._unit_of(self.without)

    def _unit_of(self, distances: Neighbours) -> tuple[float, float]:
        """Mean and spread of scores by distances over the rows without a label, where these are enough."""
        return unit_over(distances.score(self.context), self.labels == UNLABELLED)

    @cached_property
    def _rows(self) -> Context:
        return Context(self.context, self.views, int(self.seed[0]), int(self.weights[0]), int(self.beyond[0]))

    @cached_property
    def _read(self) -> Reading:
        labels = self.labels.astype(np.int8)
        return Reading(self._rows, labels) if (labels != UNLABELLED).any() else self._plain

    @cached_property
    def _plain(self) -> Reading:
        return Reading(self._rows, np.full(len(self.labels), UNLABELLED, np.int8))


def _logits(reading: Reading, x: Floats, sources: Floats | None) -> Floats:
    return reading.logits(x) if sources is None else reading.changed_logits(x, sources)


def _own_fields() -> list[str]:
    parts = ("with_labels", "beside", "lessons", "saved_without", "saved_student")
    return [field.name for field in fields(Pretrained) if field.name not in parts]
