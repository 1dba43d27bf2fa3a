"""Who is compared: soel's profiles, and what people would use instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.detection.tasks import Expert
from soel import PROFILES, SOEL, Profile
from soel.types import UNLABELLED, Floats
from soel_paper.peers import fit_peer, missing_package

CLASSIFIER, EVEN = "labelled-forest", 0.5  # it gives probabilities, with a threshold of their own
USUAL_SHARE = 0.1  # alarms of a detector without a rule of its own: what scores above this share of the pool
_DEFAULT = PROFILES["default"]
_TABLES = replace(_DEFAULT.tables, detector="neighbours", contamination="kriging")
NEIGHBOURS = replace(_DEFAULT, name="neighbours", tables=_TABLES)  # the default without the network


@dataclass(frozen=True)
class Scores:
    """pool: (N,), test: (n,), higher is more anomalous. alarms: (n,), by the detector's own threshold."""

    pool: Floats
    test: Floats
    alarms: NDArray[np.bool_]


Detect = Callable[[Floats, Floats, Expert, int, int], Scores]


@dataclass(frozen=True)
class Contestant:
    """detect: from the pool, the test rows, the expert, how many may be asked, and a seed to scores.

    asks: whether labels change it. package: that it needs besides soel's own.
    """

    detect: Detect
    asks: bool = True
    package: str | None = None

    @property
    def is_missing(self) -> bool:
        """Whether its package is not installed."""
        return self.package is not None and find_spec(self.package) is None


def soel(
    pool: Floats,
    test: Floats,
    expert: Expert,
    budget: int,
    seed: int,
    profile: str | Profile,
    goal: str = "learn",
    at_once: int | None = None,
) -> Scores:
    """Soel with its own questions: so many at once, or one at a time where each knows the last answer."""
    detector = SOEL(profile, goal=goal, random_state=seed)
    at_once = at_once or (budget if profile in ("paper", "authors") else 1)
    detector.fit(pool, _ask(detector, pool, expert, budget, at_once))
    return Scores(
        detector.anomaly_score(pool), detector.anomaly_score(test), detector.anomaly_score(test) > detector.threshold_
    )


def peer(
    pool: Floats, test: Floats, expert: Expert, budget: int, seed: int, name: str, all_labels: bool = False
) -> Scores:
    """Another detector on scaled columns, with the answers to the questions of k-center where it takes labels."""
    centre, spread = pool.mean(axis=0), pool.std(axis=0)
    scaled, scaled_test = ((x - centre) / np.where(spread > 0, spread, 1) for x in (pool, test))
    detector = SOEL(strategy="k-center", random_state=seed)
    labels = expert.ask(range(len(pool))) if all_labels else _ask(detector, pool, expert, budget, budget)
    fitted = fit_peer(name, scaled, labels, seed)
    found = _usual_alarms(fitted.pool, fitted.score(scaled_test))
    return replace(found, alarms=found.test > EVEN) if name == CLASSIFIER else found


def asking_forest(pool: Floats, test: Floats, expert: Expert, budget: int, seed: int, kind: str) -> Scores:
    """Coniferest's loop: fit, ask about the most anomalous row that nobody has answered, fit again."""
    from coniferest.aadforest import AADForest
    from coniferest.pineforest import PineForest

    forest: Any = {"aad": AADForest, "pine": PineForest}[kind](n_jobs=1, random_seed=seed)
    rows, answers = list[int](), list[int]()
    data = np.ascontiguousarray(pool, np.float64)
    forest.fit(data)
    for n_asked in range(budget + 1):
        forest.fit_known(data, data[rows], np.array(answers, int))
        if n_asked < budget:
            order = np.argsort(forest.score_samples(data))
            row = int(order[~np.isin(order, rows)][0])
            rows.append(row)
            answers.append(-1 if expert.ask([row])[0] == 1 else 1)
    return _usual_alarms(-forest.score_samples(data), -forest.score_samples(np.ascontiguousarray(test, np.float64)))


def tabpfn(pool: Floats, test: Floats, expert: Expert, budget: int, seed: int, at_once: int | None = None) -> Scores:
    """TabPFN v2, the regressor, fitted to the answers alone: 1 for an anomaly, 0 for a normal row.

    at_once: so many of soel's own questions at once; None for those of k-center. Without an answer it knows nothing.
    """
    from tabpfn import TabPFNRegressor

    strategy = "k-center" if at_once is None else None
    labels = _ask(SOEL(strategy=strategy, random_state=seed), pool, expert, budget, at_once or budget)
    known = labels != UNLABELLED
    if not known.any():
        return Scores(np.zeros(len(pool)), np.zeros(len(test)), np.zeros(len(test), bool))
    model = TabPFNRegressor(device="cpu", random_state=seed)
    scores = np.asarray(model.fit(pool[known], labels[known]).predict(test))
    return Scores(labels.astype(np.float64), scores, scores > EVEN)


def _ask(detector: SOEL, pool: Floats, expert: Expert, budget: int, at_once: int) -> NDArray[np.int8]:
    labels = np.full(len(pool), UNLABELLED, np.int8)
    for n_asked in range(0, budget, max(at_once, 1)):
        known = min(at_once, budget - n_asked), labels.tobytes()
        if known not in expert.questions:
            expert.questions[known] = detector.query(pool, known[0], labels)
        labels[expert.questions[known]] = expert.ask(expert.questions[known])
    return labels


def _usual_alarms(pool: Floats, test: Floats) -> Scores:
    return Scores(pool, test, test > np.quantile(pool, 1 - USUAL_SHARE))


def _peer(name: str, asks: bool = False) -> Contestant:
    return Contestant(partial(peer, name=name), asks, missing_package(name))


CONTESTANTS: Mapping[str, Contestant] = {
    **{f"soel {name}": Contestant(partial(soel, profile=name)) for name in PROFILES},
    "soel ten at once": Contestant(partial(soel, profile="default", at_once=10)),
    "neighbours": Contestant(partial(soel, profile=NEIGHBOURS)),
    "soel find": Contestant(partial(soel, profile="default", goal="find")),
    "isolation forest": _peer("isolation-forest"),
    "kNN": _peer("knn"),
    "LOF": _peer("lof"),
    "ECOD": _peer("ecod"),
    "Deep SVDD": _peer("pyod-deep-svdd"),
    "AAD": Contestant(partial(asking_forest, kind="aad"), package="coniferest"),
    "PineForest": Contestant(partial(asking_forest, kind="pine"), package="coniferest"),
    "XGBOD": _peer("xgbod", asks=True),
    "DeepSAD": _peer("deepod-deep-sad", asks=True),
    "random forest": _peer("labelled-forest", asks=True),
    "TabPFN": Contestant(tabpfn, package="tabpfn"),
    "TabPFN with soel's questions": Contestant(partial(tabpfn, at_once=1), package="tabpfn"),
    "random forest with all labels": Contestant(partial(peer, name="labelled-forest", all_labels=True), asks=False),
}
