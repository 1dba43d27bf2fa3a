"""The third answer, 'not sure': rows whose side hangs on how many anomalies there are, which few labels leave open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.types import Floats


@dataclass(frozen=True)
class UnsureBand:
    """Scores above `low` and up to `high` are not sure; both are NaN where nothing can be said, and then all are sure.

    Were the share of anomalies at the lower end of its interval, the alarms would be the scores above `high`; at the
    upper end, those above `low`. More labels narrow the interval, and so the band.
    """

    low: float
    high: float

    @classmethod
    def of(cls, scores: Floats, least: float, most: float) -> UnsureBand:
        """Of a pool's scores (N,) and the two ends of the interval of its share of anomalies."""
        if not len(scores):
            return cls(np.nan, np.nan)
        low, high = np.quantile(scores, [1 - np.clip(most, 0, 1), 1 - np.clip(least, 0, 1)])
        return cls(float(low), float(high))

    def holds(self, scores: Floats) -> np.ndarray:
        """Which scores (n,) are not sure."""
        return np.asarray((scores > self.low) & (scores <= self.high))
