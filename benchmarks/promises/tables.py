"""Whether tables keep a rate of false alarms, all runs of a table together, beside what an exact procedure would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.stats import betabinom

from soel.types import Floats

CHANCE = 0.05  # of tables and of runs, an exact procedure would be called too loud on so many at most


@dataclass(frozen=True)
class Count:
    """False alarms of one run: n_false of n_new normal rows, at a rate, by a reference of as many rows as n_reference.

    n_found of n_anomalies: new anomalies that raise an alarm.
    """

    rate: float
    n_false: int
    n_new: int
    n_reference: int
    n_found: int
    n_anomalies: int

    def law(self) -> Floats:
        """The chance (n_new + 1,) of each number of false alarms, where new normal rows and reference are exchangeable.

        The k-th highest of the reference is the cut, k the whole part of rate * (1 + n_reference); the part of new rows
        above it has a Beta distribution, so their number is Beta-binomial.
        """
        n_above = int(np.floor(self.rate * (self.n_reference + 1) + 1e-9))
        counts = np.arange(self.n_new + 1)
        if not n_above:
            return np.asarray(counts == 0, float)
        return np.asarray(betabinom.pmf(counts, self.n_new, n_above, self.n_reference + 1 - n_above))


@dataclass(frozen=True)
class Verdict:
    """Of some runs together. is_within: not more false alarms than chance allows. is_below: at most the nominal rate.

    exact_within, exact_below: how often an exact procedure, with references as large, would be.
    """

    is_within: bool
    is_below: bool
    exact_within: float
    exact_below: float


def judge_runs(counts: Sequence[Count]) -> Verdict:
    """A one-sided test of all runs together at the level CHANCE.

    Runs of a table draw their pools anew and independently, so that the chances of their sum are a convolution.
    """
    law = reduce(np.convolve, (count.law() for count in counts))
    n_false, most = sum(count.n_false for count in counts), sum(count.rate * count.n_new for count in counts)
    tails = np.cumsum(law[::-1])[::-1]  # of so many or more
    numbers = np.arange(len(law))
    return Verdict(
        bool(tails[n_false] >= CHANCE),
        n_false <= most + 1e-9,
        float(law[tails >= CHANCE].sum()),
        float(law[numbers <= most + 1e-9].sum()),
    )
