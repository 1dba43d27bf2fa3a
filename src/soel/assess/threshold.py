"""Where scores become alarms: a class a rule, written the same in Python and on the command line.

A new rule is a class here and its name in `RULES`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from soel.assess.conformal import Reference
from soel.errors import ConfigError
from soel.text import Message
from soel.types import UNLABELLED, Floats, Labels

NEVER = float(np.finfo(np.float32).max)  # a cut above every score
WITHDRAWN = Message("promise.withdrawn")


@dataclass(frozen=True)
class ThresholdRule(ABC):
    """Puts the cut above which a score is an alarm. `str` of a rule reads back by `parse_threshold`.

    name: before the equals sign. example: as text. help: what it does. is_guarantee: whether its promise holds
    whenever the assumptions that it names do.
    """

    value: float = 0.0

    name: ClassVar[str]
    example: ClassVar[str]
    help: ClassVar[str]
    is_guarantee: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{self.name}={self.value:g}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The rule with the number behind the equals sign: a share."""
        value = _float(text)
        if not 0 <= value <= 1:
            raise ConfigError(f"The threshold rule {cls.name!r} needs a share from 0 to 1, got {text!r}.")
        return cls(value)

    @abstractmethod
    def cut(
        self,
        scores: Floats,
        contamination: float,
        probabilities: Floats,
        reference: Reference | None = None,
        labels: Labels | None = None,
    ) -> float:
        """The threshold for a pool's scores (N,), its contamination and its anomaly probabilities (N,).

        reference: what stands for the scores of new normal items; the pool's own where there is none. labels: (N,) of
        the pool; what is known of labelled items says nothing about the alarms of others.
        """

    def count(self, n_scored: int) -> int | None:
        """How many of the scored items raise an alarm, where the rule says it; None where the pool's cut does."""
        return None

    @abstractmethod
    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        """What is said of the alarms. can_alarm: whether any score raises one. n_scored: items, if they are counted."""


class EstimatedCount(ThresholdRule):
    """As many alarms in the pool as anomalies are estimated."""

    name, example = "contamination", "contamination"
    help = "as many alarms as anomalies are estimated"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, text: str) -> Self:
        return cls()

    def cut(self, scores: Floats, contamination: float, *_: Any, **__: Any) -> float:
        """The quantile at 1 - contamination."""
        return float(np.quantile(scores, 1 - np.clip(contamination, 0, 1)))

    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        return Message("promise.contamination")


class FixedShare(ThresholdRule):
    """A fixed share of the pool."""

    name, example = "share", "share=0.02"
    help = "a fixed share of the pool"

    def cut(self, scores: Floats, *_: Any, **__: Any) -> float:
        """The quantile at 1 - value."""
        return float(np.quantile(scores, 1 - self.value))

    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        return Message.of("promise.share", rate=self.value)


class FixedCount(ThresholdRule):
    """A number of alarms in what is scored."""

    name, example = "alarms", "alarms=50"
    help = "a number of alarms in what is scored"

    @classmethod
    def parse(cls, text: str) -> Self:
        value = _float(text)
        if not 0 <= value < math.inf or value != int(value):
            raise ConfigError(f"The threshold rule {cls.name!r} needs a whole number from 0, got {text!r}.")
        return cls(value)

    def cut(self, scores: Floats, *_: Any, **__: Any) -> float:
        """So many of the pool's scores lie above it."""
        return _above(scores, int(self.value))

    def count(self, n_scored: int) -> int:
        """The number itself, as far as there are items."""
        return min(int(self.value), n_scored)

    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        return Message.of("promise.alarms", n=int(self.value) if n_scored is None else self.count(n_scored))


class FalseAlarmRate(ThresholdRule):
    """The lowest cut above which conformal p-values are at most the rate."""

    name, example = "false-alarms", "false-alarms=0.01"
    help = "at most this share of new normal items"
    is_guarantee = True

    def cut(
        self,
        scores: Floats,
        contamination: float,
        probabilities: Floats,
        reference: Reference | None = None,
        labels: Labels | None = None,
    ) -> float:
        """Above everything where too few rows could tell."""
        known = reference or Reference.of(scores)
        cut = known.cut(self.value)
        if cut == -np.inf:
            return float(np.nextafter(min(scores.min(), known.scores.min()), -np.inf))
        return NEVER if cut == np.inf else cut

    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        """On average over new normal items; none where the pool is too small for it."""
        if can_alarm:
            return Message.of("promise.false_alarms", rate=self.value)
        if not self.value:
            return Message("promise.no_pool")
        return Message.of("promise.too_small", rate=self.value, n=math.ceil(1 / self.value - 1e-9) - 1)


