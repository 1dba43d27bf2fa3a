"""Where scores become alarms: rules for the threshold, written the same in Python and on the command line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.errors import ConfigError
from soel.types import Floats

KINDS = {
    "contamination": "as many alarms as anomalies are estimated",
    "share": "a fixed share of the pool, as in share=0.02",
    "alarms": "a number of alarms in what is scored, as in alarms=50",
    "false-alarms": "a tolerated share of the normal items, as in false-alarms=0.01",
}


@dataclass(frozen=True)
class ThresholdRule:
    """One of KINDS with its number. A score above the cut is an alarm."""

    kind: str = "contamination"
    value: float | None = None

    def __str__(self) -> str:
        return self.kind if self.value is None else f"{self.kind}={self.value:g}"

    def cut(self, scores: Floats, contamination: float, probabilities: Floats) -> float:
        """The threshold for a pool's scores (N,), its contamination and its anomaly probabilities (N,)."""
        if self.value is None:
            return float(np.quantile(scores, 1 - np.clip(contamination, 0, 1)))
        if self.kind == "share":
            return float(np.quantile(scores, 1 - self.value))
        if self.kind == "alarms":
            return _above(scores, int(self.value))
        return _tolerating(scores, probabilities, self.value)


def parse_threshold(text: str) -> ThresholdRule:
    """A rule from its text: 'contamination', 'share=0.02', 'alarms=50' or 'false-alarms=0.01'."""
    kind, _, number = text.strip().partition("=")
    if kind not in KINDS or (kind == "contamination") != (number == ""):
        choices = "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())
        raise ConfigError(f"{text!r} is not a threshold rule. Choose one of: {choices}.")
    if kind == "contamination":
        return ThresholdRule()
    return ThresholdRule(kind, _number(kind, number))


def _number(kind: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if kind == "alarms" and value >= 0 and value == int(value):
        return value
    if kind != "alarms" and 0 <= value <= 1:
        return value
    wanted = "a whole number from 0" if kind == "alarms" else "a share from 0 to 1"
    raise ConfigError(f"The threshold rule {kind!r} needs {wanted}, got {text!r}.")


def _above(scores: Floats, n_alarms: int) -> float:
    """A cut that `n_alarms` scores lie above, halfway to the next one; ties may take it off by some."""
    if n_alarms >= len(scores):
        return float(np.nextafter(scores.min(), -np.inf))
    ordered = np.sort(scores)[::-1]
    if n_alarms == 0:
        return float(ordered[0])
    return float((ordered[n_alarms - 1] + ordered[n_alarms]) / 2)


def _tolerating(scores: Floats, probabilities: Floats, rate: float) -> float:
    """The lowest cut at which the expected share of normal items above it stays within the rate."""
    order = np.argsort(scores)[::-1]
    normals = 1 - probabilities[order]
    allowed = np.cumsum(normals) <= rate * normals.sum()
    return _above(scores, int(allowed.sum()))
