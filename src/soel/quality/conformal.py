"""P-values of scores against the rows that count as normal, and lists with few false ones."""

from __future__ import annotations

import numpy as np

from soel.types import Floats


def p_values(scores: Floats, reference: Floats, weights: Floats | None = None) -> Floats:
    """How often a normal row scores as high: (n,) of scores (n,) against a reference (m,).

    (1 + the reference rows that score at least as high) / (1 + m). Where the new row and the reference are
    exchangeable, a p-value is below any rate at most that often. weights: (m,) how far a reference row counts, 0 for
    one that is trimmed.
    """
    order = np.argsort(reference, kind="stable")
    counted = np.ones(len(reference)) if weights is None else np.asarray(weights, np.float64)
    above = np.append(np.cumsum(counted[order][::-1])[::-1], 0.0)  # from each place of the sorted reference upwards
    first = np.searchsorted(reference[order], scores, side="left")
    return np.asarray((1 + above[first]) / (1 + counted.sum()))


def cut_at_rate(rate: float, reference: Floats, weights: Floats | None = None) -> float:
    """The lowest score above which every p-value is at most `rate`; infinite where the reference is too small."""
    if not len(reference):
        return float("inf")
    places = np.unique(reference)
    just_above = np.append(places[1:], np.inf)  # a score above one place counts from the next one upwards
    allowed = p_values(just_above, reference, weights) <= rate
    if not allowed.any():
        return float("inf")
    first = int(np.argmax(allowed))
    return float(places[first]) if first else _below_all(places, reference, weights, rate)


def _below_all(places: Floats, reference: Floats, weights: Floats | None, rate: float) -> float:
    every_one = p_values(places[:1], reference, weights)[0] <= rate
    return -float("inf") if every_one else float(places[0])


def benjamini_hochberg(values: Floats, rate: float) -> np.ndarray:
    """Which p-values (n,) make the list whose expected share of false ones is at most `rate`.

    The largest k for which the k-th smallest is at most rate * k / n; it holds for independent p-values, and for
    conformal ones that share a reference.
    """
    n = len(values)
    ordered = np.sort(values)
    fits = np.flatnonzero(ordered <= rate * np.arange(1, n + 1) / n)
    return np.asarray(values <= ordered[fits[-1]]) if len(fits) else np.zeros(n, bool)
