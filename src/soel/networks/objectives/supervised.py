"""Only the labelled rows count (eqn:loss)."""

from __future__ import annotations

from soel.networks.objectives.base import Objective, answered
from soel.types import ItemWeights, PoolView


class Supervised(Objective):
    """The expert's answers and nothing else."""

    def labelled(self, view: PoolView) -> ItemWeights:
        """The expert's answers."""
        return answered(view)

    def unlabelled(self, view: PoolView) -> None:
        """Left out."""
        return
