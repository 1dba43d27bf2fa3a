"""The same detector with PyOD's conventions: 1 is an anomaly, 0 is normal, higher scores are worse."""

from __future__ import annotations

from typing import Any

import numpy as np

from soel.estimator import SOEL
from soel.types import Floats


class PyODStyle:
    """Wraps a `SOEL` for code written against PyOD's detectors.

    decision_scores_: scores (N,) of the pool. labels_: 1 or 0 for each of its rows. threshold_: the cut between.
    """

    def __init__(self, detector: SOEL) -> None:
        self.detector = detector

    def fit(self, X: Any, y: Any = None) -> PyODStyle:
        """Train; y as in `SOEL.fit`."""
        self.detector.fit(X, y)
        self.decision_scores_ = self.detector.anomaly_score(X)
        self.threshold_ = self.detector.threshold_
        self.labels_ = self._codes(self.decision_scores_)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Anomaly scores (n,), higher is worse."""
        return self.detector.anomaly_score(X)

    def predict(self, X: Any) -> np.ndarray:
        """1 for anomalies, 0 for normal rows."""
        return self._codes(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, 2) of normal and anomaly."""
        anomaly = self.detector.anomaly_probability(X)
        return np.column_stack([1 - anomaly, anomaly])

    def _codes(self, scores: Floats) -> np.ndarray:
        return (scores > self.threshold_).astype(int)
