"""P-values of scores against the rows that count as normal, and lists with few false ones."""

from __future__ import annotations

import numpy as np

from soel.types import Floats

ROUNDING = 1e-9


def p_values(scores: Floats, reference: Floats) -> Floats:
    """How often a normal row scores as high: (n,) of scores (n,) against a reference (m,).

    (1 + the reference rows that score at least as high) / (1 + m). Where a new normal row and the normal rows of the
    reference are exchangeable, a p-value is below any rate at most that often; anomalies in the reference make it
    larger as long as they score higher than normal rows do, so trimming the known ones sharpens it.
    """
    ordered = np.sort(reference)
    return np.asarray((1 + len(ordered) - np.searchsorted(ordered, scores, side="left")) / (1 + len(ordered)))


def trim(reference: Floats, suspicion: Floats) -> Floats:
    """The reference without as many rows as are suspected to be anomalies, the highest scores first.

    reference: (m,) scores. suspicion: (m,) the chance of each to be an anomaly. From the highest score down a row is
    left out whenever the chances so far add up to another whole.
    """
    order = np.argsort(-reference, kind="stable")
    n_suspected = np.floor(np.cumsum(suspicion[order]) + ROUNDING)
    return np.asarray(reference[np.sort(order[np.diff(n_suspected, prepend=0) == 0])])


def cut_at_rate(rate: float, reference: Floats) -> float:
    """The lowest score above which every p-value is at most `rate`; infinite where the reference is too small."""
    possible = np.arange(1, len(reference) + 2) / (1 + len(reference))  # p-values, by how many score as high
    n_above = int(np.searchsorted(possible, rate, side="right")) - 1
    if n_above < 0:
        return float("inf")
    return -float("inf") if n_above >= len(reference) else float(np.sort(reference)[len(reference) - 1 - n_above])


def benjamini_hochberg(values: Floats, rate: float) -> np.ndarray:
    """Which p-values (n,) make the list whose expected share of false ones is at most `rate`.

    The largest k for which the k-th smallest is at most rate * k / n; it holds for independent p-values, and for
    conformal ones that share a reference.
    """
    n = len(values)
    ordered = np.sort(values)
    fits = np.flatnonzero(ordered <= rate * np.arange(1, n + 1) / n)
    return np.asarray(values <= ordered[fits[-1]]) if len(fits) else np.zeros(n, bool)
