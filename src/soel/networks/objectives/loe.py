"""Latent outlier exposure: ranked pseudo-labels for every row and a given rate, no expert."""

from __future__ import annotations

from soel.networks.objectives.base import Objective
from soel.types import PoolView, RankedWeights


class SoftLOE(Objective):
    """The suspected anomalies weigh half on each loss."""

    uses_labels = False
    pseudo_label = 0.5

    def labelled(self, view: PoolView) -> None:
        """Left out."""
        return

    def unlabelled(self, view: PoolView) -> RankedWeights:
        """Pseudo-labels by the current ranking."""
        return RankedWeights(self.pseudo_label)


class HardLOE(SoftLOE):
    """The suspected anomalies weigh on the opposing loss alone."""

    pseudo_label = 1.0
