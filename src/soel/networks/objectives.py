"""Training objectives as data: what each labelled and each unlabelled item weighs on the two losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from soel.numeric import squares_to
from soel.plugins import Registry
from soel.types import ANOMALY, NORMAL, Floats, ItemWeights, PoolView, RankedWeights

OBJECTIVES = Registry(
    "objective",
    {
        "soel": "soel.networks.objectives:SoelObjective",
        "one-class": "soel.networks.objectives:OneClass",
        "supervised": "soel.networks.objectives:Supervised",
        "all-normal": "soel.networks.objectives:AllNormal",
        "loe-soft": "soel.networks.objectives:SoftLOE",
        "loe-hard": "soel.networks.objectives:HardLOE",
        "refinement": "soel.networks.objectives:Refinement",
        "neighbour-labels": "soel.networks.objectives:NeighbourLabels",
        "gaussian-process-labels": "soel.networks.objectives:GaussianProcessLabels",
    },
)

UnlabelledWeights = ItemWeights | RankedWeights | None
STEEPNESS = 10.0


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

    def labelled(self, view: PoolView) -> ItemWeights | None:
        """Weights of `view.labelled`, in that order; None leaves them out. The expert's answers, unless overridden."""
        return answered(view) if self.uses_labels else None

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


class SoelObjective(Objective):
    """Supervised on the labelled; the top of the unlabelled by L0 - L1 are half anomalies.

    pseudo_label: the value given to suspected anomalies. unlabelled_weight: the unlabelled mean against
    the labelled one; the paper shows that 1 is best.
    """

    def __init__(self, pseudo_label: float = 0.5, unlabelled_weight: float = 1.0) -> None:
        self.pseudo_label, self.unlabelled_weight = pseudo_label, unlabelled_weight

    def unlabelled(self, view: PoolView) -> RankedWeights:
        """Pseudo-labels by the current ranking."""
        return RankedWeights(self.pseudo_label, scale=self.unlabelled_weight)


class Supervised(Objective):
    """The expert's answers and nothing else."""

    def unlabelled(self, view: PoolView) -> None:
        return


class AllNormal(Objective):
    """Labels are ignored, and all rows count as unlabelled: as normal."""

    uses_labels = False

    def unlabelled(self, view: PoolView) -> ItemWeights:
        return all_on_normal(len(view))


class OneClass(Objective):
    """The expert's answers, and all other rows as normal."""

    always_summed = True

    def unlabelled(self, view: PoolView) -> ItemWeights:
        return all_on_normal(len(view.unlabelled))


class SoftLOE(Objective):
    """The suspected anomalies weigh half on each loss."""

    uses_labels = False
    pseudo_label = 0.5

    def unlabelled(self, view: PoolView) -> RankedWeights:
        """Pseudo-labels by the current ranking."""
        return RankedWeights(self.pseudo_label)


class HardLOE(SoftLOE):
    """The suspected anomalies weigh on the opposing loss alone."""

    pseudo_label = 1.0


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


class NeighbourLabels(Objective):
    """Every unlabelled row takes the majority label of its nearest labelled rows."""

    needs_embeddings = True

    def __init__(self, n_neighbours: int = 1) -> None:
        self.n_neighbours = n_neighbours

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """The classifier's answers."""
        from sklearn.neighbors import KNeighborsClassifier

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


class GaussianProcessLabels(Objective):
    """Every unlabelled row takes the more probable label under a Gaussian process.

    The kernel's length is the median distance between labelled rows and is kept: ten labels cannot tell more.
    """

    needs_embeddings = True

    def unlabelled(self, view: PoolView) -> ItemWeights:
        """The process's answers."""
        from sklearn.gaussian_process import GaussianProcessClassifier
        from sklearn.gaussian_process.kernels import RBF

        known = np.asarray(view.embeddings[view.labelled], np.float64)
        distances = np.sqrt(np.stack([squares_to(known, point) for point in known]))
        length = float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0
        return classified(view, GaussianProcessClassifier(RBF(length), optimizer=None))
