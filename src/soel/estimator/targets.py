"""The values of y as scikit-learn's scorers see them: two classes, one of which is the anomaly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soel.checks import check_labels, label_cells
from soel.errors import LabelError
from soel.estimator.notices import warn_caller
from soel.types import UNLABELLED, Booleans, Floats, Labels

ENCODED = (
    "Every row is labelled and 1 is the majority, so y is read as scikit-learn encodes the codes of outlier detectors: "
    "0 anomaly, 1 normal; label the anomalies 1 and leave rows unlabelled (-1) where this is not meant."
)


@dataclass(frozen=True)
class Codes:
    """The codes of the two classes in what a fitted detector answers; by default those of outlier detectors."""

    anomaly: int = -1
    normal: int = 1

    @property
    def classes(self) -> np.ndarray:
        """Both (2,), in order."""
        return np.sort([self.normal, self.anomaly])

    def predict(self, is_alarm: Booleans) -> np.ndarray:
        """The code of each row (n,)."""
        return np.where(is_alarm, self.anomaly, self.normal)

    def decide(self, margin: Floats) -> Floats:
        """Scores above the threshold (n,), signed so that positive means the second class."""
        return margin if self.anomaly > self.normal else -margin

    def probabilities(self, anomaly: Floats) -> Floats:
        """Probabilities (n, 2) of the classes in their order, from those (n,) of being an anomaly."""
        columns = (1 - anomaly, anomaly) if self.anomaly > self.normal else (anomaly, 1 - anomaly)
        return np.stack(columns, axis=1)


def read_targets(y: Any, n_rows: int) -> tuple[Labels, Codes]:
    """Labels (n,) of 1 anomaly, 0 normal, -1 not labelled, and the codes that y has for the two classes.

    A majority of 1 is never the anomalies, whose share is at most one half: then 1 is the normal class.
    """
    if y is None:
        return np.full(n_rows, UNLABELLED, np.int8), Codes()
    numbers = _plain_numbers(y)
    if len(numbers) == n_rows and 2 * (numbers == 1).sum() > n_rows:
        if np.isin(numbers, (-1, 1)).all():
            return (numbers == -1).astype(np.int8), Codes()
        if np.isin(numbers, (0, 1)).all():
            warn_caller(ENCODED)
            return (numbers == 0).astype(np.int8), Codes(anomaly=0, normal=1)
    return check_labels(y, n_rows), Codes(anomaly=1, normal=0)


def _plain_numbers(y: Any) -> Floats:
    """The cells of y (n,) where all of them are numbers, else none."""
    try:
        cells = label_cells(y)
        return cells.astype(np.float64) if cells.dtype.kind in "biuf" else np.zeros(0)
    except LabelError:
        return np.zeros(0)  # said by `check_labels`
