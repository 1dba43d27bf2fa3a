"""Everything the report shows, as plain values: the room knows no session, model or file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from soel.errors import DataError, LabelError
from soel.types import ANOMALY, NORMAL, UNLABELLED, Estimate, Floats, Interval, Labels, Rows


@dataclass(frozen=True)
class Setup:
    """How the result was made. data: the name of the data. made_of: what an item has or is, such as '4 columns'.

    columns: the name of each column, how it was read and what it became.
    """

    data: str
    made_of: str
    profile: str
    seed: int
    backbone: str
    columns: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True)
class PoolFacts:
    """The pool: ids (N,), scores (N,), labels (N,) of 1, 0, -1, and embeddings (N, D) for the map."""

    ids: Sequence[str]
    scores: Floats
    labels: Labels
    embeddings: Floats

    def __post_init__(self) -> None:
        self._check_lengths()
        if not np.isfinite(self.scores).all():
            n_bad = int((~np.isfinite(self.scores)).sum())
            raise DataError(f"{n_bad} scores are not finite numbers. Score the pool again before reporting.")
        if not np.isin(self.labels, (ANOMALY, NORMAL, UNLABELLED)).all():
            codes = sorted({int(code) for code in np.unique(self.labels)})
            raise LabelError(f"Labels must be 1 (anomaly), 0 (normal) or -1 (unlabelled), got {codes}. Recode them.")

    def _check_lengths(self) -> None:
        lengths = [len(self.ids), len(self.scores), len(self.labels), len(self.embeddings)]
        if len(set(lengths)) > 1 or not lengths[0]:
            raise DataError(
                f"Ids, scores, labels and embeddings must be equally many and at least one, got {lengths}. "
                "Pass one of each per item."
            )
        if np.ndim(self.embeddings) != 2:
            raise DataError(f"Embeddings must be (N, D), got {np.shape(self.embeddings)}. Pass one row per item.")

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def labelled(self) -> Rows:
        """Positions of the items that have a label."""
        return np.flatnonzero(self.labels != UNLABELLED)


@dataclass(frozen=True)
class Threshold:
    """Where the alarm starts, the rule that put it there, and how many alarms to expect in the pool."""

    value: float
    rule: str
    n_alarms: int


@dataclass(frozen=True)
class AnsweredItem:
    """One query, with the score and the odds of being drawn that it had when it was asked.

    answer: 'normal', 'anomaly', or what else was said.
    """

    item: str
    answer: str
    score: float
    round: int = 1
    odds: float | None = None


@dataclass(frozen=True)
class Standout:
    """A column in which an item differs: its value and what is typical."""

    column: str
    value: str | float
    typical: str | float


@dataclass(frozen=True)
class Picture:
    """A small JPEG or PNG of an item. has_map: its unusual places are drawn over it."""

    content: bytes
    has_map: bool


@dataclass(frozen=True)
class TopItem:
    """One of the most anomalous items. label: 'normal', 'anomaly', 'unlabelled'. is_anomaly: an alarm.

    reasons: what raises its score, a sentence each; where they are known, they stand for the standouts.
    """

    item: str
    score: float
    rank: int
    label: str
    is_anomaly: bool
    standouts: Sequence[Standout] = ()
    reasons: Sequence[str] = ()
    picture: Picture | None = None


@dataclass(frozen=True)
class MediaFacts:
    """What pictures add to a report. noun: what they are. names: what each item is called.

    show: a small picture of an item. find_events: of scores (N,) and alarms (N,).
    """

    noun: str
    names: Mapping[str, str]
    show: Callable[[str], Picture]
    find_events: Callable[[Floats, np.ndarray], Sequence[Interval]]


@dataclass(frozen=True)
class MethodResult:
    """One row of a comparison, where the truth is known."""

    method: str
    auroc: float
    f1: float


@dataclass(frozen=True)
class ReportFacts:
    """The whole report.

    history[epoch][member]: training losses. queries: in the order asked. next_steps: one sentence each;
    text in `backticks` is set as code. cover_radius: the largest distance of an item to its nearest query. promises:
    what the numbers say and rest on, in_common: what the alarms have in common; one sentence each. events: alarms of
    clips, the highest first.
    """

    title: str
    created: str
    setup: Setup
    pool: PoolFacts
    contamination: Estimate
    threshold: Threshold
    cover_radius: float | None = None
    true_contamination: float | None = None
    history: Sequence[Sequence[float]] = ()
    queries: Sequence[AnsweredItem] = ()
    top: Sequence[TopItem] = ()
    comparison: Sequence[MethodResult] = ()
    next_steps: Sequence[str] = ()
    promises: Sequence[str] = ()
    in_common: Sequence[str] = ()
    events: Sequence[Interval] = ()

    @property
    def n_items(self) -> int:
        """Items in the pool."""
        return len(self.pool)
