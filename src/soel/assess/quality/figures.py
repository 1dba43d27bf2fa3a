"""What a fit says of its pool without a check, as it is kept with the fit and shown everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from soel.assess.quality.unsure import UnsureBand
from soel.types import ANOMALY, UNLABELLED, Estimate, Floats, Labels


@dataclass(frozen=True)
class RoughFigures:
    """What a fit says of its pool without a check: alarms, how many of them are real, items that are not sure."""

    n_alarms: int
    real_low: int
    real_high: int
    n_unsure: int

    @classmethod
    def of(
        cls, scores: Floats, labels: Labels, threshold: float, probabilities: Floats, estimate: Estimate
    ) -> RoughFigures:
        """From a pool's scores, labels and probabilities, all (N,)."""
        from soel.assess.quality.alarms import real_alarms  # scipy: reading the figures back must not wait for it

        alarms, is_open = scores > threshold, labels == UNLABELLED
        real = real_alarms(probabilities[alarms & is_open], int((labels[alarms] == ANOMALY).sum()))
        unsure = UnsureBand.of(scores, estimate.low, estimate.high).holds(scores) & is_open
        return cls(int(alarms.sum()), int(real.low), int(real.high), int(unsure.sum()))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RoughFigures:
        """Back from plain JSON values."""
        return cls(**{name: int(value) for name, value in values.items()})
