"""scikit-learn's own scorers and searches on y of 0 and 1 (1 anomaly), and of -1 and 1 as outlier detectors have it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score

from soel import SOEL
from tests.conftest import Sample

FOLDS = StratifiedKFold(2, shuffle=True, random_state=0)
CODES = pytest.mark.parametrize(("anomaly", "normal"), [(1, 0), (-1, 1)])
# What a detector that ranks and decides perfectly gets, and the least that this one must get on the toy.
LEAST = {
    "roc_auc": 0.9,
    "average_precision": 0.7,
    "accuracy": 0.9,
    "balanced_accuracy": 0.7,
    "f1": 0.5,
    "precision": 0.5,
    "recall": 0.5,
    "jaccard": 0.4,
    "matthews_corrcoef": 0.4,
    "neg_log_loss": -0.35,
    "neg_brier_score": -0.15,
}


def coded(toy: Sample, anomaly: int, normal: int) -> np.ndarray:
    return np.where(toy.is_anomaly, anomaly, normal)


@CODES
@pytest.mark.parametrize("scoring", LEAST)
def test_scorers_have_the_right_sign(toy: Sample, scoring: str, anomaly: int, normal: int) -> None:
    y = coded(toy, anomaly, normal)
    half = np.arange(0, len(y), 2)
    detector = SOEL(random_state=0).fit(toy.x[half], y[half])
    other = half + 1
    assert get_scorer(scoring)(detector, toy.x[other], y[other]) >= LEAST[scoring]


@CODES
def test_cross_val_score_gives_the_auroc_of_the_anomalies(toy: Sample, anomaly: int, normal: int) -> None:
    y = coded(toy, anomaly, normal)
    found = cross_val_score(SOEL(random_state=0), toy.x, y, scoring="roc_auc", cv=FOLDS)
    by_hand = []
    for learnt, left_out in FOLDS.split(toy.x, y):
        detector = SOEL(random_state=0).fit(toy.x[learnt], toy.is_anomaly[learnt].astype(int))
        by_hand.append(roc_auc_score(toy.is_anomaly[left_out], detector.anomaly_score(toy.x[left_out])))
    np.testing.assert_allclose(found, by_hand)


def test_a_grid_search_picks_the_better_setting(toy: Sample) -> None:
    y = toy.is_anomaly.astype(int)
    noise = np.random.default_rng(0).normal(size=(len(y), 3))
    names = [*"abcdef", *"xyz"]
    frame = pd.DataFrame(np.concatenate([toy.x, noise], axis=1), columns=names)
    ignored = {"ignore": list("abcdef")}  # then only noise is left
    search = GridSearchCV(SOEL(random_state=0), {"columns": [ignored, None]}, scoring="roc_auc", cv=FOLDS)
    assert search.fit(frame, y).best_params_ == {"columns": None}
    assert search.best_score_ > 0.9


@CODES
def test_calibration_curves_rise(toy: Sample, anomaly: int, normal: int) -> None:
    y = coded(toy, anomaly, normal)
    detector = SOEL(random_state=0).fit(toy.x, y)
    second = detector.predict_proba(toy.x)[:, list(detector.classes_).index(1)]
    true, told = calibration_curve(y == 1, second, n_bins=3)
    assert (np.diff(true) >= 0).all()
    assert (np.diff(told) > 0).all()


@pytest.mark.filterwarnings("ignore:Every row is labelled")  # scikit-learn hands on codes of 0 and 1
@CODES
def test_cross_val_predict_gives_the_probabilities_of_the_classes_in_order(
    toy: Sample, anomaly: int, normal: int
) -> None:
    y = coded(toy, anomaly, normal)
    told = cross_val_predict(SOEL(random_state=0), toy.x, y, cv=FOLDS, method="predict_proba")
    assert roc_auc_score(toy.is_anomaly, told[:, sorted([anomaly, normal]).index(anomaly)]) > 0.9
    np.testing.assert_allclose(told.sum(axis=1), 1)


def test_a_minority_of_ones_beside_minus_one_is_a_pool_with_few_answers(toy: Sample) -> None:
    y = np.full(len(toy.x), -1)
    y[np.flatnonzero(toy.is_anomaly)[:5]] = 1
    detector = SOEL(random_state=0).fit(toy.x, y)
    assert detector.classes_.tolist() == [0, 1]
    assert set(detector.predict(toy.x)) <= {0, 1}
    assert detector.anomaly_score(toy.x)[toy.is_anomaly].mean() > detector.anomaly_score(toy.x)[~toy.is_anomaly].mean()


def test_without_labels_the_codes_are_those_of_outlier_detectors(toy: Sample) -> None:
    detector = SOEL(random_state=0).fit(toy.x)
    assert detector.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(detector.predict(toy.x) == -1, detector.decision_function(toy.x) < 0)
    np.testing.assert_array_equal(detector.decision_function(toy.x), detector.score_samples(toy.x) - detector.offset_)


def test_a_pickle_does_not_carry_the_network(toy: Sample) -> None:
    detector = SOEL(random_state=0).fit(toy.x, toy.labels())
    scores = detector.anomaly_score(toy.x)
    data = pickle.dumps(detector)
    assert len(data) < 1_000_000
    again = pickle.loads(data)
    np.testing.assert_array_equal(again.anomaly_score(toy.x), scores)
    assert str(again.explain(toy.x[:1])) == str(detector.explain(toy.x[:1]))
