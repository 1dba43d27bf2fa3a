"""An anytime-valid test of the alarm rate, for people who look every night.

A betting e-process: with k alarms among n rows in a night, each alternative rate q bets against the largest usual rate
p with the likelihood ratio

    L_t(q) = (q / p)^k ((1 - q) / (1 - p))^(n - k),

which is expected to be at most 1 while the rate is at most p. When the rate changes is not known, so the wealth is
spread over all starts s with weights w_s = 1 / (s (s + 1)), which sum to 1:

    A_t(q) = L_t(q) (A_{t-1}(q) + w_t),    E_t = mean of A_t(q) over q + 1 - w_1 - ... - w_t.

By Ville's inequality E_t ever reaches 1 / alpha with probability at most alpha, however often it is looked at. Rates
below the smallest usual one are tested in the same way. Usual is the exact interval (Clopper-Pearson) of the first
nights' rate, which costs half of alpha: a model can know its own pool by heart. The first nights themselves are tested
against twice and half of the pool's interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALPHA = 0.05
MORE, FEWER = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0), (0.0, 0.25, 0.5, 0.75)  # times the usual rate: the alternatives
BURN_IN = 5  # nights that say what is usual
SLACK = 2.0  # how far the first nights may be from the pool
LEAST_RATE = 1e-6


@dataclass(frozen=True)
class Counts:
    """How many of the rows raise an alarm."""

    n_alarms: int
    n_rows: int


@dataclass(frozen=True)
class RateTest:
    """What the nights so far say against an unchanged alarm rate.

    evidence: E_t after the newest night; 1 / alpha or more rejects. worst: the largest E_t so far.
    usual: the interval of rates that count as unchanged now. is_more: whether more alarms than usual make the evidence.
    """

    evidence: float
    worst: float
    usual: tuple[float, float]
    is_more: bool
    alpha: float = ALPHA

    @property
    def is_rejected(self) -> bool:
        """Whether the rate has changed, at any of the nights so far."""
        return self.worst >= 1 / self.alpha


def judge_rate(pool: Counts, nights: Sequence[Counts], alpha: float = ALPHA) -> RateTest:
    """The test over nights in order; half of the wealth bets on the first `BURN_IN` nights, half on later ones."""
    first, later = nights[:BURN_IN], nights[BURN_IN:]
    low, high = _interval([pool], alpha / 2)
    usual = low / SLACK, min(high * SLACK, 1.0)
    early, late = _both_sides(first, usual), np.ones((2, 0))
    if later:
        usual = _interval(first, alpha / 2)
        late = _both_sides(later, usual)
    at_end = early[:, -1:] if first else np.ones((2, 1))
    sides = np.concatenate([(early + 1) / 2, (at_end + late) / 2], axis=1)  # (2, T): more, fewer
    wealth = sides.mean(axis=0)
    at = int(wealth.argmax()) if len(wealth) else None
    return RateTest(
        evidence=1.0 if at is None else float(wealth[-1]),
        worst=float(wealth.max(initial=1.0)),
        usual=usual,
        is_more=at is None or bool(sides[0, at] >= sides[1, at]),
        alpha=alpha,
    )


def _both_sides(nights: Sequence[Counts], usual: tuple[float, float]) -> np.ndarray:
    """E_t (2, T) against rates above and below the usual ones."""
    low, high = usual
    more = np.array([q * high for q in MORE if q * high < 1] or [(1 + high) / 2])
    return np.array([_wealth(nights, high, more), _wealth(nights, low, low * np.array(FEWER))])


def _wealth(nights: Sequence[Counts], usual: float, others: np.ndarray) -> np.ndarray:
    """E_t (T,) of one side, with others (Q,) as alternative rates."""
    p = min(max(usual, LEAST_RATE), 1 - LEAST_RATE)
    q = np.clip(others, LEAST_RATE / 10, 1 - LEAST_RATE / 10)
    log_wealth, left, found = np.full(len(q), -np.inf), 1.0, []
    for t, night in enumerate(nights, start=1):
        weight = 1 / (t * (t + 1))
        k, n = night.n_alarms, night.n_rows
        log_ratio = k * np.log(q / p) + (n - k) * np.log((1 - q) / (1 - p))
        log_wealth = np.minimum(log_ratio + np.logaddexp(log_wealth, np.log(weight)), 700.0)
        left -= weight
        found.append(np.exp(log_wealth).mean() + left)
    return np.array(found)


def _interval(nights: Sequence[Counts], risk: float) -> tuple[float, float]:
    """The exact interval of a rate."""
    from scipy.stats import beta

    k, n = sum(night.n_alarms for night in nights), sum(night.n_rows for night in nights)
    low = float(beta.ppf(risk / 2, k, n - k + 1)) if k else 0.0
    high = float(beta.ppf(1 - risk / 2, k + 1, n - k)) if k < n else 1.0
    return low, high
