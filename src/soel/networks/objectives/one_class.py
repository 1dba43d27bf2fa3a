"""Labelled as answered, unlabelled as if normal (eqn:randa)."""

from __future__ import annotations

from soel.networks.objectives.base import Objective, all_on_normal, answered
from soel.types import ItemWeights, PoolView


class OneClass(Objective):
    """The expert's answers, and all other rows as normal."""

    always_summed = True

    def labelled(self, view: PoolView) -> ItemWeights:
        """The expert's answers."""
        return answered(view)

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """All normal."""
        return all_on_normal(len(view.unlabelled))
