"""P-values of scores against the rows that count as normal, and lists with few false ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.types import UNLABELLED, Estimate, Floats, Labels


@dataclass(frozen=True)
class Reference:
    """Scores (m,) that stand for those of new normal rows, each with a weight (m,): how far it stands for one.

    A p-value is (1 + the weights of what scores at least as high) / (1 + all weights). Where a new normal row and the
    normal rows of the reference are exchangeable, and the weights of its anomalies are 0, a p-value is at most any rate
    that often. Anomalies that weigh make p-values larger as long as they score higher than normal rows do.
    """

    scores: Floats
    weights: Floats

    @classmethod
    def of(cls, scores: Floats) -> Reference:
        """Of scores (m,) that each stand for one normal row."""
        return cls(np.asarray(scores, np.float64), np.ones(len(scores)))

    @classmethod
    def none(cls) -> Reference:
        """Of a model that keeps none."""
        return cls.of(np.zeros(0))

    def __len__(self) -> int:  # an empty one is false: `reference or ...`
        return len(self.scores)

    def p_values(self, scores: Floats) -> Floats:
        """How often a normal row scores as high: (n,) of scores (n,)."""
        ordered, chances = self._ladder()
        return np.asarray(chances[np.searchsorted(ordered, scores, side="left")])

    def cut(self, rate: float) -> float:
        """The lowest score above which every p-value is at most `rate`; infinite where the reference is too small."""
        ordered, chances = self._ladder()
        step = len(chances) - int(np.searchsorted(chances[::-1], rate, side="right"))  # the first that fits
        if step > len(ordered):
            return float("inf")
        return float(ordered[step - 1]) if step else -float("inf")

    def _ladder(self) -> tuple[Floats, Floats]:
        """The scores (m,) in ascending order, and the p-values (m + 1,) that fall from step to step."""
        order = np.argsort(self.scores, kind="stable")
        above = np.append(1 + np.cumsum(self.weights[order][::-1])[::-1], 1.0)
        return self.scores[order], above / above[0]


def benjamini_hochberg(values: Floats, rate: float) -> np.ndarray:
    """Which p-values (n,) make the list whose expected share of false ones is at most `rate`.

    The largest k for which the k-th smallest is at most rate * k / n; it holds for independent p-values, and for
    conformal ones that share a reference.
    """
    n = len(values)
    ordered = np.sort(values)
    fits = np.flatnonzero(ordered <= rate * np.arange(1, n + 1) / n)
    return np.asarray(values <= ordered[fits[-1]]) if len(fits) else np.zeros(n, bool)


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


@dataclass(frozen=True)
class FitFigures:
    """Of the pool: items that raise an alarm, and unlabelled items whose class depends on the contamination."""

    n_alarms: int
    n_unsure: int

    @classmethod
    def of(cls, scores: Floats, labels: Labels, threshold: float, estimate: Estimate) -> FitFigures:
        """From a pool's scores and labels, both (N,)."""
        unsure = UnsureBand.of(scores, estimate.low, estimate.high).holds(scores) & (labels == UNLABELLED)
        return cls(int((scores > threshold).sum()), int(unsure.sum()))
