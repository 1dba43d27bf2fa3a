"""What a fit says of its pool without a check, as it is kept with the fit and shown everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from soel.assess.quality.unsure import UnsureBand
from soel.types import UNLABELLED, Estimate, Floats, Labels


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

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FitFigures:
        """Back from plain JSON values."""
        return cls(**{name: int(value) for name, value in values.items()})
