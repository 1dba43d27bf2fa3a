"""Refinement (Hybr3): no anomaly is trained on; the closer a row is to them, the less it weighs."""

from __future__ import annotations

import numpy as np

from soel.distances import squares_to
from soel.networks.objectives.base import Objective, all_on_normal
from soel.types import ANOMALY, NORMAL, Floats, ItemWeights, PoolView

STEEPNESS = 10.0


class Refinement(Objective):
    """Weights from the distances to the centres of the queried normals and anomalies.

    Both parts are divided by N rather than by their own sizes. Without a queried anomaly, or without a
    queried normal, there is nothing to compare with: the weights are 1.
    """

    needs_embeddings = True

    def labelled(self, view: PoolView) -> ItemWeights:
        """2 sigmoid(d) for the normals; anomalies are dropped."""
        rows = view.labelled
        weights = 2 * _sigmoid(_leaning(view)[rows]) * (view.labels[rows] == NORMAL)
        return _shared(weights * len(rows) / len(view))

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """2 - 2 sigmoid(d)."""
        rows = view.unlabelled
        weights = 2 - 2 * _sigmoid(_leaning(view)[rows])
        return _shared(weights * len(rows) / len(view))


def _shared(weights: Floats) -> ItemWeights:
    plain = all_on_normal(len(weights))
    return ItemWeights(normal=weights.astype(np.float32), anomaly=plain.anomaly)


def _leaning(view: PoolView) -> Floats:
    """How much nearer each row is to the anomalies' centre: 0 when there is nothing to compare."""
    is_anomaly, is_normal = view.labels == ANOMALY, view.labels == NORMAL
    if not is_anomaly.any() or not is_normal.any():
        return np.zeros(len(view))
    x = np.asarray(view.embeddings, np.float64)
    to_normal, to_anomaly = (np.sqrt(squares_to(x, x[kind].mean(axis=0))) for kind in (is_normal, is_anomaly))
    difference = to_normal - to_anomaly
    spread = np.ptp(difference)
    return np.asarray(STEEPNESS * difference / spread if spread > 0 else difference)


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))
