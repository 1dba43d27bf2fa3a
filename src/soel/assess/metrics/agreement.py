"""Agreement of annotators beyond chance: kappa is 1 for full agreement, 0 for what chance gives."""

from __future__ import annotations

import numpy as np


def cohen_kappa(first: np.ndarray, second: np.ndarray) -> float:
    """Cohen's kappa of two annotators' labels (n,) for the same items. NaN when both say one word only."""
    first, second = np.asarray(first), np.asarray(second)
    if not len(first):
        return float("nan")
    observed = float(np.mean(first == second))
    kinds = np.union1d(first, second)
    by_chance = float(sum(np.mean(first == kind) * np.mean(second == kind) for kind in kinds))
    return _kappa(observed, by_chance)


def fleiss_kappa(counts: np.ndarray) -> float:
    """Fleiss' kappa from how many annotators gave each label to each item: (n_items, n_kinds).

    Items may have different numbers of annotators, at least two each. NaN when only one word was said.
    """
    counts = np.asarray(counts, np.float64)
    if not len(counts):
        return float("nan")
    n_annotators = counts.sum(axis=1)
    same_pairs = (counts * (counts - 1)).sum(axis=1) / (n_annotators * (n_annotators - 1))
    shares = counts.sum(axis=0) / counts.sum()
    return _kappa(float(same_pairs.mean()), float((shares**2).sum()))


def _kappa(observed: float, by_chance: float) -> float:
    if np.isclose(by_chance, 1):
        return float("nan")
    return (observed - by_chance) / (1 - by_chance)
