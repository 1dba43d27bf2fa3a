"""Patches: where a defect lies, what labels change, and that the pool is measured as new pictures are."""

from __future__ import annotations

import numpy as np
import pytest

from soel.detectors.patches import Patches
from soel.metrics import auroc
from soel.types import Floats, Labels

PLACES, DEPTH = 25, 6


def pictures(n: int, seed: int = 0, n_defective: int = 0) -> Floats:
    """Patches of aligned pictures; each of the first n_defective has another patch at one place."""
    rng = np.random.default_rng(seed)
    layout = np.random.default_rng(99)
    usual, turns = layout.normal(size=(PLACES, DEPTH)), np.linalg.qr(layout.normal(size=(PLACES, DEPTH, DEPTH)))[0]
    drawn = 0.3 * rng.normal(size=(n, PLACES, DEPTH)) * [1.5, 1, 0.7, 0.5, 0.3, 0.2]
    x = usual + np.einsum("npi,pij->npj", drawn, turns)
    x[np.arange(n_defective), np.arange(n_defective) % PLACES] += 2 * rng.choice([-1, 1], (n_defective, DEPTH))
    return np.asarray(x, np.float16)


def nothing(n: int) -> Labels:
    return np.full(n, -1, np.int8)


def test_the_map_points_at_the_defect() -> None:
    x = pictures(200, n_defective=15)
    detector = Patches.fit(x, nothing(200), 0)
    maps = detector.maps(x)
    assert maps.shape == (200, PLACES)
    assert maps[:15].argmax(axis=1).tolist() == (np.arange(15) % PLACES).tolist()
    assert auroc(np.arange(200) < 15, detector.score(x)) > 0.99


def test_the_limit_is_passed_where_the_defects_are_and_seldom_elsewhere() -> None:
    x = pictures(200, n_defective=15)
    detector = Patches.fit(x, nothing(200), 0)
    above = detector.pool_maps(x) > detector.limit
    assert above[np.arange(15), np.arange(15) % PLACES].all()
    assert above[15:].any(axis=1).mean() < 0.2


def test_the_most_suspicious_pictures_are_not_learnt_from() -> None:
    x = pictures(200, n_defective=15)
    assert Patches.fit(x, nothing(200), 0).members[:15].sum() == 0


def test_pictures_of_the_pool_are_measured_as_new_ones_are() -> None:
    pool, new = pictures(60), pictures(400, seed=1)
    detector = Patches.fit(pool, nothing(60), 0, share=0.0)
    apart = detector.score(new).mean() - detector.score_pool(pool).mean()
    assert abs(apart) < 0.25  # in spreads of the pool
    assert detector.score(new).mean() - detector.score(pool).mean() > 0.5  # what it would be otherwise


def test_a_false_alarm_once_named_stays_quiet() -> None:
    x = pictures(200, n_defective=1)
    x[1, 0] = x[0, 0]  # the same sight in another picture
    before = Patches.fit(x, nothing(200), 0).score(x)
    labels = nothing(200)
    labels[0] = 0
    after = Patches.fit(x, labels, 0).score(x)
    assert after[1] < before[1]
    assert after[1] < before[1] - 1


@pytest.mark.parametrize(("anomalies", "normals", "expected"), [((0, 1, 2), (30, 40, 50), 4), ((30, 40), (0, 1), 0)])
def test_trust_follows_the_labels(anomalies: tuple[int, ...], normals: tuple[int, ...], expected: float) -> None:
    x, labels = pictures(200, n_defective=15), nothing(200)
    assert Patches.fit(x, labels, 0).trust == 3
    labels[list(anomalies)], labels[list(normals)] = 1, 0
    assert abs(Patches.fit(x, labels, 0).trust - expected) < 0.5


def test_a_large_pool_is_learnt_from_a_sample_with_every_labelled_normal_picture() -> None:
    x, labels = pictures(300), nothing(300)
    labels[[7, 8, 9]] = 0
    detector = Patches.fit(x, labels, 0, 0.0, {"fitted_rows": 50})
    assert detector.members.sum() == 50
    assert detector.members[[7, 8, 9]].all()
    assert np.isfinite(detector.score_pool(x)).all()
