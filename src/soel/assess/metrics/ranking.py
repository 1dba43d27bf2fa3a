"""Detection figures, all in [0, 1]."""

from __future__ import annotations

import numpy as np

from soel.types import Floats


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
