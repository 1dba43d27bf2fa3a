"""Everything the report shows, as plain values: it knows no session, model or file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from soel.report.view import AlarmLine, FactLine, Histogram, InCommon, Picture
from soel.types import Floats, Interval, Labels, Rows

MOST_POINTS = 20_000
ALWAYS_SHOWN = 200  # the highest scores are never left out by the sample


@dataclass(frozen=True)
class Setup:
    """How the result was made. data: its name. rule: of the threshold.

    columns: the name of each column, how it was read and what it became.
    """

    data: str
    profile: str
    seed: int
    backbone: str
    rule: str
    columns: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True)
class ItemMap:
    """The pool from above: names (N,), points (N, 2), scores (N,), labels (N,) of 1, 0, -1."""

    names: Sequence[str]
    points: Floats
    scores: Floats
    labels: Labels

    def shown(self, rng: np.random.Generator, most: int = MOST_POINTS) -> Rows:
        """All rows, or a sample with every labelled item and the highest scores."""
        rows = np.argsort(self.scores, kind="stable")
        if len(rows) <= most:
            return rows
        kept = self.labels >= 0
        kept[rows[-ALWAYS_SHOWN:]] = True
        kept[rng.choice(np.flatnonzero(~kept), max(0, most - int(kept.sum())), replace=False)] = True
        return rows[kept[rows]]


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
class MethodResult:
    """One row of a comparison, where the truth is known."""

    method: str
    auroc: float
    f1: float


@dataclass(frozen=True)
class ReportFacts:
    """The whole report.

    history[epoch][member]: training losses. queries: in the order asked. promises: what the numbers rest on;
    next_steps: one sentence each, text in `backticks` is set as code. events: alarms of clips, the highest first.
    pictures: by item. has_maps: whether unusual places are drawn over them.
    """

    title: str
    created: str
    setup: Setup
    line: FactLine
    histogram: Histogram
    map: ItemMap
    alarms: Sequence[AlarmLine] = ()
    in_common: InCommon = field(default_factory=InCommon)
    events: Sequence[Interval] = ()
    promises: Sequence[str] = ()
    queries: Sequence[AnsweredItem] = ()
    comparison: Sequence[MethodResult] = ()
    history: Sequence[Sequence[float]] = ()
    next_steps: Sequence[str] = ()
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    has_maps: bool = False
