"""Detection figures, all in [0, 1]."""

from __future__ import annotations

import numpy as np

from soel.numeric import nearest_exactly
from soel.types import Floats, Rows


def auroc(is_anomaly: np.ndarray, scores: Floats) -> float:
    """The chance that an anomaly scores higher than a normal item; ties count half. NaN for one kind only."""
    from scipy.stats import rankdata  # takes a second to import, which labelling must not wait for

    truth = np.asarray(is_anomaly, bool)
    n_anomalies, n_normals = int(truth.sum()), int((~truth).sum())
    if not n_anomalies or not n_normals:
        return float("nan")
    ranks = rankdata(scores)
    return float((ranks[truth].sum() - n_anomalies * (n_anomalies + 1) / 2) / (n_anomalies * n_normals))


def f1_score(is_anomaly: np.ndarray, alarms: np.ndarray) -> float:
    """Harmonic mean of precision and recall; 0 when nothing was found."""
    truth, alarms = np.asarray(is_anomaly, bool), np.asarray(alarms, bool)
    hits = int((truth & alarms).sum())
    total = int(truth.sum() + alarms.sum())
    return 2 * hits / total if total else 0.0


def f1_at_share(is_anomaly: np.ndarray, scores: Floats) -> float:
    """F1 when as many alarms are raised as there are anomalies: the paper's figure for tables."""
    truth = np.asarray(is_anomaly, bool)
    return f1_score(truth, scores > np.quantile(scores, 1 - truth.mean()))


def cover_radius(embeddings: Floats, queried: Rows) -> float:
    """The largest distance from any row to its nearest queried row; needs no labels."""
    if not len(queried):
        return float("nan")
    x = np.asarray(embeddings, np.float64)
    return float(np.sqrt(nearest_exactly(x, x[queried])[1].max()))


def class_cover_radius(embeddings: Floats, queried: Rows, is_anomaly: np.ndarray) -> float:
    """The paper's delta (eq:delta-est): to the nearest queried row of the same kind.

    It needs all labels, so it is for experiments only; infinite when a kind that exists was never queried.
    """
    x, radius = np.asarray(embeddings, np.float64), 0.0
    for kind in np.unique(is_anomaly):
        members = np.flatnonzero(is_anomaly == kind)
        same = np.flatnonzero(np.isin(members, queried))
        if not len(same):
            return float("inf")
        radius = max(radius, cover_radius(x[members], same))
    return radius


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
