"""How far annotators agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soel.assess.metrics import cohen_kappa, fleiss_kappa
from soel.session.state import SessionState
from soel.types import ANOMALY, NORMAL


@dataclass(frozen=True)
class Agreement:
    """Agreement beyond chance over the items that two or more annotators labelled.

    method: 'cohen' for two annotators, 'fleiss' for more, 'none' where nobody shares an item. kappa: 1 is full
    agreement, 0 what chance gives; None where it is undefined (nothing shared, or only one word was ever said).
    """

    method: str
    kappa: float | None
    annotators: tuple[str, ...]
    n_items: int
    n_same: int


def measure_agreement(state: SessionState) -> Agreement:
    """The agreement of all annotators who share items."""
    shared = [
        {vote.who: vote.label for vote in answered.votes if vote.label is not None}
        for answered in state.answers.values()
        if answered.n_labels > 1
    ]
    names = tuple(sorted({who for labels in shared for who in labels}))
    n_same = sum(len(set(labels.values())) == 1 for labels in shared)
    if not shared:
        return Agreement("none", None, names, 0, 0)
    if len(names) == 2:
        first, second = (np.array([labels[who] for labels in shared]) for who in names)
        return Agreement("cohen", _finite(cohen_kappa(first, second)), names, len(shared), n_same)
    counts = np.array([[list(labels.values()).count(code) for code in (NORMAL, ANOMALY)] for labels in shared])
    return Agreement("fleiss", _finite(fleiss_kappa(counts)), names, len(shared), n_same)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
