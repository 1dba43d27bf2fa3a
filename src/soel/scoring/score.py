"""What a model says of items: scores, ranks, alarms and how sure they are, for rows in memory and for batches alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from soel.assess.conformal import UnsureBand
from soel.assess.drift import AlarmCounts, Drift, judge_drift
from soel.assess.threshold import NEVER, ThresholdRule, promise_document
from soel.tables.codes import Baseline, Tally
from soel.types import Booleans, Floats, Rows


@dataclass(frozen=True)
class Scores:
    """One entry per item.

    ids: texts (n,), as a sequence or as an Arrow array.
    scores: (n,), higher is more anomalous.
    ranks: (n,), 1 is the most anomalous; equal scores are ranked in row order.
    alarms: (n,), whether an item raises an alarm.
    probabilities: (n,) of being an anomaly.
    p_values: (n,), how often a normal item scores as high.
    unsure: (n,), whether the class depends on where in its interval the contamination lies.
    """

    ids: Any
    scores: Floats
    ranks: Rows
    alarms: Booleans
    probabilities: Floats
    p_values: Floats
    unsure: Booleans

    def __len__(self) -> int:
        return len(self.scores)


def rank(scores: Floats) -> Rows:
    """The ranks (n,) of scores (n,)."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-np.asarray(scores), kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


@dataclass(frozen=True)
class Scorer:
    """A fitted model with the rule that its threshold was set by.

    model: what scores encoded rows (a `Fitted`). fingerprint: of its folder. pool_scores: (N,) of the pool.
    selected: (N,), rows that joined the pool because of their scores: new rows are not compared with them.
    rule: a number of alarms counts in what is scored; other rules have set the model's threshold on the pool.
    """

    model: Any
    fingerprint: str
    pool_scores: Floats
    rule: ThresholdRule
    selected: Booleans | None = None

    def score(self, x: Floats, patches: Floats | None = None) -> Floats:
        """Scores (n,) of encoded rows (n, d) and of the patches of pictures (n, P, D)."""
        scores: Floats = self.model.score(x, patches)
        return scores

    def judge(self, ids: Any, scores: Floats, ranks: Rows | None = None, n_rows: int | None = None) -> Scores:
        """What the model says of items with these scores (n,).

        ranks: (n,) among all `n_rows` items that are scored, where these are a part of them.
        """
        ranks = rank(scores) if ranks is None else ranks
        n_alarms = self.rule.count(n_rows or len(scores))
        alarms = self.model.alarms(scores) if n_alarms is None else ranks <= n_alarms
        said = self.model.probabilities(scores), self.model.p_values(scores), self._unsure.holds(scores)
        return Scores(ids, scores, ranks, np.asarray(alarms, bool), *said)

    def judge_drift(self, baseline: Baseline | None, tally: Tally | None, n_above: int, n_rows: int) -> Drift:
        """How rows differ from the pool, by what their columns hold and how many lie above the threshold."""
        return judge_drift(baseline, tally, AlarmCounts(n_above, n_rows, *self.count_pool()))

    def count_pool(self) -> tuple[int, int]:
        """How many rows of the pool lie above the threshold, and of how many; rows like new ones alone."""
        scores = self.pool_scores if self.selected is None else self.pool_scores[~self.selected]
        return int(self.model.alarms(scores).sum()), len(scores)

    def promise(self, drift: Drift | None, n_rows: int) -> dict[str, Any]:
        """What is promised of the alarms among so many rows, as plain values; withdrawn where these have drifted."""
        can_alarm = bool(self.model.threshold < NEVER)
        return promise_document(self.rule, drift is not None and drift.found, can_alarm, n_rows)

    @cached_property
    def _unsure(self) -> UnsureBand:
        return UnsureBand.of(self.pool_scores, self.model.estimate.low, self.model.estimate.high)
