"""Exact limits for a count in a finite population, from a sample drawn without replacement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

COVERAGE = 0.8


@dataclass(frozen=True)
class Bounds:
    """A figure with the interval that holds it as often as is said."""

    value: float
    low: float
    high: float

    def round_outwards(self, unit: float) -> Bounds:
        """With ends that are multiples of a unit, rounded outwards: what is shown must not promise more."""
        low, high = np.floor(self.low / unit + 1e-9) * unit, np.ceil(self.high / unit - 1e-9) * unit
        return Bounds(self.value, float(low), float(high))

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high


def lowest_count(n_rows: int, n_checked: int, n_found: int, risk: float) -> int:
    """The lowest number of anomalies among `n_rows` under which finding so many was no rarer than `risk`.

    It exceeds the truth with a chance of at most `risk`, whatever the truth is.
    """
    _check(n_rows, n_checked, n_found)
    most = n_rows - (n_checked - n_found)
    return _first(n_found, most, lambda count: _tail(n_rows, n_checked, count, n_found, n_checked) > risk)


def highest_count(n_rows: int, n_checked: int, n_found: int, risk: float) -> int:
    """The highest number of anomalies under which finding so few was no rarer than `risk`."""
    return n_rows - lowest_count(n_rows, n_checked, n_checked - n_found, risk)


def _tail(n_rows: int, n_checked: int, n_anomalies: int, low: int, high: int) -> float:
    """The chance that a sample holds from `low` to `high` of the anomalies: a sum of hypergeometric terms."""
    low, high = max(low, n_checked - (n_rows - n_anomalies), 0), min(high, n_anomalies, n_checked)
    if low > high:
        return 0.0
    found = np.arange(low, high + 1)
    ways = _log_choose(n_anomalies, found) + _log_choose(n_rows - n_anomalies, n_checked - found)
    return float(np.exp(ways - _log_choose(n_rows, np.array(n_checked))).sum())


def _log_choose(n: int, k: np.ndarray) -> np.ndarray:
    from scipy.special import gammaln  # takes a while to import, which labelling must not wait for

    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number at which a condition holds that goes on to hold; `high` at the latest."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _check(n_rows: int, n_checked: int, n_found: int) -> None:
    if not 0 <= n_found <= n_checked <= n_rows:
        raise ValueError(f"Of {n_rows} rows, {n_checked} checked and {n_found} found cannot be; give counts in order.")
