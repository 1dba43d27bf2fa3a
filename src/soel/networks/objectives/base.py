"""What an objective says: weights for the labelled and for the unlabelled rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from soel.types import ANOMALY, ItemWeights, PoolView, RankedWeights

UnlabelledWeights = ItemWeights | RankedWeights | None


class Objective(ABC):
    """Per-item weights on L0 and L1. The loss is the labelled mean plus the unlabelled mean.

    `uses_labels`: False treats every row as unlabelled. `always_summed`: both means go into one step
    even where the schedule takes two. `needs_embeddings`: whether it looks at the view's embeddings.
    `version`: raised whenever the same view gives other weights.
    """

    version: ClassVar[int] = 1
    uses_labels: bool = True
    always_summed: bool = False
    needs_embeddings: bool = False

    @abstractmethod
    def labelled(self, view: PoolView) -> ItemWeights | None:
        """Weights of `view.labelled`, in that order; None leaves them out."""

    @abstractmethod
    def unlabelled(self, view: PoolView) -> UnlabelledWeights:
        """Weights of `view.unlabelled`; None leaves them out."""


def answered(view: PoolView) -> ItemWeights:
    """The supervised weights: y on L1, 1 - y on L0."""
    anomaly = (view.labels[view.labelled] == ANOMALY).astype(np.float32)
    return ItemWeights(normal=1 - anomaly, anomaly=anomaly)


def all_on_normal(n_rows: int) -> ItemWeights:
    """Every row counts as normal."""
    return ItemWeights(normal=np.ones(n_rows, np.float32), anomaly=np.zeros(n_rows, np.float32))
