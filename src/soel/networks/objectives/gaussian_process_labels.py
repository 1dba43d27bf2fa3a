"""Pseudo-labels for the unlabelled rows from a Gaussian process on the labelled embeddings."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from soel.distances import squares_to
from soel.networks.objectives.base import Objective, answered
from soel.networks.objectives.neighbour_labels import classified
from soel.types import ItemWeights, PoolView


class GaussianProcessLabels(Objective):
    """Every unlabelled row takes the more probable label under a Gaussian process.

    The kernel's length is the median distance between labelled rows and is kept: ten labels cannot tell more.
    """

    needs_embeddings = True

    def labelled(self, view: PoolView) -> ItemWeights:
        """The expert's answers."""
        return answered(view)

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """The process's answers."""
        known = np.asarray(view.embeddings[view.labelled], np.float64)
        distances = np.sqrt(np.stack([squares_to(known, point) for point in known]))
        length = float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0
        return classified(view, GaussianProcessClassifier(RBF(length), optimizer=None))
