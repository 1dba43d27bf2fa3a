"""Everything the report shows, as plain values: it knows no session, model or file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soel.text import number
from soel.types import Estimate, Floats, Interval, Labels


@dataclass(frozen=True)
class Setup:
    """How the result was made. data: its name. made_of: what an item has or is, such as '4 columns'.

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
    """The pool: ids (N,), scores (N,), labels (N,) of 1, 0, -1, and points (N, 2) of a map; spread: what it keeps."""

    ids: Sequence[str]
    scores: Floats
    labels: Labels
    points: Floats
    spread: float = 1.0


@dataclass(frozen=True)
class Threshold:
    """Where the alarm starts, the rule that put it there, and how many alarms it raises in the pool."""

    value: float
    rule: str
    n_alarms: int

    @property
    def words(self) -> str:
        """Where it starts."""
        return f"score above {number(self.value)}" if math.isfinite(self.value) else "no score raises one"


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
class Strip:
    """How a column of numbers lies: heights of equal bars from 0 to 1, and where two values stand among them."""

    bars: Sequence[float]
    value: float
    usual: float

    @classmethod
    def of(cls, column: Floats, value: float, usual: float, n_bars: int = 24) -> Strip:
        """The column (N,) between its lowest and highest value; but one far from all others does not squeeze them."""
        present = column[np.isfinite(column)]
        low, high = (float(end) for end in np.quantile(present, (0.01, 0.99)))
        low, high = min(low, value, usual), max(high, value, usual)
        width = (high - low) or 1.0
        heights = np.histogram(np.clip(present, low, high), n_bars, (low, max(high, low + width)))[0]
        scaled = np.sqrt(heights / heights.max())  # a single item is still seen
        return cls(scaled.round(3).tolist(), (value - low) / width, (usual - low) / width)


@dataclass(frozen=True)
class Chip:
    """A reason in a few words, such as 'area 2022 ↑ 522', and the whole of it in a sentence."""

    text: str
    words: str
    strip: Strip | None = None


@dataclass(frozen=True)
class Picture:
    """A small JPEG or PNG of an item. has_map: its unusual places are drawn over it."""

    content: bytes
    has_map: bool


@dataclass(frozen=True)
class TopItem:
    """One of the most anomalous items. label: 'normal', 'anomaly', 'unlabelled'.

    words: why, in a sentence beside the chips; details: with all columns. resembles: which labelled item it is like.
    """

    item: str
    score: float
    rank: int
    label: str
    is_alarm: bool
    probability: float | None = None
    chips: Sequence[Chip] = ()
    words: str = ""
    details: str = ""
    resembles: str = ""
    picture: Picture | None = None


@dataclass(frozen=True)
class MethodResult:
    """One row of a comparison, where the truth is known."""

    method: str
    auroc: float
    f1: float


@dataclass(frozen=True)
class ReportFacts:
    """The whole report.

    fitted: the day of the fit. real_alarms: how many alarms are real, by a spot check of `n_checked` items.
    history[epoch][member]: training losses. queries: in the order asked. cover_radius: the largest distance of an item
    to its nearest query. promises: what the numbers rest on; in_common, patterns: what the alarms have in common;
    next_steps: one sentence each, text in `backticks` is set as code. events: alarms of clips, the highest first.
    """

    title: str
    created: str
    setup: Setup
    pool: PoolFacts
    contamination: Estimate
    threshold: Threshold
    fitted: str = ""
    real_alarms: tuple[float, float] | None = None
    n_checked: int = 0
    cover_radius: float | None = None
    true_contamination: float | None = None
    history: Sequence[Sequence[float]] = ()
    queries: Sequence[AnsweredItem] = ()
    top: Sequence[TopItem] = ()
    comparison: Sequence[MethodResult] = ()
    next_steps: Sequence[str] = ()
    promises: Sequence[str] = ()
    in_common: Sequence[str] = ()
    patterns: Sequence[str] = ()
    events: Sequence[Interval] = ()

    @property
    def n_anomalies(self) -> int:
        """Items labelled so."""
        return int((self.pool.labels == 1).sum())

    @property
    def n_normal(self) -> int:
        """Items labelled so."""
        return int((self.pool.labels == 0).sum())