class FalseDiscoveryRate(ThresholdRule):
    """The longest list whose expected share of false alarms, by the probabilities, is at most the rate.

    Where the pool has no such list, a new row alone has to be an anomaly with probability 1 - rate at least.
    """

    name, example = "fdr", "fdr=0.1"
    help = "at most this share of false ones among the alarms, by the probability"

    def cut(
        self,
        scores: Floats,
        contamination: float,
        probabilities: Floats,
        reference: Reference | None = None,
        labels: Labels | None = None,
    ) -> float:
        """Among the unlabelled."""
        free = np.ones(len(scores), bool) if labels is None else labels == UNLABELLED
        order = np.argsort(-scores[free], kind="stable")
        false_share = np.cumsum(1 - probabilities[free][order]) / np.arange(1, len(order) + 1)
        within = np.flatnonzero(false_share <= self.value)
        return _above(scores[free], int(within[-1]) + 1) if len(within) else self._where_sure(scores, probabilities)

    def _where_sure(self, scores: Floats, probabilities: Floats) -> float:
        """A cut above the pool's scores (N,); probabilities (N,) are a logistic curve of the score."""
        low, high = int(scores.argmin()), int(scores.argmax())
        odds = np.log(np.clip(probabilities, 1e-12, 1 - 1e-12) / np.clip(1 - probabilities, 1e-12, 1))
        rise = float(odds[high] - odds[low])
        if self.value <= 0 or not rise > 0:
            return NEVER
        wanted = float(np.log((1 - self.value) / self.value) - odds[low])
        return float(min(max(scores[high], scores[low] + wanted * (scores[high] - scores[low]) / rise), NEVER))

    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        return Message.of("promise.fdr", rate=self.value)


class CostRatio(ThresholdRule):
    """An alarm where it costs less than silence: 1 - p against p times the cost of a miss in false alarms."""

    name, example = "cost", "cost=10:1"
    help = "what a miss costs beside a false alarm"

    def __str__(self) -> str:
        return f"{self.name}={self.value:g}:1"

    @classmethod
    def parse(cls, text: str) -> Self:
        """MISS:ALARM."""
        miss, _, alarm = text.partition(":")
        costs = _float(miss), _float(alarm)
        if not all(0 < cost < math.inf for cost in costs):
            raise ConfigError(f"The threshold rule 'cost' needs two positive costs, MISS:ALARM, got {text!r}.")
        return cls(costs[0] / costs[1])

    def cut(self, scores: Floats, contamination: float, probabilities: Floats, *_: Any, **__: Any) -> float:
        """By the number of rows of the pool where an alarm pays."""
        return _above(scores, int((probabilities * (1 + self.value) > 1).sum()))

    def promise(self, can_alarm: bool = True, n_scored: int | None = None) -> Message:
        return Message.of("promise.cost", ratio=self.value)


RULES: dict[str, type[ThresholdRule]] = {
    rule.name: rule for rule in (EstimatedCount, FixedShare, FixedCount, FalseAlarmRate, FalseDiscoveryRate, CostRatio)
}


def parse_threshold(text: str) -> ThresholdRule:
    """A rule from its text, such as 'contamination' or 'share=0.02'."""
    if not isinstance(text, str):
        raise ConfigError(
            f"threshold must be a rule as text, such as 'contamination', 'alarms=20', 'share=0.02', got {text!r}."
        )
    name, _, number = text.strip().partition("=")
    rule = RULES.get(name)
    if rule is None or ("=" in rule.example) != bool(number):
        choices = "; ".join(f"{each.example}: {each.help}" for each in RULES.values())
        raise ConfigError(f"{text!r} is not a threshold rule. Choose one of: {choices}.")
    return rule.parse(number)


def promise_document(
    rule: ThresholdRule, has_drifted: bool = False, can_alarm: bool = True, n_scored: int | None = None
) -> dict[str, Any]:
    """What is promised of alarms as plain values; withdrawn where the rows are not like the pool."""
    message = WITHDRAWN if has_drifted else rule.promise(can_alarm, n_scored)
    return {
        "code": message.code,
        "fields": dict(message.fields),
        "lines": [str(message)],
        "is_guaranteed": rule.is_guarantee and can_alarm,
        "is_withdrawn": has_drifted,
    }


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _above(scores: Floats, n_alarms: int) -> float:
    """A cut that `n_alarms` scores lie above, halfway to the next one; ties may take it off by some."""
    if n_alarms >= len(scores):
        return float(np.nextafter(scores.min(), -np.inf))
    ordered = np.sort(scores)[::-1]
    if n_alarms == 0:
        return float(ordered[0])
    return float((ordered[n_alarms - 1] + ordered[n_alarms]) / 2)
