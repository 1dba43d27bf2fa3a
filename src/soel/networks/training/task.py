"""What a member is to learn, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.types import ItemWeights, RankedWeights


@dataclass(frozen=True)
class Task:
    """What one member is to learn: which rows are labelled, what they weigh, and the rate among the rest.

    labelled: (K,) positions. on_labelled: their weights, None leaves them out.
    unlabelled: (n,) positions. on_unlabelled: fixed or ranked weights, None leaves them out.
    rate: the expected share of anomalies among the unlabelled.
    """

    labelled: np.ndarray
    on_labelled: ItemWeights | None
    unlabelled: np.ndarray
    on_unlabelled: ItemWeights | RankedWeights | None
    rate: float = 0.0
