"""Every row as if normal: the warm-up, and training without an expert."""

from __future__ import annotations

from soel.networks.objectives.base import Objective, all_on_normal
from soel.types import ItemWeights, PoolView


class AllNormal(Objective):
    """Labels are ignored; all rows are normal."""

    uses_labels = False

    def labelled(self, view: PoolView) -> None:
        """Left out."""
        return

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """All normal."""
        return all_on_normal(len(view))
