"""The detector for feature vectors, and its linear part."""

from __future__ import annotations

import numpy as np
import pytest

from soel.assess.metrics import auroc
from soel.detect.angular import AXES, Angular, AngularOptions, SelfTrainedRidge
from soel.types import Floats

NONE = np.full(600, -1, np.int8)


def features(seed: int = 0, n_rows: int = 600, width: int = 320) -> tuple[Floats, np.ndarray]:
    """Positive vectors, as a network gives them: one large group, and two small ones of anomalies near it."""
    rng = np.random.default_rng(seed)
    is_anomaly = np.arange(n_rows) < n_rows // 10
    middle, first, second = rng.gamma(2.0, size=(3, width))
    lean = np.where(np.arange(n_rows)[:, None] % 2, first, second) * np.where(is_anomaly, 0.35, 0.0)[:, None]
    x = (middle + lean + rng.normal(scale=0.8, size=(n_rows, width))).clip(0) * rng.uniform(0.5, 2, size=(n_rows, 1))
    order = rng.permutation(n_rows)
    return x[order].astype(np.float32), is_anomaly[order]


def some_labels(is_anomaly: np.ndarray, n_each: int) -> np.ndarray:
    labels = NONE.copy()
    labels[np.flatnonzero(is_anomaly)[:n_each]] = 1
    labels[np.flatnonzero(~is_anomaly)[:n_each]] = 0
    return labels


def test_the_length_of_a_vector_does_not_matter() -> None:
    x, is_anomaly = features()
    labels = some_labels(is_anomaly, 5)
    fitted, rest = Angular.fit(x, labels, 0, 0.1), x[labels == -1]
    np.testing.assert_allclose(fitted.score(3 * rest), fitted.score(rest), atol=1e-3)


def test_few_labels_find_what_distances_alone_do_not() -> None:
    x, is_anomaly = features()
    new, is_new_anomaly = features(seed=0, n_rows=1200)  # the same groups, other rows
    alone, told = Angular.fit(x, NONE, 0), Angular.fit(x, some_labels(is_anomaly, 6), 0, 0.1)
    before, after = (auroc(is_new_anomaly, angles.score(new)) for angles in (alone, told))
    assert after > max(before, 0.9)


def test_distances_are_those_between_unit_vectors() -> None:
    x, _ = features(n_rows=60)
    points = Angular.fit(x, NONE[:60], 0).space(x)
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(apart, np.linalg.norm(units[:, None] - units, axis=2), atol=1e-3)


def test_rows_that_leave_the_normal_shape_stand_out() -> None:
    rng = np.random.default_rng(0)
    spreads = np.r_[np.full(20, 1.0), np.full(300, 0.02)]
    x = 5 + rng.normal(size=(NONE.size, 320)) * spreads
    is_anomaly = np.arange(NONE.size) < 40
    x[is_anomaly, 20:] += 0.08 * np.sign(
        rng.normal(size=300)
    )  # small beside what varies most, large where nothing does
    fitted = Angular.fit(x.astype(np.float32), NONE, 0)
    by_distance, by_score = (
        auroc(is_anomaly, np.linalg.norm(fitted.space(x), axis=1)),
        auroc(is_anomaly, fitted.score(x)),
    )
    assert by_score > by_distance + 0.1


def test_suspected_rows_do_not_shape_what_is_normal() -> None:
    x, is_anomaly = features()
    fitted = Angular.fit(x, some_labels(is_anomaly, 6), 0, 0.1)
    normal, rest = (fitted.space(x[rows]).mean(axis=0) for rows in (~is_anomaly, is_anomaly))
    away = np.linalg.norm(rest - normal)
    assert np.linalg.norm(fitted.core - normal) < 0.1 * away


def test_a_large_pool_is_represented_by_a_sample() -> None:
    x = np.abs(np.random.default_rng(0).normal(size=(AngularOptions.reference_rows + 500, 310))).astype(np.float32)
    fitted = Angular.fit(x, np.full(len(x), -1, np.int8), 0)
    assert fitted.reference.shape == (AngularOptions.reference_rows, AXES)
    rows = {row.tobytes() for row in fitted.space(x).astype(fitted.reference.dtype).round(4)}
    drawn = {row.tobytes() for row in fitted.reference.round(4)}
    assert len(drawn) == AngularOptions.reference_rows, "no row is drawn twice"
    assert len(drawn - rows) < 0.01 * len(drawn), "and each is a row of the pool, but for rounding"


FEW = np.array([0, 1, -1, -1, -1, -1, -1, -1], np.int8)


@pytest.mark.parametrize("rows", [np.zeros((8, 310)), np.ones((8, 310))], ids=["zero", "same"])
@pytest.mark.parametrize(("known", "share"), [(FEW, 0.2), (np.abs(FEW), 0.5), (np.full(8, 1, np.int8), 0.5)])
def test_rows_that_are_all_the_same_score_0(rows: Floats, known: np.ndarray, share: float) -> None:
    np.testing.assert_allclose(Angular.fit(rows.astype(np.float32), known, 0, share).score(rows), 0, atol=1e-4)


def test_of_eight_rows_at_right_angles_the_labelled_anomaly_stands_out() -> None:
    scores = Angular.fit(np.eye(8, 310, dtype=np.float32), FEW, 0, 0.2).score(np.eye(8, 310))
    assert np.isfinite(scores).all()
    assert scores.argmax() == 1
    assert scores[1] > scores[0] + 1


def along_first(n_rows: int = 400) -> tuple[Floats, np.ndarray]:
    rng = np.random.default_rng(1)
    is_anomaly = np.arange(n_rows) < n_rows // 10
    return rng.normal(size=(n_rows, 6)) + np.outer(is_anomaly * 4.0, np.eye(6)[0]), is_anomaly


def test_the_direction_points_to_where_anomalies_lie() -> None:
    points, is_anomaly = along_first()
    labels = np.full(400, -1, np.int8)
    labels[[0, 1, 2]], labels[[100, 200, 300, 350]] = 1, 0
    linear = SelfTrainedRidge.fit(points, labels, 0.1)
    assert np.abs(linear.direction).argmax() == 0
    assert auroc(is_anomaly, points @ linear.direction) > 0.97
    assert linear.heldout_auroc > 0.9


def test_labels_by_chance_predict_nothing() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        labels = np.full(400, -1, np.int8)
        labels[rng.choice(400, 20, replace=False)] = rng.permutation([1] * 6 + [0] * 14)
        found.append(SelfTrainedRidge.fit(rng.normal(size=(400, 6)), labels, 0.1).heldout_auroc)
    assert 0.3 < np.mean(found) < 0.6


@pytest.mark.parametrize("told", [0, 1])
def test_one_kind_of_label_gives_no_direction(told: int) -> None:
    points, _ = along_first()
    labels = np.full(400, -1, np.int8)
    labels[:5] = told
    linear = SelfTrainedRidge.fit(points, labels, 0.1)
    assert not linear.direction.any()
    assert linear.heldout_auroc == 0.5


def test_many_labels_are_withheld_in_folds() -> None:
    points, is_anomaly = along_first()
    assert SelfTrainedRidge.fit(points, is_anomaly.astype(np.int8), 0.1).heldout_auroc > 0.95
