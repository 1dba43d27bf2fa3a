"""Where scores become alarms: rules for the threshold, written the same in Python and on the command line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.assess.quality.conformal import Reference
from soel.errors import ConfigError
from soel.types import UNLABELLED, Floats, Labels

NEVER = float(np.finfo(np.float32).max)  # a cut above every score
KINDS = {
    "contamination": "as many alarms as anomalies are estimated",
    "share": "a fixed share of the pool, as in share=0.02",
    "alarms": "a number of alarms in what is scored, as in alarms=50",
    "false-alarms": "at most this share of new normal items, as in false-alarms=0.01",
    "fdr": "at most this share of false ones among the alarms, by the probability, as in fdr=0.1",
    "cost": "what a miss costs beside a false alarm, as in cost=10:1",
}


@dataclass(frozen=True)
class ThresholdRule:
    """One of KINDS with its number. A score above the cut is an alarm."""

    kind: str = "contamination"
    value: float | None = None

    def __str__(self) -> str:
        if self.kind == "cost":
            return f"cost={self.value:g}:1"
        return self.kind if self.value is None else f"{self.kind}={self.value:g}"

    @property
    def n_alarms(self) -> int | None:
        """How many items raise an alarm, where the rule says a number of them; else None."""
        return int(self.value or 0) if self.kind == "alarms" else None

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
        if self.value is None:
            return float(np.quantile(scores, 1 - np.clip(contamination, 0, 1)))
        if self.kind == "share":
            return float(np.quantile(scores, 1 - self.value))
        if self.kind == "alarms":
            return _above(scores, int(self.value))
        if self.kind == "fdr":
            free = np.ones(len(scores), bool) if labels is None else labels == UNLABELLED
            n_listed = _count_listed(scores[free], probabilities[free], self.value)
            return _above(scores[free], n_listed) if n_listed else _where_sure(scores, probabilities, self.value)
        if self.kind == "cost":  # an alarm costs 1 - p, silence p times the value
            return _above(scores, int((probabilities * (1 + self.value) > 1).sum()))
        return _tolerating(scores, reference or Reference.of(scores), self.value)


def parse_threshold(text: str) -> ThresholdRule:
    """A rule from its text: 'contamination', 'share=0.02', 'alarms=50', 'false-alarms=0.01', 'fdr=0.1', 'cost=10:1'."""
    kind, _, number = text.strip().partition("=")
    if kind not in KINDS or (kind == "contamination") != (number == ""):
        choices = "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())
        raise ConfigError(f"{text!r} is not a threshold rule. Choose one of: {choices}.")
    if kind == "contamination":
        return ThresholdRule()
    if kind == "cost":
        return ThresholdRule(kind, _ratio(number))
    return ThresholdRule(kind, _number(kind, number))


def _number(kind: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if kind == "alarms" and 0 <= value < np.inf and value == int(value):
        return value
    if kind != "alarms" and 0 <= value <= 1:
        return value
    wanted = "a whole number from 0" if kind == "alarms" else "a share from 0 to 1"
    raise ConfigError(f"The threshold rule {kind!r} needs {wanted}, got {text!r}.")


def _ratio(text: str) -> float:
    """How many false alarms one miss is worth."""
    miss, _, alarm = text.partition(":")
    try:
        costs = float(miss), float(alarm)
    except ValueError:
        costs = (0.0, 0.0)
    if not all(0 < cost < np.inf for cost in costs):
        raise ConfigError(f"The threshold rule 'cost' needs two positive costs, MISS:ALARM, got {text!r}.")
    return costs[0] / costs[1]


def _above(scores: Floats, n_alarms: int) -> float:
    """A cut that `n_alarms` scores lie above, halfway to the next one; ties may take it off by some."""
    if n_alarms >= len(scores):
        return float(np.nextafter(scores.min(), -np.inf))
    ordered = np.sort(scores)[::-1]
    if n_alarms == 0:
        return float(ordered[0])
    return float((ordered[n_alarms - 1] + ordered[n_alarms]) / 2)


def _tolerating(scores: Floats, reference: Reference, rate: float) -> float:
    """The lowest cut above which p-values stay within the rate; above everything where too few rows could tell."""
    cut = reference.cut(rate)
    if cut == -np.inf:
        return float(np.nextafter(min(scores.min(), reference.scores.min()), -np.inf))
    return NEVER if cut == np.inf else cut


def _where_sure(scores: Floats, probabilities: Floats, rate: float) -> float:
    """A cut above the pool's scores (N,), from which on a new row alone would be false with a chance of the rate.

    Probabilities (N,) are a logistic curve of the score.
    """
    low, high = int(scores.argmin()), int(scores.argmax())
    odds = np.log(np.clip(probabilities, 1e-12, 1 - 1e-12) / np.clip(1 - probabilities, 1e-12, 1))
    rise = float(odds[high] - odds[low])
    if rate <= 0 or not rise > 0:
        return NEVER
    wanted = float(np.log((1 - rate) / rate) - odds[low])
    return float(min(max(scores[high], scores[low] + wanted * (scores[high] - scores[low]) / rise), NEVER))


def _count_listed(scores: Floats, probabilities: Floats, rate: float) -> int:
    """The largest number of alarms of which the expected share of false ones stays within the rate."""
    order = np.argsort(-scores, kind="stable")
    false_share = np.cumsum(1 - probabilities[order]) / np.arange(1, len(scores) + 1)
    within = np.flatnonzero(false_share <= rate)
    return int(within[-1]) + 1 if len(within) else 0
