"""A share that the user knows."""

from __future__ import annotations

from collections.abc import Sequence

from soel.assess.contamination.base import ContaminationEstimator
from soel.errors import ConfigError
from soel.types import Estimate, Evidence


class Fixed(ContaminationEstimator):
    """The same share whatever the answers."""

    def __init__(self, value: float) -> None:
        if not 0 <= value <= 0.5:
            raise ConfigError(f"The contamination must lie between 0 and 0.5, got {value}.")
        self.value = value

    def estimate(self, rounds: Sequence[Evidence]) -> Estimate:
        """The number given."""
        return Estimate(self.value, self.value, self.value, "fixed")
