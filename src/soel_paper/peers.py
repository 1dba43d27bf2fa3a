"""What people would use instead, behind one function: fit on the pool, score its rows and new ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from soel import ConfigError
from soel.types import ANOMALY, UNLABELLED, Floats, Labels


@dataclass(frozen=True)
class FittedPeer:
    """score: of new rows, higher is more anomalous. pool: scores (N,) of the rows it was fitted on."""

    score: Callable[[Floats], Floats]
    pool: Floats


Score = Callable[[Floats], Floats]
Fit = Callable[..., Score | FittedPeer]


def isolation_forest(pool: Floats, labels: Labels, seed: int) -> Score:
    """scikit-learn's isolation forest."""
    model = IsolationForest(random_state=seed).fit(pool)
    return lambda x: -model.score_samples(x)


def local_outlier_factor(pool: Floats, labels: Labels, seed: int) -> FittedPeer:
    """scikit-learn's LOF for new rows."""
    model = LocalOutlierFactor(n_neighbors=min(20, len(pool) - 1), novelty=True).fit(pool)
    return FittedPeer(lambda x: -model.score_samples(x), -model.negative_outlier_factor_)


def one_class_svm(pool: Floats, labels: Labels, seed: int) -> Score:
    """scikit-learn's one-class SVM with its own kernel width."""
    model = OneClassSVM(gamma="scale").fit(pool)
    return lambda x: -model.score_samples(x)


def nearest_neighbours(pool: Floats, labels: Labels, seed: int, k: int = 10) -> FittedPeer:
    """The distance to the k-th nearest row of the pool, as in the paper's appendix."""
    model = NearestNeighbors(n_neighbors=min(k, len(pool) - 1)).fit(pool)
    own = model.kneighbors()[0][:, -1]  # a row is no neighbour of itself
    return FittedPeer(lambda x: np.asarray(model.kneighbors(x)[0][:, -1]), np.asarray(own))


def labelled_forest(pool: Floats, labels: Labels, seed: int) -> Score:
    """A random forest on the labelled rows; with labels of one kind it knows nothing, and all scores are 0."""
    known = labels != UNLABELLED
    if len(set(labels[known].tolist())) < 2:
        return _constant
    forest = RandomForestClassifier(300, random_state=seed, class_weight="balanced")
    forest.fit(pool[known], labels[known])
    return lambda x: np.asarray(forest.predict_proba(x)[:, -1])


def ecod(pool: Floats, labels: Labels, seed: int) -> Score:
    """PyOD's ECOD: how far out a row lies in each column, without parameters."""
    from pyod.models.ecod import ECOD

    return _decision(ECOD().fit(pool))


def xgbod(pool: Floats, labels: Labels, seed: int) -> Score:
    """PyOD's XGBOD: trees on the columns and on other detectors' scores; rows without a label count as normal."""
    from pyod.models.xgbod import XGBOD

    if not (labels == ANOMALY).any():
        return _constant
    model = XGBOD(random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyOD warns of labels, and xgboost of how PyOD calls it
        model.fit(pool, (labels == ANOMALY).astype(int))
    return _decision(model)


def pyod_deep_svdd(pool: Floats, labels: Labels, seed: int) -> Score:
    """PyOD's Deep SVDD."""
    from pyod.models.deep_svdd import DeepSVDD

    return _decision(DeepSVDD(n_features=pool.shape[1], random_state=seed, verbose=0).fit(pool))


def deepod_neutral(pool: Floats, labels: Labels, seed: int) -> Score:
    """DeepOD's NeuTraL."""
    from deepod.models import NeuTraL

    return _decision(NeuTraL(random_state=seed, verbose=0, device="cpu").fit(pool))


def deepod_deep_sad(pool: Floats, labels: Labels, seed: int) -> Score:
    """DeepOD's Deep SAD with the queried labels; it knows anomalies and takes all else as unlabelled.

    It cannot be fitted without an anomaly; what is left of it then is Deep SVDD.
    """
    from deepod.models import DeepSAD, DeepSVDD

    known = (labels == ANOMALY).astype(int)
    model = (DeepSAD if known.any() else DeepSVDD)(random_state=seed, verbose=0, device="cpu")
    return _decision(model.fit(pool, known if known.any() else None))


def _decision(model: Any) -> Score:
    return lambda x: np.asarray(model.decision_function(x))


def _constant(x: Floats) -> Floats:
    return np.zeros(len(x))


DETECTORS: Mapping[str, tuple[Fit, str | None]] = {
    "isolation-forest": (isolation_forest, None),
    "lof": (local_outlier_factor, None),
    "one-class-svm": (one_class_svm, None),
    "knn": (nearest_neighbours, None),
    "supervised": (labelled_forest, None),
    "labelled-forest": (labelled_forest, None),
    "ecod": (ecod, "pyod"),
    "xgbod": (xgbod, "xgboost"),
    "pyod-deep-svdd": (pyod_deep_svdd, "pyod"),
    "deepod-neutral": (deepod_neutral, "deepod"),
    "deepod-deep-sad": (deepod_deep_sad, "deepod"),
}


def missing_package(name: str) -> str | None:
    """The package that the peer needs and that is not installed."""
    package = DETECTORS[name][1]
    return package if package is not None and find_spec(package) is None else None


def fit_peer(name: str, pool: Floats, labels: Labels, seed: int, **options: Any) -> FittedPeer:
    """A peer fitted on the pool (N, d). labels: (N,) of 1, 0, -1."""
    if name not in DETECTORS:
        raise ConfigError(f"There is no peer called {name!r}. Choose one of: {', '.join(DETECTORS)}.")
    found = DETECTORS[name][0](pool, labels, seed, **options)
    return found if isinstance(found, FittedPeer) else FittedPeer(found, found(pool))
