"""What SOEL is compared with: detectors of other packages behind one function, and FixMatch on augmented pictures."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from soel import ConfigError, networks
from soel.learner import Learner
from soel.model import Blend, Fitted
from soel.networks.objectives import Task
from soel.types import ANOMALY, UNLABELLED, Evidence, Floats, ItemWeights, Labels, Pool, PoolView


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


def load_own(file: str) -> Callable[..., Score]:
    """The function `fit` of a user's file.

    fit(pool, ask, budget, seed) gives what scores rows (n, d), higher is more anomalous. pool: (N, d). ask(rows) gives
    the labels of these rows of the pool, 1 for an anomaly, and no more than `budget` rows in all.
    """
    space = runpy.run_path(file)
    if not callable(space.get("fit")):
        raise ConfigError(
            f"{file} has no function fit(pool, ask, budget, seed); write one that returns a scoring function."
        )
    return space["fit"]  # type: ignore[no-any-return]


ANOMALOUS, NORMAL = 0.05, 0.3  # shares of the unlabelled that are surely the one or the other
FINE_TUNING = 5  # epochs on the answers alone, before pictures are augmented
N_DRAWS = 2  # sets of augmented pictures, used in turn: each costs a pass through the frozen network
Draw = tuple[Floats, Floats]
Picture = NDArray[np.uint8]  # (h, w[, 3])
Pictures = NDArray[np.uint8]  # (n, h, w[, 3])
SHIFT = 0.125  # of the side, at most
HOLE = 0.5  # the side of the square that is cut out, of the picture's
N_CHANGES = 2
GREY = 127


def learn_fixmatch(
    learner: Learner, warm: Blend, pool: Pool, rounds: Sequence[Evidence], labels: Labels, draws: Sequence[Draw]
) -> Fitted:
    """Go on from the warm-up: first the answers alone, then answers and guesses on augmented pictures.

    draws: (weak, strong) rows (N, d) of the pool, taken in turn. The guesses are renewed each epoch.
    """
    start = warm.network or learner.new_network(pool)
    model, schedule = start.model.copy(), learner.profile.schedule
    view = PoolView(np.zeros(len(pool)), pool.rows, labels)
    answers = learner.objective.labelled(view)

    def train(rows: Pool, guesses: ItemWeights | None, epochs: int) -> None:
        tasks = [Task(view.labelled, answers, view.unlabelled, guesses)] * model.n_members
        networks.fit(model, rows.rows, tasks, replace(schedule, epochs=epochs), False)

    train(pool, None, FINE_TUNING)
    slight = [replace(pool, rows=weakly) for weakly, _ in draws]
    mixed = [replace(pool, rows=np.where((labels != UNLABELLED)[:, None], *draw)) for draw in draws]
    for epoch in range(schedule.epochs):
        drawn = epoch % len(draws)
        scores = networks.losses(model, slight[drawn].rows)[0].mean(axis=0)[view.unlabelled]
        train(mixed[drawn], confident(scores), 1)
    return learner.finish(model, pool, labels, learner.estimate(rounds))


def confident(scores: Floats) -> ItemWeights:
    """Top scores are anomalies, low ones normal, and what lies between weighs nothing."""
    anomaly = scores > np.quantile(scores, 1 - ANOMALOUS)
    normal = scores < np.quantile(scores, NORMAL)
    return ItemWeights(normal=normal.astype(np.float32), anomaly=anomaly.astype(np.float32))


def augment(pictures: Pictures, to_rows: Callable[[Pictures], Floats], seed: int) -> list[Draw]:
    """Several draws of weakly and strongly augmented pictures, as rows."""
    draws = []
    for number in range(N_DRAWS):
        rng = np.random.default_rng([seed, number, 2])
        draws.append((np.array(to_rows(weak(pictures, rng))), np.array(to_rows(strong(pictures, rng)))))
    return draws


def weak(pictures: Pictures, rng: np.random.Generator) -> Pictures:
    """Mirrored half of the time and shifted a little; what a shift uncovers is reflected."""
    return np.stack([_move(picture, rng) for picture in pictures])


def strong(pictures: Pictures, rng: np.random.Generator) -> Pictures:
    """Moved, changed in two random ways, and with a square cut out (Cutout)."""
    return np.stack([_cut(_change(_move(picture, rng), rng), rng) for picture in pictures])


def _move(picture: Picture, rng: np.random.Generator) -> Picture:
    reach = max(1, round(SHIFT * min(picture.shape[:2])))
    down, across = rng.integers(0, 2 * reach + 1, 2)
    turned = picture[:, ::-1] if rng.random() < 0.5 else picture
    padded = np.pad(turned, [(reach, reach), (reach, reach), *[(0, 0)] * (picture.ndim - 2)], mode="reflect")
    return padded[down : down + picture.shape[0], across : across + picture.shape[1]]


def _change(picture: Picture, rng: np.random.Generator) -> Picture:
    from PIL import Image, ImageEnhance, ImageOps

    changes: tuple[Callable[[Any, float], Any], ...] = (
        lambda image, strength: ImageEnhance.Brightness(image).enhance(0.4 + 1.2 * strength),
        lambda image, strength: ImageEnhance.Contrast(image).enhance(0.4 + 1.2 * strength),
        lambda image, strength: ImageOps.posterize(image, 4 + int(3 * strength)),
        lambda image, strength: ImageOps.solarize(image, 128 + int(127 * strength)),
        lambda image, strength: ImageOps.autocontrast(image),
        lambda image, strength: image.rotate(60 * (strength - 0.5)),
    )
    image = Image.fromarray(np.ascontiguousarray(picture))
    for index in rng.choice(len(changes), N_CHANGES, replace=False):
        image = changes[index](image, rng.random())
    return np.asarray(image)


def _cut(picture: Picture, rng: np.random.Generator) -> Picture:
    """A grey square around a random place, which may lie partly outside."""
    height, width = picture.shape[:2]
    row, column = rng.integers(height), rng.integers(width)
    half = round(HOLE * min(height, width) / 2)
    holed = picture.copy()
    holed[max(0, row - half) : row + half, max(0, column - half) : column + half] = GREY
    return holed
