"""Pseudo-labels for the unlabelled rows from a classifier on the labelled embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from soel.networks.objectives.base import Objective, answered
from soel.types import ANOMALY, ItemWeights, PoolView


class NeighbourLabels(Objective):
    """Every unlabelled row takes the majority label of its nearest labelled rows."""

    needs_embeddings = True

    def __init__(self, n_neighbours: int = 1) -> None:
        self.n_neighbours = n_neighbours

    def labelled(self, view: PoolView) -> ItemWeights:
        """The expert's answers."""
        return answered(view)

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """The classifier's answers."""
        n_neighbours = min(self.n_neighbours, len(view.labelled))
        return classified(view, KNeighborsClassifier(n_neighbours))


def classified(view: PoolView, classifier: Any) -> ItemWeights:
    """Weights from a classifier's probability of 'anomaly', cut at one half."""
    labels = view.labels[view.labelled]
    if len(np.unique(labels)) < 2:  # one kind of label: everything is of that kind
        anomaly = np.full(len(view.unlabelled), float(labels[0] == ANOMALY), np.float32)
    else:
        classifier.fit(view.embeddings[view.labelled], labels)
        anomaly = (classifier.predict(view.embeddings[view.unlabelled]) == ANOMALY).astype(np.float32)
    return ItemWeights(normal=1 - anomaly, anomaly=anomaly)
