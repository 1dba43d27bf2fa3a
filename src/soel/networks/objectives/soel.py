"""Semi-supervised outlier exposure: answers for Q, ranked pseudo-labels for U (eqn:loss-2)."""

from __future__ import annotations

from soel.networks.objectives.base import Objective, answered
from soel.types import ItemWeights, PoolView, RankedWeights


class SoelObjective(Objective):
    """Supervised on the labelled; the top of the unlabelled by L0 - L1 are half anomalies.

    pseudo_label: the value given to suspected anomalies. unlabelled_weight: the unlabelled mean against
    the labelled one; the paper shows that 1 is best.
    """

    def __init__(self, pseudo_label: float = 0.5, unlabelled_weight: float = 1.0) -> None:
        self.pseudo_label, self.unlabelled_weight = pseudo_label, unlabelled_weight

    def labelled(self, view: PoolView) -> ItemWeights:
        """The expert's answers."""
        return answered(view)

    def unlabelled(self, view: PoolView) -> RankedWeights:
        """Pseudo-labels by the current ranking."""
        return RankedWeights(self.pseudo_label, scale=self.unlabelled_weight)
